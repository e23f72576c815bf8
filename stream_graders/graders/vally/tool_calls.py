"""Did the agent make the calls that it must, and none that it must not?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen, shown
from ...verdicts import Finding, Outcome, Point, Reason
from ._calls import ENTRIES, Wanted, faults
from ._taxonomy import LOW_COST

WAITING = 64
"""Calls whose results are waited for."""

Entries = list[Any] | None
"""Names and mappings; what else stands there is told by `ToolCalls.problems`, one line an entry."""


@dataclass
class ToolCalls(Grader):
    """Pass a run that makes every ``required`` call, no ``disallowed`` one, and the calls of ``sequence`` in that order.

    An entry is the pattern of a tool's name (``^name$`` for no other), or a mapping of ``name`` and what else is asked:

    - ``command``, ``path``, ``args`` (a mapping): patterns for the arguments of these names;
    - ``pattern``: for all arguments, as compact JSON; ``result``: for the result's text, not in ``sequence``;
    - in ``required`` only: ``min_count``; ``final``, the run's last call is one that is meant; ``at_step``, in that step
      of the agent; ``before_step``, in an earlier one. Steps count from 0, as events number them.

    All patterns are searched for and mind case; an invalid one fails every run. Entries are independent: one call may
    serve several. In a sequence others may stand between, and each entry needs a call of its own. A call whose arguments,
    result or step number were not sent leaves open what it could decide.

    >>> from stream_graders.testing import graded, run
    >>> grader = ToolCalls(["^find$"], [{"name": "sh", "command": "rm +-rf"}])
    >>> graded(grader, run().calls("find").calls("sh", {"command": "rm -rf /"}).ends()).evidence
    'disallowed "sh" with command "rm +-rf" was called'
    """

    metadata = LOW_COST
    assumes = "the calls are not made"

    required: Entries = None
    disallowed: Entries = None
    sequence: Entries = None
    parallel: Any = None

    counts: list[int] = field(default_factory=list, init=False)
    """Calls that met each entry of ``required``."""
    maybe: list[int] = field(default_factory=list, init=False)
    """Calls that may have, then those that may be one of each entry of ``disallowed``."""
    last: list[bool | None] = field(default_factory=list, init=False)
    """Whether the last call met each entry of ``required``; null where nobody knows."""
    at: int = field(default=-1, init=False)
    """The position of the last call."""
    waiting: list[list[Any]] = field(default_factory=list, init=False)
    """Calls whose result is to decide: position, entry, all else is met."""
    stands: int = field(default=0, init=False)
    """How many entries of the sequence were met."""
    astray: bool = field(default=False, init=False)
    """A call may have been the next one of the sequence."""
    points: list[list[Any]] = field(default_factory=list, init=False)
    """The last three calls that met something: event id, seq."""
    hit: int | None = field(default=None, init=False)
    """The entry of ``disallowed`` that a call met."""

    def __post_init__(self) -> None:
        parts = {"required": self.required, "disallowed": self.disallowed, "sequence": self.sequence}
        self._faults = [
            (part, f"entry {n + 1} {fault}")
            for part, entries in parts.items()
            for n, entry in enumerate(entries or ())
            for fault in faults(entry, part)
        ]
        built = {part: [] if self._faults else [Wanted(e) for e in entries or ()] for part, entries in parts.items()}
        self._required, self._disallowed, self._sequence = built.values()
        self._both = self._required + self._disallowed
        patterns = [pattern for wanted in self._both + self._sequence for pattern in wanted.patterns]
        self._bad = next((pattern for pattern in patterns if pattern.error is not None), None)
        self.settled = self._bad is not None
        if not self._required and not self._sequence:
            vars(self)["assumes"] = None  # A run without calls passes.
        self._may_pass_early = not self._disallowed and not any(wanted.final for wanted in self._required)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, ToolResult) if "results" in self.needs() else (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"} | {"results" for wanted in self._both if wanted.result is not None})

    def problems(self) -> list[tuple[str, str]]:
        found = list(self._faults)
        lists = [self.required or [], self.disallowed or [], self.sequence or []]
        if not any(lists):
            found.append(("required", "give an entry at least in required, disallowed or sequence"))
        if sum(map(len, lists)) > ENTRIES:
            found.append(("required", f"at most {ENTRIES} entries together"))
        if self.parallel is not None:
            found.append(("parallel", "is not supported; ask for calls of one step by at_step in required"))
        return found

    def warnings(self) -> list[tuple[str, str]]:
        if self._bad is None:
            return []
        lists = {"required": self._required, "disallowed": self._disallowed, "sequence": self._sequence}
        where = next(part for part, entries in lists.items() if any(self._bad in wanted.patterns for wanted in entries))
        return [(where, f"the check will fail every run: pattern {shown(self._bad.source)}: {self._bad.error}")]

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        if not self.maybe:
            self.counts, self.maybe = [0] * len(self._required), [0] * len(self._both)
            self.last = [False] * len(self._required)
        if type(seen.event) is ToolCall:
            self._call(seen)
        elif self.waiting:
            self._result(seen)
        if self._may_pass_early and not self.settled:
            self.settled = self.stands == len(self._sequence) and all(
                count >= wanted.min_count for count, wanted in zip(self.counts, self._required, strict=True)
            )

    def finding(self, run: RunFacts) -> Finding:
        if self._bad is not None:
            text = f"invalid pattern {shown(self._bad.source)}: {self._bad.error}"
            return Finding(Outcome.FAIL, Reason.INVALID_PATTERN, text, sound=True)
        points = tuple(Point(event_id, seq, "name") for event_id, seq in self.points)
        if self.hit is not None:
            text = f"disallowed {self._disallowed[self.hit].label} was called"
            return Finding(Outcome.FAIL, Reason.CALLS_UNMET, text, points[-1:], sound=True)
        unmet, unknown = self._open()
        if unmet:
            return Finding(Outcome.FAIL, Reason.CALLS_UNMET, "; ".join(unmet), points)
        if unknown:
            text = "arguments, results or step numbers of calls were not sent, and could decide: " + "; ".join(unknown)
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        total = len(self._both) + bool(self._sequence)
        text = f"all {total} tool call requirement(s) met"
        return Finding(Outcome.PASS, Reason.CALLS_MET, text, points, sound=self.settled)

    # -- what comes --------------------------------------------------------------------------------------------------

    def _call(self, seen: Seen) -> None:
        self.at = seen.position
        self.last = [False] * len(self._required)
        for n, wanted in enumerate(self._both):
            fits = wanted.fits(seen)
            if fits is False:
                continue
            if wanted.result is None:
                self._count(n, seen, met=fits, of=seen.position)
            else:
                self.waiting.append([seen.position, n, fits])
        while len(self.waiting) > WAITING:
            self.maybe[self.waiting.pop(0)[1]] += 1
        if self.stands < len(self._sequence):
            fits = self._sequence[self.stands].fits(seen)
            self.astray = self.astray or fits is None
            if fits:
                self.stands += 1
                self._note(seen)

    def _result(self, seen: Seen) -> None:
        if seen.call is None:  # It may be the result of any of them.
            for _, n, _ in self.waiting:
                self.maybe[n] += 1
                if n < len(self._required) and self.last[n] is False:
                    self.last[n] = None
            return
        for waiting in [waiting for waiting in self.waiting if waiting[0] == seen.call]:
            self.waiting.remove(waiting)
            position, n, fits = waiting
            wanted = self._both[n]
            # Results without ids answer the calls of their tool in order: behind a gap it may be another call.
            returned = None if seen.gap and not wanted.by_name else wanted.returned(seen)
            if returned is not False:
                self._count(n, seen, met=fits and returned, of=position)

    def _count(self, n: int, seen: Seen, *, met: bool | None, of: int) -> None:
        """Count a call at a position as one that meets an entry, or may."""
        if n < len(self._required) and of == self.at:
            self.last[n] = met
        if not met:
            self.maybe[n] += 1
        elif n < len(self._required):
            self.counts[n] += 1
            if self.counts[n] <= self._required[n].min_count:
                self._note(seen)
        elif not self.settled:
            self._note(seen)
            self.hit = n - len(self._required)
            self.settled = True

    def _note(self, seen: Seen) -> None:
        self.points = [*self.points[-2:], [seen.event.id, seen.event.seq]]

    # -- what it means -----------------------------------------------------------------------------------------------

    def _open(self) -> tuple[list[str], list[str]]:
        """What is not met, and what nobody knows whether it is."""
        counts = self.counts or [0] * len(self._required)
        maybe = self.maybe or [0] * len(self._both)
        last = self.last or [False] * len(self._required)
        unmet, unknown = list[str](), list[str]()
        for n, wanted in enumerate(self._required):
            few = counts[n] < wanted.min_count
            if not few and (not wanted.final or last[n]):
                continue
            if counts[n] + maybe[n] < wanted.min_count:
                times = f"called {counts[n]} of {wanted.min_count} times" if counts[n] else "not called"
                unmet.append(f"required {wanted.label} was {times}")
            elif wanted.final and last[n] is False:
                unmet.append(f"required {wanted.label} was not the final call")
            else:
                unknown.append(f"required {wanted.label}")
        for n, wanted in enumerate(self._disallowed):
            if maybe[len(self._required) + n]:
                unknown.append(f"disallowed {wanted.label}")
        if self.stands < len(self._sequence):
            text = f"sequence stops before {self._sequence[self.stands].label}"
            (unknown if self.astray else unmet).append(text)
        return unmet, unknown
