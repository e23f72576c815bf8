"""Did the agent keep to the tools that it may call?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, ToolCall
from ...grading import Grader, RunFacts, Seen
from ...matching.tools import fits_any, listed
from ...verdicts import Finding, Outcome, Point, Reason


@dataclass
class AllowedTools(Grader):
    """Fail a run at the first call of a tool that fits none of the patterns in ``tools``; skip one without calls.

    ``*`` stands for any characters; case matters. A failed call is a call.

    >>> from stream_graders.testing import graded, run
    >>> graded(AllowedTools(["orders.*"]), run().calls("orders.find").calls("db.drop").ends()).evidence
    'db.drop was called; allowed: orders.*'
    """

    order_free = True

    tools: list[str]

    called: bool = field(default=False, init=False)
    hit: list[Any] | None = field(default=None, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        if not self.tools or not all(self.tools):
            return [("tools", "name the tools that may be called; an empty list would fail every call")]
        return []

    def warnings(self) -> list[tuple[str, str]]:
        return [("tools", "* allows every tool, so no run can fail")] if "*" in self.tools else []

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        self.called = True
        tool = str(seen.tool)
        if not fits_any(tool, self.tools):
            self.hit = [seen.event.id, seen.event.seq, tool]
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        allowed = f"allowed: {listed(self.tools)}"
        if self.hit is not None:
            event_id, seq, tool = self.hit
            point = Point(event_id, seq, "name", tool[:100])
            return Finding(Outcome.FAIL, Reason.NOT_ALLOWED, f"{tool} was called; {allowed}", (point,), sound=True)
        if not self.called:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "no tool was called")
        return Finding(Outcome.PASS, Reason.ALLOWED, f"no other tool was called; {allowed}")
