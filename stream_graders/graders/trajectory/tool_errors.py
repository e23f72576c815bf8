"""Did too many tool calls fail?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, ToolResult
from ...grading import Grader, RunFacts, Seen, excerpt
from ...matching.tools import fits_any
from ...verdicts import Finding, Outcome, Point, Reason
from ._results import ERROR_TEXT, Failures


@dataclass
class ToolErrors(Grader):
    """Fail a run in which more than ``max`` results are errors, or more than the share ``max_rate`` of them.

    A result is an error if it is marked ``is_error``, or if ``error_pattern`` finds its text; by default a text that
    begins with the word "error". ``tools`` names the tools that count, with ``*`` for any characters; by default all.
    A run without results of them is skipped.

    >>> from stream_graders.testing import graded, run
    >>> graded(ToolErrors(max=0), run().calls("find").returns("Error: no such order").ends()).evidence
    '1 of 1 tool results are errors, at most 0 allowed'
    """

    max: int | None = None
    max_rate: float | None = None
    tools: list[str] | None = None
    error_pattern: str | None = ERROR_TEXT

    results: int = field(default=0, init=False)
    errors: int = field(default=0, init=False)
    first: list[list[Any]] = field(default_factory=list, init=False)
    """The first three errors: event id, seq, excerpt."""
    unread: int = field(default=0, init=False)
    """Results of which it is not known whether they are errors, for want of their text."""
    cut: bool = field(default=False, init=False)
    """Of one of them only a part is missing."""
    unnamed: int = field(default=0, init=False)
    """Results of which it is not known whether their tool counts."""

    def __post_init__(self) -> None:
        self._failures = Failures(self.error_pattern)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolResult,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        found = self._failures.problems()
        if self.max is None and self.max_rate is None:
            found.append(("max", "give max, max_rate or both"))
        if self.max is not None and self.max < 0:
            found.append(("max", "should be 0 or more"))
        if self.max_rate is not None and not 0 <= self.max_rate < 1:
            found.append(("max_rate", "is a share: 0 or more and less than 1"))
        return found

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        if self.tools is not None:
            if seen.tool is None:
                self.unnamed += 1
                return
            if not fits_any(seen.tool, self.tools):
                return
        self.results += 1
        failed = self._failures.of(seen)
        if failed:
            self.errors += 1
            if len(self.first) < 3:
                self.first.append([seen.event.id, seen.event.seq, excerpt(seen.text, 0, 0)])
            # What is missing can only add to the number; but which call a result answers may show behind a gap.
            paired = self.tools is None or not seen.gap
            self.settled = self.max is not None and self.errors > self.max and paired
        elif failed is None:
            self.unread += 1
            self.cut = self.cut or seen.truncated

    def finding(self, run: RunFacts) -> Finding:
        points = tuple(Point(event_id, seq, "result", text) for event_id, seq, text in self.first)
        told = f"{self.errors} of {self.results} tool results {self._of()}are errors"
        if self.max is not None and self.errors > self.max:
            text = f"{told}, at most {self.max} allowed"
            return Finding(Outcome.FAIL, Reason.OUTSIDE_LIMIT, text, points, sound=self.settled)
        if not run.reported("results"):  # Asked here: a result that is marked needs no text.
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, f"not all results are reported; so far: {told}")
        if self.unnamed:
            text = f"{self.unnamed} result(s) name no tool and answer no known call; so far: {told}"
            return Finding(Outcome.NOT_GRADED, Reason.UNPAIRED, text)
        if not self.results:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, f"no result {self._of()}came")
        if self.unread:
            text = f"of {self.unread} result(s) it is not known whether they are errors; so far: {told}"
            reason = Reason.TRUNCATED if self.cut else Reason.CONTENT_MISSING
            return Finding(Outcome.NOT_GRADED, reason, text)
        if self.max_rate is not None and self.errors > self.max_rate * self.results:
            text = f"{told} ({self.errors / self.results:.1%}), at most {self.max_rate:.1%} allowed"
            return Finding(Outcome.FAIL, Reason.OUTSIDE_LIMIT, text, points)
        return Finding(Outcome.PASS, Reason.WITHIN_LIMIT, told, points)

    def _of(self) -> str:
        return "" if self.tools is None else f"of {', '.join(self.tools)} "
