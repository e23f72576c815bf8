"""Did the user get any answer?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, RunEnd, ToolCall
from ...grading import Grader, RunFacts, Seen
from ...matching.tools import fits_any
from ...verdicts import Finding, Outcome, Point, Reason


@dataclass
class NoReply(Grader):
    """Fail a run in which the user says something and the agent nothing after it.

    The first message of the user counts, so that a run may end with the user's thanks; ask of a ``turn`` for the
    others. An assistant message with text is a reply, and so is the output that the run's end reports. Skipped: a run
    without a user message, and one that was handed off, by its status or by a call of a tool in ``handoff_tools``
    (patterns with ``*``).

    >>> from stream_graders.testing import graded, run
    >>> graded(NoReply(), run().asks("where is it?").calls("orders.find").ends()).evidence
    'the user said something, and the agent never replied'
    """

    handoff_tools: list[str] | None = None

    asked: list[Any] | None = field(default=None, init=False)
    """The user's first message: event id, seq."""
    replied: list[Any] | None = field(default=None, init=False)
    handed: str = field(default="", init=False)
    """How the run was handed off."""
    cut: bool = field(default=False, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (Message, RunEnd) if not self.handoff_tools else (Message, RunEnd, ToolCall)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"}) if not self.handoff_tools else frozenset({"messages", "tools"})

    def problems(self) -> list[tuple[str, str]]:
        return [] if all(self.handoff_tools or ("x",)) else [("handoff_tools", "name the tools")]

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if isinstance(event, ToolCall):
            if fits_any(event.name, self.handoff_tools or ()):
                self.handed = f"{event.name} was called"
        elif isinstance(event, Message) and event.role == "user":
            if self.asked is None:
                self.asked = [event.id, event.seq]
        elif seen.is_assistant or isinstance(event, RunEnd):
            if self.asked is not None and seen.text.strip():
                self.replied = [event.id, event.seq]
                self.settled = True
            elif seen.truncated and seen.is_assistant:
                self.cut = self.cut or self.asked is not None
            if isinstance(event, RunEnd) and event.status == "handoff":
                self.handed = self.handed or "the run ended with status handoff"

    def finding(self, run: RunFacts) -> Finding:
        if self.asked is None:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "the user said nothing")
        asked = Point(self.asked[0], self.asked[1])
        if self.replied is not None:
            points = (asked, Point(self.replied[0], self.replied[1]))
            return Finding(Outcome.PASS, Reason.REPLIED, "the agent replied", points, sound=not run.disordered)
        if self.handed:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, f"handed off: {self.handed}", cut=self.cut)
        text = "the user said something, and the agent never replied"
        return Finding(Outcome.FAIL, Reason.NOT_REPLIED, text, (asked,), cut=self.cut)
