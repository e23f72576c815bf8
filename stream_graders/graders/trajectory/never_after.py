"""Was one tool never called once another had been?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, ToolCall
from ...grading import Grader, RunFacts, Seen
from ...matching.tools import fits
from ...verdicts import Finding, Outcome, Point, Reason
from ._steps import is_past


@dataclass
class NeverAfter(Grader):
    """Fail a run that calls ``tool`` after a call of ``after``; skip one that never calls ``after``.

    Names may hold ``*`` for any characters. Calls of one step are made together, so neither comes after the other.

    >>> from stream_graders.testing import graded, run
    >>> graded(NeverAfter("orders.change", after="orders.close"), run().calls("orders.close").calls("orders.change")
    ...     .ends()).evidence
    'orders.change was called after orders.close'
    """

    tool: str
    after: str

    led: list[Any] | None = field(default=None, init=False)
    """The first call of ``after``: event id, seq, tool, its step while that goes on."""
    hit: list[Any] | None = field(default=None, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, Message)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        found = [(name, "name the tool") for name in ("tool", "after") if not getattr(self, name)]
        if self.tool and self.tool == self.after:
            found.append(("after", "is the same tool"))
        return found

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        led = self.led
        if led is None:
            if type(event) is ToolCall and fits(event.name, self.after):
                self.led = [event.id, event.seq, event.name, event.step]
            return
        if led[3] is not None and is_past(event, led[3]):
            led[3] = None
        if led[3] is None and type(event) is ToolCall and fits(event.name, self.tool):
            self.hit = [event.id, event.seq, event.name]
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.led is None:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, f"{self.after} was never called")
        led = Point(self.led[0], self.led[1], "name", self.led[2][:100])
        if self.hit is not None:
            event_id, seq, name = self.hit
            text = f"{name} was called after {self.led[2]}"
            points = (led, Point(event_id, seq, "name", name[:100]))
            return Finding(Outcome.FAIL, Reason.NOT_ALLOWED, text, points, sound=not run.disordered)
        return Finding(Outcome.PASS, Reason.ALLOWED, f"{self.tool} was not called after {self.led[2]}", (led,))
