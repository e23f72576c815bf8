"""Was one tool always called before the other?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, ToolCall
from ...grading import Grader, RunFacts, Seen
from ...matching.tools import fits
from ...verdicts import Finding, Outcome, Point, Reason
from ._steps import is_past


@dataclass
class Precedes(Grader):
    """Fail a run that calls ``then`` without an earlier call of ``first``; skip one that never calls ``then``.

    Names may hold ``*`` for any characters. Calls of one step are made together, so neither comes before the other:
    a ``first`` in the step of the ``then`` is early enough.

    >>> from stream_graders.testing import graded, run
    >>> graded(Precedes("auth.login", "payments.refund"), run().calls("payments.refund").ends()).evidence
    'payments.refund was called without an earlier auth.login'
    """

    first: str
    then: str

    led: list[Any] | None = field(default=None, init=False)
    """The first call of ``first``: event id, seq, a gap before it."""
    followed: list[Any] | None = field(default=None, init=False)
    """The call of ``then`` that counts: event id, seq, a gap before the end of its step, tool, step."""

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, Message)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        found = [(name, "name the tool") for name in ("first", "then") if not getattr(self, name)]
        if self.first and self.first == self.then:
            found.append(("then", "is the same tool as first"))
        return found

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if self.followed is not None and is_past(event, self.followed[4]):
            self.followed[2] = seen.gap  # A ``first`` of the same step may be missing too.
            self.settled = True
            return
        if not isinstance(event, ToolCall):
            return
        if self.led is None and fits(event.name, self.first):
            self.led = [event.id, event.seq, seen.gap]
            self.settled = self.followed is not None
        if self.followed is None and fits(event.name, self.then):
            self.followed = [event.id, event.seq, seen.gap, event.name, event.step]
            self.settled = self.led is not None or event.step is None

    def finding(self, run: RunFacts) -> Finding:
        if self.followed is None:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, f"{self.then} was never called")
        event_id, seq, gap, name, _ = self.followed
        point = Point(event_id, seq, "name", name)
        certain = not run.disordered  # Another producer's call may be missing before either, whenever that shows.
        if self.led is None:
            text = f"{name} was called without an earlier {self.first}"
            return Finding(
                Outcome.FAIL, Reason.NOT_PRECEDED, text, (point,), sound=self.settled and not gap and certain
            )
        led = Point(self.led[0], self.led[1], "name")
        text = f"{name} was called after {self.first}"
        return Finding(Outcome.PASS, Reason.PRECEDED, text, (led, point), sound=not self.led[2] and certain)
