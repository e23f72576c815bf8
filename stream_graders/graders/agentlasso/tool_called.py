"""Did the agent call this tool?"""

from dataclasses import dataclass, field
from typing import Literal

from ...events import Event, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Point, Reason
from ._calls import noted, told


@dataclass
class ToolCalled(Grader):
    """Pass a run in which ``tool`` was called; arguments are not compared (R40, R48, R60).

    A call that failed is a call. With ``status`` only a call whose result says so counts: ``success`` or ``error``; a
    result that does not say is neither.

    >>> from stream_graders.testing import graded, run
    >>> graded(ToolCalled("refunds.issue"), run().calls("orders.find").ends()).evidence
    'refunds.issue was never called. The agent called: orders.find.'
    """

    order_free = True
    assumes = "the tool is not called"

    tool: str
    status: Literal["success", "error"] | None = None

    names: list[str] = field(default_factory=list, init=False)
    called: bool = field(default=False, init=False)
    unnamed: bool = field(default=False, init=False)
    """A result has the status and names no tool, and its call is not known."""
    hit: list[object] | None = field(default=None, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,) if self.status is None else (ToolCall, ToolResult)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"}) if self.status is None else frozenset({"tools", "results"})

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.tool else [("tool", "name the tool")]

    def update(self, seen: Seen) -> None:
        event = seen.event
        if self.settled:
            return
        if isinstance(event, ToolCall):
            noted(self.names, event.name)
            self.called = self.called or event.name == self.tool
            met = self.status is None
        else:
            met = isinstance(event, ToolResult) and event.is_error is (self.status == "error")
            self.unnamed = self.unnamed or (met and seen.tool is None)
        if met and seen.tool == self.tool:
            self.hit = [event.id, event.seq]
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            point = Point(str(self.hit[0]), self.hit[1] if isinstance(self.hit[1], int) else None, "name", self.tool)
            how = "" if self.status is None else f" with status {self.status}"
            return Finding(Outcome.PASS, Reason.CALLED, f"{self.tool} was called{how}.", (point,), sound=True)
        if self.called and self.unnamed:
            text = f"a result with status {self.status} names no tool, so it may be that of {self.tool}"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        how = "called" if self.status is None else f"called with status {self.status}"
        return Finding(Outcome.FAIL, Reason.NOT_CALLED, f"{self.tool} was never {how}. {told(self.names)}")
