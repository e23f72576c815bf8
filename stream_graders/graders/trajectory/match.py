"""Did the agent make the calls that were expected?"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Literal

from ...events import Event, ToolCall
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import arguments_of
from ...matching.differences import SHOWN, Comparison
from ...matching.patterns import Pattern
from ...matching.references import reference_of
from ...verdicts import Finding, Outcome, Point, Reason

ENTRIES = 60
"""Calls that may be expected."""
CALLS = 256
"""Calls remembered that may be expected ones."""


@dataclass
class Match(Grader):
    """Compare the calls of a run with the ``expected`` ones; a call serves one of them, so two expected need two made.

    ``mode`` says what passes: ``superset``, all expected calls, and others too; ``in_order``, the same in their order;
    ``any_order``, these calls and no others; ``strict``, the same in their order; ``subset``, no others, but not all of
    them. (What Google ADK calls ANY_ORDER is ``superset`` here.) Calls of one step are in no order.

    ``arguments`` are compared as a ``subset`` (the default: the expected ones are there, at any depth), ``exact`` or
    not (``ignore``); an expected call without arguments takes any. Numbers are loose (12 is "12") and may lie
    ``tolerance`` apart. Names in ``ignored`` do not count, and of an argument in ``patterns`` its text has to fit.

    The score is F1 of the most calls that can be paired with expected ones; the mode decides what passes, unless the
    suite gives the check a ``pass_at``. Nothing expected: modes that allow other calls are skipped, the others pass
    with a score of 1 if no call was made and fail with 0 if one was. Without ``expected`` the check is skipped.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("find", {"id": 8}).ends()
    >>> graded(Match([{"name": "find", "args": {"id": 7}}]), story).evidence
    'find (expected call 1): argument id: expected 7, got 8 in call 1; precision 0.00, recall 0.00'
    """

    grows = True
    references: ClassVar[dict[str, str]] = {"expected": "expected_tools"}

    expected: Any = None
    mode: Literal["strict", "in_order", "any_order", "subset", "superset"] = "superset"
    arguments: Literal["exact", "subset", "ignore"] = "subset"
    patterns: dict[str, str] | None = None
    tolerance: float = 0
    ignored: list[str] | None = None

    calls: int = field(default=0, init=False)
    group: int = field(default=0, init=False)
    """Counts the groups of calls that were made together."""
    at: list[int] | None = field(default=None, init=False)
    """Turn and step of the last call, where it has a step."""
    pairs: list[list[int]] = field(default_factory=list, init=False)
    """Calls that may serve: their number, group, and the expected calls they may serve, as bits."""
    near: dict[str, list[Any]] = field(default_factory=dict, init=False)
    """By expected call, the first call of its tool that differs: number, what is to be said, event id, seq."""
    other: list[Any] | None = field(default=None, init=False)
    """The first call that serves none: number, tool, event id, seq."""
    unread: int = field(default=0, init=False)
    """Calls of expected tools whose arguments were not all sent."""
    forgotten: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._reference = reference_of(self.expected)
        self._expected = [] if self._reference is None else self._reference.calls[: ENTRIES + 1]
        self._tools = {call.tool for call in self._expected}
        patterns = {name: Pattern(source) for name, source in (self.patterns or {}).items()}
        tolerance = Decimal(repr(float(self.tolerance)))
        self._comparison = Comparison(self.arguments, frozenset(self.ignored or ()), patterns, tolerance)
        self.settled = self._unusable() is not None

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        if self._reference is not None and self._reference.fault:
            found.append(("expected", f"cannot be read: {self._reference.fault}"))
        if len(self._expected) > ENTRIES:
            found.append(("expected", f"at most {ENTRIES} calls"))
        if not self.tolerance >= 0:
            found.append(("tolerance", "should be 0 or more"))
        for name, pattern in self._comparison.patterns.items():
            if pattern.error is not None:
                found.append(("patterns", f"{name}: {pattern.error}"))
        return found

    def update(self, seen: Seen) -> None:
        event = seen.event
        if self.settled or not isinstance(event, ToolCall):
            return
        self.calls += 1
        at = None if event.step is None else [seen.turn, event.step]
        self.group += at is None or at != self.at
        self.at = at
        serves = self._serves(event) if event.name in self._tools else 0
        if not serves:
            self.other = self.other or [self.calls, event.name[:100], event.id, event.seq]
        elif len(self.pairs) < CALLS:
            self.pairs.append([self.calls, self.group, serves])
        else:
            self.forgotten += 1

    def _serves(self, event: ToolCall) -> int:
        """The expected calls that a call may serve, as bits."""
        serves, args = 0, arguments_of(event)
        if args.hidden and self.arguments != "ignore":
            self.unread += 1
        for n, call in enumerate(self._expected):
            if call.tool != event.name:
                continue
            if args.values is None and call.args is not None and self.arguments != "ignore":
                told = f"its arguments {args.fault}"
            else:
                difference = self._comparison.difference(call.args, args.values or {})
                if difference is None:
                    serves |= 1 << n
                    continue
                told = f"argument {difference.path[:SHOWN]}: expected {difference.expected}, got {difference.got}"
            self.near.setdefault(str(n), [self.calls, told, event.id, event.seq])
        return serves

    def finding(self, run: RunFacts) -> Finding:
        unusable = self._unusable()
        if unusable is not None:
            return unusable
        if self.unread:
            text = f"the arguments of {self.unread} call(s) of expected tools were not all sent"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        if self.forgotten:
            text = f"{self.forgotten} calls of expected tools had to be forgotten"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text)
        if not self._expected and self.mode in ("superset", "in_order"):
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "no call is expected, and others are allowed")
        if not self.calls and self._expected and self.mode == "subset":
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "no call was made")
        return self._compared()

    def _compared(self) -> Finding:
        wanted, made = len(self._expected), self.calls
        served = _matched([pair[2] for pair in self.pairs], range(wanted))
        hits = len(served)
        if not wanted and not made:
            text = "no call is expected, and none was made"
            return Finding(Outcome.PASS, Reason.MATCHED, text, score=1.0)
        score = 2 * hits / (wanted + made)
        rates = f"precision {hits / made if made else 0:.2f}, recall {hits / wanted if wanted else 0:.2f}"
        fault = self._first_fault(served)
        if fault is None:
            text = f"{hits} of {wanted} expected calls were made; {rates}"
            return Finding(Outcome.PASS, Reason.MATCHED, text, score=score)
        told, points = fault
        return Finding(Outcome.FAIL, Reason.NOT_MATCHED, f"{told}; {rates}", points, score=score)

    def _first_fault(self, served: dict[int, int]) -> tuple[str, tuple[Point, ...]] | None:
        """The first difference that the mode does not allow: a call that lacks, one too many, the order."""
        lacking = next((n for n in range(len(self._expected)) if n not in served), None)
        if lacking is not None and self.mode != "subset":
            return self._lacking(lacking)
        if self.mode in ("strict", "any_order", "subset") and len(served) < self.calls:
            return self._one_too_many(served)
        if self.mode in ("strict", "in_order"):
            place = self._out_of_order()
            if place is not None:
                tool = self._expected[place].tool
                return f"{tool} (expected call {place + 1}) was made, but not in its place", ()
        return None

    def _lacking(self, n: int) -> tuple[str, tuple[Point, ...]]:
        tool, near = self._expected[n].tool, self.near.get(str(n))
        name = f"{tool} (expected call {n + 1})"
        if near is None:
            made = sum(pair[2] >> n & 1 for pair in self.pairs)
            return (f"{name} was made {made} time(s), too few" if made else f"{name} was never called"), ()
        number, told, event_id, seq = near
        return f"{name}: {told} in call {number}", (Point(event_id, seq, "args"),)

    def _one_too_many(self, served: dict[int, int]) -> tuple[str, tuple[Point, ...]]:
        if self.other is not None:
            number, tool, event_id, seq = self.other
            return f"{tool} (call {number}) is not expected", (Point(event_id, seq, "name"),)
        spare = next(place for place in range(len(self.pairs)) if place not in served.values())
        number, _, bits = self.pairs[spare]
        tool = self._expected[bits.bit_length() - 1].tool
        return f"{tool} (call {number}) is expected less often", ()

    def _out_of_order(self) -> int | None:
        """The first expected call that no order within the steps brings to its place.

        Greedy: each group of calls takes as many of the next expected ones as it can; no other choice leaves fewer.
        """
        place, wanted = 0, len(self._expected)
        for bits in _grouped(self.pairs):
            most = min(len(bits), wanted - place)
            while len(_matched(bits, range(place, place + most))) < most:
                most -= 1
            if self.mode == "strict" and most < len(bits):
                return place + most
            place += most
        return place if place < wanted else None

    def size(self) -> int:
        tail = sum(40 + len(near[1]) + len(near[2]) for near in self.near.values())
        return 30 * len(self.pairs) + tail

    def _unusable(self) -> Finding | None:
        """The finding of a check whose expected calls are missing or cannot be read."""
        if self._reference is None:
            return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, "nothing says which calls are expected", sound=True)
        if self._reference.fault:
            text = f"the expected calls cannot be read: {self._reference.fault}"
            return Finding(Outcome.NOT_GRADED, Reason.BAD_REFERENCE, text, sound=True)
        if len(self._expected) > ENTRIES:
            text = f"more than {ENTRIES} calls are expected"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text, sound=True)
        return None


def _grouped(pairs: list[list[int]]) -> list[list[int]]:
    """The bits of calls that were made together."""
    groups: dict[int, list[int]] = {}
    for _, group, bits in pairs:
        groups.setdefault(group, []).append(bits)
    return list(groups.values())


def _matched(bits: list[int], wanted: range) -> dict[int, int]:
    """The most expected calls that can be served at once, each with the place of the call that serves it."""
    server: dict[int, int] = {}
    serves: dict[int, int] = {}

    def serve(n: int, tried: set[int]) -> bool:
        for place, served in enumerate(bits):
            if served >> n & 1 and place not in tried:
                tried.add(place)
                if place not in serves or serve(serves[place], tried):
                    serves[place], server[n] = n, place
                    return True
        return False

    for n in wanted:
        serve(n, set())
    return server
