"""Did the agent call these tools in this order?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, ToolCall
from ...grading import Grader, RunFacts, Seen
from ...matching.tools import listed
from ...verdicts import Finding, Outcome, Point, Reason
from ._calls import NAMES, has_room


@dataclass
class ToolOrder(Grader):
    """Pass a run that calls ``tools`` in this order; other calls may stand between (R42, R48, R60).

    A tool named twice needs two calls. The order is that of the record, also within one step.

    >>> from stream_graders.testing import graded, run
    >>> graded(ToolOrder(["find", "refund"]), run().calls("refund").calls("find").ends()).evidence
    'refund was not called after find. expected: find, refund; called: refund, find'
    """

    assumes = "the tools are not called"

    tools: list[str]

    called: list[str] = field(default_factory=list, init=False)
    more: int = field(default=0, init=False)
    met: int = field(default=0, init=False)
    """How many of the tools were called in their order."""
    last: list[list[Any]] = field(default_factory=list, init=False)
    """The last three of those calls: event id, seq."""

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        if not self.tools or not all(self.tools):
            return [("tools", "name the tools in their order; an empty list would pass every run")]
        return [("tools", "at most 100 tools")] if len(self.tools) > 100 else []

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        name = str(seen.tool)
        short = name if len(name) <= 100 else name[:99] + "…"
        if not self.more and has_room(self.called, short):
            self.called.append(short)
        else:
            self.more += 1
        if name == self.tools[self.met]:
            self.met += 1
            self.last = [*self.last[-2:], [seen.event.id, seen.event.seq]]
            self.settled = self.met == len(self.tools)

    def finding(self, run: RunFacts) -> Finding:
        called = listed(self.called, NAMES) + (f", … ({self.more} more)" if self.more else "") or "none"
        lists = f"expected: {listed(self.tools, NAMES)}; called: {called}"
        points = tuple(Point(event_id, seq, "name") for event_id, seq in self.last)
        if self.settled:
            return Finding(Outcome.PASS, Reason.IN_ORDER, lists, points, sound=True)
        missing = self.tools[self.met]
        what = (
            f"{missing} was not called after {self.tools[self.met - 1]}" if self.met else f"{missing} was never called"
        )
        return Finding(Outcome.FAIL, Reason.OUT_OF_ORDER, f"{what}. {lists}", points)
