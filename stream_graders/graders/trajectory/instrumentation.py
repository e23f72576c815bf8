"""Is the run recorded well enough to be judged?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, RunEnd, RunStart, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Point, Reason
from ._clock import seconds
from ._results import answered, awaited


@dataclass
class Instrumentation(Grader):
    """Fail a run whose record has holes or contradicts itself: it judges what was sent, not what the agent did.

    Named are events that are missing, an end that did not come, results without their calls, calls without results, and
    times that go back by more than ``tolerance`` seconds from one event to a later one, because a clock was set or two
    producers' clocks differ. What the run says it does not report is not missed.

    >>> from stream_graders.testing import graded, run
    >>> graded(Instrumentation(), run().starts().calls("find").ends()).evidence
    '1 call(s) without a result, first find'
    """

    of_record = True

    tolerance: float = 5

    calls: int = field(default=0, init=False)
    paired: int = field(default=0, init=False)
    """Results whose call is known."""
    waiting: list[list[Any]] = field(default_factory=list, init=False)
    """Calls without a result: position, tool, event id, seq."""
    unpaired: list[Any] = field(default_factory=list, init=False)
    """Results without a call: how many; of the first, tool, event id, seq."""
    latest: float | None = field(default=None, init=False)
    """The latest time of an event."""
    back: list[Any] | None = field(default=None, init=False)
    """The longest way back from there: seconds, event id, seq."""

    def wants(self) -> tuple[type[Event], ...]:
        return (RunStart, Message, ToolCall, ToolResult, RunEnd)

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.tolerance >= 0 else [("tolerance", "should be 0 or more")]

    def update(self, seen: Seen) -> None:
        event = seen.event
        now = seconds(event)
        if self.latest is None or now >= self.latest:
            self.latest = now
        elif self.back is None or self.latest - now > self.back[0]:
            self.back = [round(self.latest - now, 6), event.id, event.seq]
        if type(event) is ToolCall:
            self.calls += 1
            awaited(self.waiting, seen, event.name[:100], event.id, event.seq)
        elif type(event) is ToolResult:
            if seen.call is not None:
                self.paired += 1
                answered(self.waiting, seen)
            elif self.unpaired:
                self.unpaired[0] += 1
            else:
                self.unpaired = [1, (seen.tool or "an unknown tool")[:100], event.id, event.seq]

    def finding(self, run: RunFacts) -> Finding:
        told: list[str] = []
        points: list[Point] = []
        if run.lost:
            told.append("events are missing")
        if not run.ended and run.reported("end"):
            told.append("no end came")
        if self.unpaired:
            count, tool, event_id, seq = self.unpaired
            told.append(f"{count} result(s) without a call, first of {tool}")
            points.append(Point(event_id, seq))
        unanswered = self.calls - self.paired
        if unanswered > 0 and self.waiting and run.reported("results"):
            _, tool, event_id, seq = self.waiting[0]
            told.append(f"{unanswered} call(s) without a result, first {tool}")
            points.append(Point(event_id, seq))
        if self.back is not None and self.back[0] > self.tolerance:
            told.append(f"times go back by {self.back[0]:g} s, at most {self.tolerance:g} s allowed")
            points.append(Point(self.back[1], self.back[2], "ts"))
        if told:
            return Finding(Outcome.FAIL, Reason.BAD_RECORD, "; ".join(told), tuple(points), sound=True)
        return Finding(Outcome.PASS, Reason.GOOD_RECORD, "the record is whole", sound=True)
