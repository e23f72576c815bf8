"""Does the agent make the same call again and again, although it brings nothing new?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import digest
from ...matching.tools import fits_any
from ...verdicts import Finding, Outcome, Point, Reason
from ._results import ERROR_TEXT, Failures, answered, awaited, digest_of

CALLS = 256
"""Different calls remembered since the last write."""


@dataclass
class RepeatedCall(Grader):
    """Fail a run that makes the same call ``times`` times and gets the same result each time.

    The same call is the same tool with the same arguments, whatever their order. A successful call of a tool in
    ``writes`` changes what others return, so the count begins anew behind it; ``exempt`` names tools that wait for
    something by asking again. Both hold patterns in which ``*`` stands for any characters. A call without a result is
    no repetition.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("find", {"id": 7}).returns("none").calls("find", {"id": 7}).returns("none").ends()
    >>> graded(RepeatedCall(times=2), story).evidence
    'find was called 2 times with the same arguments and the same result'
    """

    grows = True

    times: int = 3
    writes: list[str] | None = None
    exempt: list[str] | None = None
    error_pattern: str | None = ERROR_TEXT

    calls: int = field(default=0, init=False)
    """Calls that count, at the most two."""
    waiting: list[list[Any]] = field(default_factory=list, init=False)
    """Calls without a result: position, what stands for the call."""
    counts: dict[str, int] = field(default_factory=dict, init=False)
    """How often a call brought a result, by what stands for both."""
    unread: int = field(default=0, init=False)
    """Calls whose arguments were not all sent."""
    unpaired: int = field(default=0, init=False)
    forgotten: int = field(default=0, init=False)
    cut: bool = field(default=False, init=False)
    hit: list[Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._failures = Failures(self.error_pattern)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, ToolResult)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools", "results"})

    def problems(self) -> list[tuple[str, str]]:
        found = self._failures.problems()
        return [*found, ("times", "should be 2 or more")] if self.times < 2 else found

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if type(event) is ToolCall:
            if self.exempt is not None and fits_any(event.name, self.exempt):
                self.forgotten += not awaited(self.waiting, seen, "")
                return
            self.calls = min(2, self.calls + 1)
            what = seen.once(digest_of)
            self.unread += what is None
            self.forgotten += not awaited(self.waiting, seen, what or "")
        else:
            self._answered(seen)

    def _answered(self, seen: Seen) -> None:
        call = answered(self.waiting, seen)
        if self.writes is not None and self._writes(seen):
            self.counts = {}
            return
        if call is None:
            self.unpaired += 1
        elif not call[0]:
            return
        elif seen.partial:
            self.cut = self.cut or seen.truncated
        else:
            what = digest(call[0].encode() + seen.text.encode("utf-8", "surrogatepass"))
            count = self.counts[what] = self.counts.get(what, 0) + 1
            if count >= self.times:
                self.hit = [seen.event.id, seen.event.seq, seen.tool, seen.gap]
                self.counts, self.waiting = {}, []
                self.settled = True
            elif len(self.counts) > CALLS:
                del self.counts[next(iter(self.counts))]
                self.forgotten += 1

    def _writes(self, seen: Seen) -> bool:
        """Did the call that is answered change something, or may it have?"""
        if seen.tool is not None and not fits_any(seen.tool, self.writes or ()):
            return False
        failed = self._failures.of(seen)
        if failed is None or seen.tool is None:
            self.cut = self.cut or seen.truncated
            self.unpaired += seen.tool is None
        return not failed

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            event_id, seq, tool, gap = self.hit
            text = f"{tool} was called {self.times} times with the same arguments and the same result"
            point = Point(event_id, seq, "result")
            # A write may be missing between them, or another producer's.
            sound = not gap and not run.disordered
            return Finding(Outcome.FAIL, Reason.REPEATED, text, (point,), sound=sound)
        if not self.calls and not self.unpaired:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "no call that counts was made")
        told = f"no call was made {self.times} times with the same arguments and the same result"
        if self.forgotten:
            text = f"{self.forgotten} earlier calls had to be forgotten; of the others {told}"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text)
        if self.unread and self.calls > 1:
            text = f"the arguments of {self.unread} call(s) were not sent; of the others {told}"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        if self.unpaired:
            text = f"{self.unpaired} result(s) answer no known call; of the others {told}"
            return Finding(Outcome.NOT_GRADED, Reason.UNPAIRED, text)
        return Finding(Outcome.PASS, Reason.NOT_REPEATED, told, cut=self.cut)

    def size(self) -> int:
        return 30 * len(self.counts) + 45 * len(self.waiting)
