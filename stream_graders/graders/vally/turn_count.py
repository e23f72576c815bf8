"""Did the conversation keep to its number of turns?"""

from dataclasses import dataclass

from ...events import Event, Message
from ...grading import RunFacts, Seen
from ...verdicts import Finding, finding_with
from ._budget import Distinct


@dataclass
class TurnCount(Distinct):
    """Pass a run of at most ``max`` turns. A turn is a user message and what follows it up to the next, as in `turn:`.

    The origin counts answers of the model under this name; those are `vally.step_count`'s steps here.

    >>> from stream_graders.testing import graded, run
    >>> graded(TurnCount(2), run().asks("a").says("b").asks("c").says("d").asks("e").ends()).evidence
    '3 turns exceeds max of 2'
    """

    unit = "turns"

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def update(self, seen: Seen) -> None:
        # Behind a gap a turn that is only counted may be the same as one that was numbered before.
        if not self.settled and not (seen.gap and seen.event.turn is None):
            self.count(seen, seen.turn)

    def finding(self, run: RunFacts) -> Finding:
        found = super().finding(run)
        return finding_with(found, sound=False) if run.disordered else found
