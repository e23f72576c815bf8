"""What the budgets share: a count, the most it may be, and the words for both."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Point, Reason
from ._taxonomy import TAXONOMY

SPANS = 200
"""Stretches of numbers that are remembered; most runs number without holes, and have one."""


@dataclass
class Budget(Grader):
    """Fail a run at the moment it uses more than ``max``; the evidence says what it had used then, not in the end."""

    metadata = TAXONOMY

    unit: ClassVar[str]
    """What is counted, in the plural."""

    max: int

    used: int = field(default=0, init=False)
    hit: list[Any] | None = field(default=None, init=False)
    """The event at which it was too much: id, seq."""

    def problems(self) -> list[tuple[str, str]]:
        return [("max", "should be 0 or more")] if self.max < 0 else []

    def use(self, seen: Seen, amount: int = 1) -> None:
        """Count what an event uses."""
        self.used += amount
        if self.used > self.max:
            self.hit = [seen.event.id, seen.event.seq]
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            text = f"{self.used} {self.unit} exceeds max of {self.max}"
            return Finding(Outcome.FAIL, Reason.OVER_BUDGET, text, (Point(*self.hit),), sound=True)
        return Finding(Outcome.PASS, Reason.WITHIN_BUDGET, f"{self.used} {self.unit} (within budget of {self.max})")


@dataclass
class Distinct(Budget):
    """Counts the different numbers that events bear."""

    spans: list[list[int]] = field(default_factory=list, init=False)
    """The numbers seen, as stretches in order."""
    dropped: bool = field(default=False, init=False)
    """A number had to be left out."""

    def count(self, seen: Seen, number: int) -> None:
        """Count the number of an event, if it is new."""
        if len(self.spans) >= SPANS:
            self.dropped = True
        elif noted(self.spans, number):
            self.use(seen)

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is None and self.dropped:
            text = f"the {self.unit} leave more than {SPANS} holes; so far {self.used} were counted"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text)
        return super().finding(run)


def noted(spans: list[list[int]], number: int) -> bool:
    """Add a number to those seen, kept as stretches in order; was it new?

    >>> spans = [[0, 4]]
    >>> noted(spans, 6), noted(spans, 5), noted(spans, 3), spans
    (True, True, False, [[0, 6]])
    """
    at = len(spans)
    while at and spans[at - 1][0] > number:
        at -= 1
    if at and number <= spans[at - 1][1]:
        return False
    joins_left = at > 0 and spans[at - 1][1] == number - 1
    joins_right = at < len(spans) and spans[at][0] == number + 1
    if joins_left and joins_right:
        spans[at - 1][1] = spans[at][1]
        del spans[at]
    elif joins_left:
        spans[at - 1][1] = number
    elif joins_right:
        spans[at][0] = number
    else:
        spans.insert(at, [number, number])
    return True
