"""Does the agent try again what just failed, without a change?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen, excerpt
from ...matching.arguments import digest
from ...matching.patterns import Pattern
from ...verdicts import Finding, Outcome, Point, Reason
from ._results import ERROR_TEXT, WAITING, Failures, answered, awaited, digest_of

TRANSIENT = (
    r"(?i)\b(?:status|code|http|error)\W{0,3}(?:code\W{0,3})?(?:429|5[0-9][0-9])\b"
    r"|rate.?limit|too many requests|timed?.?out|temporar|unavailable|bad gateway|overloaded"
)
"""What an error looks like that may be gone at the next try."""


@dataclass
class RetriedSameError(Grader):
    """Fail a run that makes a failed call again at once, with the same arguments, and gets the same error.

    At once: no other call stands between, but for those of the same step. A failure is a result that is marked
    ``is_error`` or whose text ``error_pattern`` finds. One whose text ``transient`` finds is left out: by default HTTP
    429 and 5xx, rate limits, timeouts and what is said to be unavailable.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("find", {"id": 7}).returns("Error: no 7").calls("find", {"id": 7}).returns("Error: no 7")
    >>> graded(RetriedSameError(), story.ends()).evidence
    'find was called again without a change after it failed, and failed alike: "Error: no 7"'
    """

    error_pattern: str | None = ERROR_TEXT
    transient: str | None = TRANSIENT

    failures: int = field(default=0, init=False)
    waiting: list[list[Any]] = field(default_factory=list, init=False)
    """Calls without a result: position, what stands for the call, for the errors it had just before."""
    failed: list[list[Any]] = field(default_factory=list, init=False)
    """What failed and may be tried again at once: the call, its error, did another call follow, the step of that."""
    unread: int = field(default=0, init=False)
    unpaired: int = field(default=0, init=False)
    forgotten: int = field(default=0, init=False)
    cut: bool = field(default=False, init=False)
    hit: list[Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._failures = Failures(self.error_pattern)
        self._transient = None if self.transient is None else Pattern(self.transient)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, ToolResult)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools", "results"})

    def problems(self) -> list[tuple[str, str]]:
        found = self._failures.problems()
        if self.transient == "":
            found.append(("transient", "an empty pattern leaves out every error; write null for none"))
        elif self._transient is not None and self._transient.error is not None:
            found.append(("transient", self._transient.error))
        return found

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if type(event) is ToolCall:
            what = seen.once(digest_of)
            self.unread += what is None
            self.failed = [failure for failure in self.failed if _is_next(failure, event.step)]
            errors = [error for call, error, _, _ in self.failed if call == what]
            self.forgotten += not awaited(self.waiting, seen, what or "", errors)
        else:
            self._answered(seen)

    def _answered(self, seen: Seen) -> None:
        call = answered(self.waiting, seen)
        failed = self._failures.of(seen)
        if failed is False:
            return
        if failed is None or seen.partial:
            self.cut = self.cut or seen.truncated
        if call is None:
            self.unpaired += 1
            return
        self.failures = min(2, self.failures + 1)
        if seen.partial or not call[0] or (self._transient is not None and self._transient.search(seen.text)):
            return
        error = digest(seen.text.encode("utf-8", "surrogatepass"))
        if error in call[1]:
            self.hit = [seen.event.id, seen.event.seq, seen.tool, excerpt(seen.text, 0, 0), seen.gap]
            self.waiting, self.failed = [], []
            self.settled = True
        else:
            self.failed = [*self.failed[1 - WAITING :], [call[0], error, False, None]]

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            event_id, seq, tool, error, gap = self.hit
            text = f'{tool} was called again without a change after it failed, and failed alike: "{error}"'
            # Another call may be missing between the two.
            sound = not gap and not run.disordered
            return Finding(Outcome.FAIL, Reason.REPEATED, text, (Point(event_id, seq, "result", error),), sound=sound)
        told = "no call was made again at once and failed alike"
        if self.forgotten:
            text = f"{self.forgotten} calls had to be forgotten before their results came; of the others {told}"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text)
        if self.unread and self.failures:
            text = f"the arguments of {self.unread} call(s) were not sent; of the others {told}"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        if self.unpaired:
            text = f"{self.unpaired} failed result(s) answer no known call; of the others {told}"
            return Finding(Outcome.NOT_GRADED, Reason.UNPAIRED, text)
        if not self.failures:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "no call failed", cut=self.cut)
        return Finding(Outcome.PASS, Reason.NOT_REPEATED, told, cut=self.cut)


def _is_next(failure: list[Any], step: int | None) -> bool:
    """Does a call follow the failure at once: as the first one, or in the step of that? Notes that one did."""
    _, _, followed, of = failure
    failure[2:] = [True, step]
    return not followed or (step is not None and step == of)
