"""Did the agent keep from calling this tool?"""

from dataclasses import dataclass, field

from ...events import Event, ToolCall
from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Point, Reason
from ._calls import noted, told


@dataclass
class ToolNotCalled(Grader):
    """Pass a run in which ``tool`` was never called (R41, R48, R60). Decided at the first call of it.

    >>> from stream_graders.testing import graded, run
    >>> graded(ToolNotCalled("db.drop"), run().calls("db.drop").ends()).evidence
    'db.drop was called, and must not be. The agent called: db.drop.'
    """

    order_free = True

    tool: str

    names: list[str] = field(default_factory=list, init=False)
    hit: list[object] | None = field(default=None, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.tool else [("tool", "name the tool")]

    def update(self, seen: Seen) -> None:
        if self.hit is not None:
            return  # The detail is that of the moment of decision, the same early and at the end.
        noted(self.names, str(seen.tool))
        if seen.tool == self.tool:
            self.hit = [seen.event.id, seen.event.seq]
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            point = Point(str(self.hit[0]), self.hit[1] if isinstance(self.hit[1], int) else None, "name", self.tool)
            text = f"{self.tool} was called, and must not be. {told(self.names)}"
            return Finding(Outcome.FAIL, Reason.CALLED, text, (point,), sound=True)
        return Finding(Outcome.PASS, Reason.NOT_CALLED, f"{self.tool} was never called. {told(self.names)}")
