"""Did the run end in a way that no run should end in?"""

from dataclasses import dataclass, field
from typing import Any, Literal

from ...events import Event, Message, RunEnd
from ...grading import Grader, RunFacts, Seen
from ...matching.tools import fits_any
from ...verdicts import Finding, Outcome, Point, Reason

Status = Literal["error", "cancelled", "timeout", "limit", "handoff"]


@dataclass
class BadEnd(Grader):
    """Fail a run that ends with one of ``statuses`` (by default error, limit and timeout), or for one of ``reasons``.

    Reasons are patterns of the word that the source itself gives for the end (``too_many_errors``), in which ``*``
    stands for any characters. With ``without_reply`` a run also ends badly in which the agent said nothing after the
    user's last message. A run that does not say how it ended is not graded.

    >>> from stream_graders.testing import graded, run
    >>> graded(BadEnd(), run().asks("hi").ends(status="limit", reason="max_steps")).evidence
    'the run ended with status limit (max_steps)'
    """

    statuses: list[Status] | None = None
    reasons: list[str] | None = None
    without_reply: bool = False

    end: list[Any] | None = field(default=None, init=False)
    """The run's end: event id, seq, status, reason, is it bad?"""
    asked: list[Any] | None = field(default=None, init=False)
    """The user's last message that no word of the agent followed: event id, seq, cut."""

    def __post_init__(self) -> None:
        self._bad: list[str] = ["error", "limit", "timeout"] if self.statuses is None else [*self.statuses]

    def wants(self) -> tuple[type[Event], ...]:
        return (RunEnd, Message) if self.without_reply else (RunEnd,)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"}) if self.without_reply else frozenset()

    def problems(self) -> list[tuple[str, str]]:
        if self.statuses == [] and not self.reasons and not self.without_reply:
            return [("statuses", "name a status, or give reasons or without_reply: nothing would be a bad end")]
        return []

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if isinstance(event, RunEnd):
            reason = event.reason or ""
            bad = event.status in self._bad or fits_any(reason, self.reasons or ())
            self.end = [event.id, event.seq, event.status, reason[:100], bad]
            self.settled = bad
            if seen.text.strip():
                self.asked = None
        elif isinstance(event, Message) and event.role == "user":
            self.asked = [event.id, event.seq, False]
        elif seen.is_assistant and self.asked is not None:
            if seen.text.strip():
                self.asked = None
            elif seen.truncated:
                self.asked[2] = True

    def finding(self, run: RunFacts) -> Finding:
        if self.end is not None and self.end[4]:
            return Finding(Outcome.FAIL, Reason.ENDED_BADLY, self._told(), (self._point(self.end),), sound=True)
        if self.without_reply and self.asked is not None:
            text = "the run ended without a reply to the user's last message"
            return Finding(Outcome.FAIL, Reason.ENDED_BADLY, text, (self._point(self.asked),), cut=self.asked[2])
        if self.end is None or self.end[2] == "unknown":
            return Finding(Outcome.NOT_GRADED, Reason.END_UNKNOWN, "the run does not say how it ended")
        point = (self._point(self.end),)
        return Finding(Outcome.PASS, Reason.ENDED_WELL, self._told(), point, sound=not self.without_reply)

    def _told(self) -> str:
        assert self.end is not None
        status, reason = self.end[2:4]
        return f"the run ended with status {status}" + (f" ({reason})" if reason else "")

    @staticmethod
    def _point(event: list[Any]) -> Point:
        return Point(event[0], event[1])
