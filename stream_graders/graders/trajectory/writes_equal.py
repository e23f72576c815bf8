"""Did the agent change exactly what it was to change?"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...events import Event, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import Arguments, arguments_of
from ...matching.differences import SHOWN, Comparison, loose_key, shown_value
from ...matching.references import reference_of
from ...matching.tools import fits_any
from ...verdicts import Finding, Outcome, Point, Reason
from ._results import ERROR_TEXT, Failures, answered, awaited

ENTRIES = 100
"""Writes that a reference may hold."""
_EXACT = Comparison()


@dataclass
class WritesEqual(Grader):
    """Pass a run whose successful writes are those of the ``reference``, each as often, with the same arguments.

    ``writes`` names the tools that change something, with ``*`` for any characters; other calls count neither here nor
    in the reference. A call is successful if a result came that is not marked ``is_error`` and whose text
    ``error_pattern`` does not find. Arguments are compared whole: 12 and "12" are equal, true and "true" are not; an
    entry of the reference without arguments takes any. With ``in_order`` the order counts too, but for calls of one
    step. Without a reference, the check's or the run's own, it is skipped.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("refund", {"amount": 85}).returns("ok").ends()
    >>> graded(WritesEqual(["refund"], [{"name": "refund", "args": {"amount": 58}}]), story).evidence
    'refund (call 1) is not in the reference: argument amount: expected 58, got 85'
    """

    grows = True
    references: ClassVar[dict[str, str]] = {"reference": "expected_tools"}

    writes: list[str]
    reference: Any = None
    in_order: bool = False
    error_pattern: str | None = ERROR_TEXT

    calls: int = field(default=0, init=False)
    group: int = field(default=0, init=False)
    """Counts the groups of calls that were made together."""
    at: list[int] | None = field(default=None, init=False)
    """Turn and step of the last call, where it has a step."""
    waiting: list[list[Any]] = field(default_factory=list, init=False)
    """Writes without a result: position, what they may serve, group, name, what tells them apart, hidden."""
    done: list[list[int]] = field(default_factory=list, init=False)
    """Successful writes: the entries of the reference that they may serve (-1 for none), group."""
    extra: list[Any] | None = field(default=None, init=False)
    """The first successful write that the reference lacks: event id, seq, what is to be said, a gap before it."""
    hidden: int = field(default=0, init=False)
    """Successful writes whose arguments were not all sent."""
    unpaired: int = field(default=0, init=False)
    forgotten: int = field(default=0, init=False)
    cut: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._failures = Failures(self.error_pattern)
        self._reference = reference_of(self.reference)
        told = [] if self._reference is None else [c for c in self._reference.calls if self._is_write(c.tool)]
        self._expected = told
        self._places: dict[tuple[str, bytes], int] = {}
        """The first entry of the reference with this tool and these arguments."""
        self._free: dict[str, int] = {}
        """The first entry of this tool that takes any arguments."""
        self._sequence: list[int] = []
        """For each entry the first one that is equal to it."""
        for n, call in enumerate(told):
            if call.args is None:
                self._sequence.append(self._free.setdefault(call.tool, n))
            else:
                self._sequence.append(self._places.setdefault((call.tool, loose_key(call.args)), n))
        self.settled = self._unusable() is not None

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, ToolResult)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools", "results"})

    def problems(self) -> list[tuple[str, str]]:
        found = self._failures.problems()
        if not self.writes or not all(self.writes):
            found.append(("writes", "name the tools that change something"))
        if self._reference is not None and self._reference.fault:
            found.append(("reference", f"cannot be read: {self._reference.fault}"))
        if len(self._expected) > ENTRIES:
            found.append(("reference", f"at most {ENTRIES} writes"))
        return found

    def warnings(self) -> list[tuple[str, str]]:
        if self._reference is not None and self._reference.calls and not self._expected:
            return [("reference", "names no tool of `writes`, so that every write fails a run")]
        return []

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if type(event) is ToolCall:
            self._called(event, seen)
        elif seen.tool is None or self._is_write(seen.tool):
            self._answered(seen)

    def _called(self, event: ToolCall, seen: Seen) -> None:
        self.calls += 1
        at = None if event.step is None else [seen.turn, event.step]
        self.group += at is None or at != self.at
        self.at = at
        if self._is_write(event.name):
            args = arguments_of(event)
            serves = [self._place(event.name, args), self._free.get(event.name, -1)]
            told = "" if serves != [-1, -1] else self._told_apart(event.name, args)
            self.forgotten += not awaited(
                self.waiting, seen, serves, self.group, f"{event.name[:100]} (call {self.calls})", told, args.hidden
            )

    def _place(self, tool: str, args: Arguments) -> int:
        return -1 if args.values is None else self._places.get((tool, loose_key(args.values)), -1)

    def _told_apart(self, tool: str, args: Arguments) -> str:
        """Where the arguments differ from those of the first entry of this tool."""
        if args.values is None:
            return f": its arguments {args.fault}"
        near = next((call.args for call in self._expected if call.tool == tool), None)
        difference = None if near is None else _EXACT.difference(near, args.values)
        if difference is None:
            return ""
        return f": argument {difference.path[:SHOWN]}: expected {difference.expected}, got {difference.got}"

    def _answered(self, seen: Seen) -> None:
        call = answered(self.waiting, seen)
        failed = self._failures.of(seen)
        if failed is None:
            self.cut = self.cut or seen.truncated
        elif call is None:
            self.unpaired += not failed
        elif not failed:
            serves, group, name, told, hidden = call
            if hidden:
                self.hidden += 1
                return
            self.done.append([*serves, group])
            over, _ = _served(self.done, self._sequence)
            if over:
                how = told or ": it is there less often"
                self.extra = [seen.event.id, seen.event.seq, f"{name} is not in the reference{how}", seen.gap]
                self.done, self.waiting = [], []
                self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        unusable = self._unusable()
        if unusable is not None:
            return unusable
        if self.extra is not None:
            event_id, seq, told, gap = self.extra
            point = Point(event_id, seq, "result")
            # Behind a gap a result may be that of another call with the same id.
            sound = not gap and not run.disordered
            return Finding(Outcome.FAIL, Reason.NOT_MATCHED, told, (point,), sound=sound)
        unknown = self._unknown()
        if unknown is not None:
            return unknown
        _, left = _served(self.done, self._sequence)
        if left:
            lacking = min(left)
            call = self._expected[lacking]
            args = "" if call.args is None else f" with {shown_value(call.args)}"
            text = f"{call.tool} (write {lacking + 1} of the reference) did not succeed{args}"
            return Finding(Outcome.FAIL, Reason.NOT_MATCHED, text, cut=self.cut)
        if self.in_order:
            wrong = self._disorder()
            if wrong is not None:
                tool = self._expected[wrong].tool
                text = f"the writes are those of the reference in another order: {tool} should be number {wrong + 1}"
                return Finding(Outcome.FAIL, Reason.NOT_MATCHED, text, cut=self.cut)
        if not self.done:
            text = "nothing was to be written, and nothing was"
        else:
            text = f"{len(self.done)} successful write(s), as in the reference"
        return Finding(Outcome.PASS, Reason.MATCHED, text, cut=self.cut)

    def size(self) -> int:
        return sum(80 + len(call[3]) + len(call[4]) for call in self.waiting) + 15 * len(self.done)

    def _unusable(self) -> Finding | None:
        """The finding of a check whose reference is missing or cannot be read."""
        if self._reference is None:
            return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, "there is no reference to compare with", sound=True)
        if self._reference.fault:
            text = f"the reference cannot be read: {self._reference.fault}"
            return Finding(Outcome.NOT_GRADED, Reason.BAD_REFERENCE, text, sound=True)
        if len(self._expected) > ENTRIES:
            text = f"the reference has {len(self._expected)} writes, and at most {ENTRIES} are remembered"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text, sound=True)
        return None

    def _unknown(self) -> Finding | None:
        """The finding of a run in which a write may have succeeded that cannot be told."""
        if self.forgotten:
            text = f"{self.forgotten} write(s) had to be forgotten before their results came"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text)
        if self.hidden:
            text = f"the arguments of {self.hidden} successful write(s) were not sent"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        if self.unpaired:
            text = f"{self.unpaired} result(s) answer no known call, and may be those of writes"
            return Finding(Outcome.NOT_GRADED, Reason.UNPAIRED, text)
        return None

    def _disorder(self) -> int | None:
        """The first entry of the reference whose place other writes took."""
        start = 0
        calls = sorted(self.done, key=lambda call: call[2])
        while start < len(calls):
            end = start + 1
            while end < len(calls) and calls[end][2] == calls[start][2]:
                end += 1
            over, _ = _served(calls[start:end], self._sequence[start:end])
            if over:
                return start
            start = end
        return None

    def _is_write(self, tool: str) -> bool:
        return fits_any(tool, self.writes)


def _served(calls: list[list[int]], sequence: list[int]) -> tuple[int, list[int]]:
    """How many calls serve no entry of a sequence, and which entries are left.

    An entry with arguments is served by calls with the same ones only, so they go first; what is over may serve one
    that takes any.
    """
    left = Counter(sequence)
    over = 0
    free: list[int] = []
    for exact, any_args, _ in calls:
        if left[exact] > 0:
            left[exact] -= 1
        else:
            free.append(any_args)
    for place in free:
        if left[place] > 0:
            left[place] -= 1
        else:
            over += 1
    return over, [place for place, count in left.items() if count > 0]
