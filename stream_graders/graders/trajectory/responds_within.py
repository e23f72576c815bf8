"""Did the agent answer each message of the user in time?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message
from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Point, Reason
from ._clock import seconds as time_of


@dataclass
class RespondsWithin(Grader):
    """Fail a run in which a reply comes more than ``seconds`` after the user's message, by the events' own times.

    The time runs from the first user message that is not answered yet to the next assistant message. It is measured
    where both come from one producer, with one clock, and the reply is later; a run in which a reply cannot be
    measured is not graded, unless another one is late. A message that nobody answers is a matter of
    `trajectory.no_reply`.

    >>> from stream_graders.testing import graded, run
    >>> graded(RespondsWithin(2), run().asks("hi").calls("find").returns("x").says("hello").ends()).evidence
    'a reply took 3 s, at most 2 s allowed'
    """

    seconds: float

    since: list[Any] | None = field(default=None, init=False)
    """The user message that waits: time, producer, event id, seq."""
    slowest: float | None = field(default=None, init=False)
    unmeasured: int = field(default=0, init=False)
    """Replies whose time cannot be told."""
    late: list[Any] | None = field(default=None, init=False)
    """The late reply: time, message's event id, seq, reply's event id, seq, a gap before it."""

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.seconds > 0 else [("seconds", "should be more than 0")]

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        since = self.since
        if since is None:
            if isinstance(event, Message) and event.role == "user":
                self.since = [time_of(event), event.producer[:64], event.id, event.seq]
            return
        if not seen.is_assistant:
            return
        took = round(time_of(event) - since[0], 6)
        self.since = None
        if event.producer[:64] != since[1] or took <= 0:
            self.unmeasured += 1
            return
        self.slowest = max(self.slowest or 0.0, took)
        if took > self.seconds:
            self.late = [took, since[2], since[3], event.id, event.seq, seen.gap]
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.late is not None:
            took, asked, asked_seq, said, said_seq, gap = self.late
            text = f"a reply took {took:g} s, at most {self.seconds:g} s allowed"
            points = (Point(asked, asked_seq), Point(said, said_seq))
            # An earlier reply may be missing.
            return Finding(Outcome.FAIL, Reason.OUTSIDE_LIMIT, text, points, sound=not gap and not run.disordered)
        if not run.reported("messages"):  # Asked here: what they say, and whether it was sent, does not matter.
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, "the run does not report its messages")
        if self.unmeasured:
            text = f"the times of {self.unmeasured} reply(s) cannot be compared with those of the messages before"
            return Finding(Outcome.NOT_GRADED, Reason.NOT_MEASURED, text)
        if self.slowest is None:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "no message of the user was answered")
        text = f"the slowest reply took {self.slowest:g} s of {self.seconds:g} s"
        return Finding(Outcome.PASS, Reason.WITHIN_LIMIT, text)
