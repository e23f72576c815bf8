"""Did the run keep to its time?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, RunEnd, RunStart, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen
from ...matching.durations import milliseconds
from ...verdicts import Finding, Outcome, Point, Reason
from ._taxonomy import TAXONOMY


@dataclass
class WallTime(Grader):
    """Pass a run that lasted at most ``max``, such as ``30s`` or ``5m``, from its first event to its last.

    The times are those that the producers stamped. A user's thinking counts too. Decided at the first event that is too
    far from another; the evidence says how far that was, not how long the run lasted in the end.

    >>> from stream_graders.testing import graded, run
    >>> graded(WallTime("1s"), run().asks("hi").calls("find").returns("x").says("hello").ends()).evidence
    '2s exceeds max of 1s'
    """

    order_free = True
    metadata = TAXONOMY

    max: str

    first: int | None = field(default=None, init=False)
    """The earliest time seen, in milliseconds since 1970."""
    last: int | None = field(default=None, init=False)
    hit: list[Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        try:
            self._limit = milliseconds(self.max)
        except ValueError:
            self._limit = 0

    def problems(self) -> list[tuple[str, str]]:
        try:
            milliseconds(self.max)
        except ValueError as error:
            return [("max", str(error))]
        return []

    def wants(self) -> tuple[type[Event], ...]:
        return (RunStart, Message, ToolCall, ToolResult, RunEnd)

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        ts = seen.event.ts
        now = ts // 1_000_000 if isinstance(ts, int) else round(ts.timestamp() * 1_000)
        self.first = now if self.first is None or now < self.first else self.first
        self.last = now if self.last is None or now > self.last else self.last
        if self.last - self.first > self._limit:
            self.hit = [seen.event.id, seen.event.seq]
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        lasted = 0 if self.first is None or self.last is None else self.last - self.first
        if self.hit is not None:
            text = f"{lasted / 1_000:g}s exceeds max of {self.max}"
            return Finding(Outcome.FAIL, Reason.OVER_BUDGET, text, (Point(*self.hit),), sound=True)
        return Finding(Outcome.PASS, Reason.WITHIN_BUDGET, f"{lasted / 1_000:g}s (within budget of {self.max})")
