"""Graders of our own family that look into calls, as the tests configure them, and their oracles."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from stream_graders.events import UNSENT, Event, Message, ToolCall
from stream_graders.graders.trajectory.match import Match
from stream_graders.graders.trajectory.writes_equal import WritesEqual
from stream_graders.grading import Grader
from stream_graders.testing import run
from tests.graders.calls import (
    arguments,
    calls_in,
    fits_any,
    is_failure,
    results_in,
)
from tests.graders.told import Oracle, Told, calls_of_results, is_cut

_REFUND = {"name": "payments.refund", "args": {"order": "ORD-123456", "amount": "58"}}
_FIND = {"tool": "orders.find", "arguments": {"order": "ORD-123456"}}

GRADERS: dict[str, Grader] = {
    "writes of one refund": WritesEqual(["payments.*"], [_FIND, _REFUND]),
    "writes in order": WritesEqual(["*.refund", "auth.*"], ["auth.login", _REFUND, "payments.refund"], in_order=True),
    "writes of nothing": WritesEqual(["payments.*"], []),
    "writes without a reference": WritesEqual(["payments.*"]),
    "writes with a bad reference": WritesEqual(["payments.*"], [{"args": {}}]),
    "match of two": Match([_FIND, _REFUND]),
    "match in order": Match([_FIND, "payments.refund", _FIND], "in_order"),
    "match exactly": Match([_FIND, {**_REFUND, "args": {}}], "any_order", "exact"),
    "match strictly": Match(["orders.find", "payments.refund"], "strict", "ignore"),
    "match a part": Match(["orders.find", _FIND, "auth.login"], "subset", tolerance=1, ignored=["amount"]),
    "match nothing": Match([], "strict"),
}

_58 = {"amount": 58.0, "order": "ORD-123456"}
STORIES: dict[str, Iterable[Event]] = {
    "the refund of the reference": (
        run().starts().calls("orders.find", _58).returns("x").calls("payments.refund", _58).returns("ok").ends()
    ),
    "two refunds at once, after a login": (
        run()
        .starts()
        .calls("auth.login", step=0)
        .returns("in")
        .calls("payments.refund", {"order": "ORD-9"}, step=1, call_id="a")
        .calls("payments.refund", _58, step=1, call_id="b")
        .returns("ok", call_id="a")
        .returns("ok", call_id="b")
        .ends()
    ),
    "two finds around a refund": (
        run().starts().calls("orders.find", _58).calls("payments.refund").calls("orders.find", _58).returns("x").ends()
    ),
    "the two tools and nothing else": run().starts().calls("orders.find").calls("payments.refund").returns("ok").ends(),
}
"""Runs that these graders are held over beside those of `tests.core.stories`."""


# -- what these oracles share --------------------------------------------------------------------------------------------


def number(value: Any) -> Fraction | None:
    text = value if isinstance(value, str) else repr(value) if type(value) in (int, float) else ""
    whole, _, part = text.removeprefix("-").partition(".")
    plain = whole.isdigit() and (whole == "0" or whole[0] != "0") and (part.isdigit() or "." not in text)
    return Fraction(text) if plain else None


def alike(one: Any, other: Any, tolerance: float = 0) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[name], other[name], tolerance) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(alike(a, b, tolerance) for a, b in zip(one, other, strict=True))
    a, b = number(one), number(other)
    if a is not None and b is not None:
        return abs(a - b) <= tolerance
    return type(one) is type(other) and bool(one == other)


def expected(entry: Any) -> tuple[str, Any]:
    """Tool and arguments of an entry of the references above; None for any."""
    if isinstance(entry, str):
        return entry, None
    return entry.get("name") or entry.get("tool"), entry.get("args", entry.get("arguments"))


def groups(events: Sequence[Event]) -> dict[str, int]:
    """By the id of a call, the number of its group: calls of one step and turn that follow each other."""
    users, last, group = 0, None, 0
    told: dict[str, int] = {}
    for event in events:
        users += isinstance(event, Message) and event.role == "user"
        if isinstance(event, ToolCall):
            turn = max(0, users - 1) if event.turn is None else event.turn
            group += event.step is None or last != (turn, event.step)
            last = None if event.step is None else (turn, event.step)
            told[event.id] = group
    return told


def is_unsent(call: ToolCall) -> bool:
    return call.args is UNSENT or is_cut(call)


# -- oracles -------------------------------------------------------------------------------------------------------------


def writes_equal(grader: WritesEqual, events: Sequence[Event], tools: dict[str, str | None]) -> Told:
    if grader.reference is None:
        return Told("skipped", "there is no reference", certain=True)
    if grader.reference == [{"args": {}}]:
        return Told("not_graded", "bad_reference")
    wanted = [entry for entry in map(expected, grader.reference) if fits_any(entry[0], grader.writes)]
    calls, group = calls_of_results(events), groups(events)

    def serves(call: ToolCall, entry: tuple[str, Any]) -> bool:
        return call.name == entry[0] and (entry[1] is None or alike(arguments(call), entry[1]))

    def all_serve(writes: Sequence[ToolCall], entries: list[tuple[str, Any]]) -> bool:
        return not writes or any(
            serves(writes[0], entry) and all_serve(writes[1:], entries[:n] + entries[n + 1 :])
            for n, entry in enumerate(entries)
        )

    done: list[ToolCall] = []
    unpaired = hidden = cut = False
    for event in results_in(events):
        if tools[event.id] is not None and not fits_any(tools[event.id], grader.writes):
            continue
        call = calls.get(event.id)
        cut = cut or (is_failure(event) is None and is_cut(event))
        if is_failure(event) is not False:
            continue
        if call is None:
            unpaired = True
        elif is_unsent(call):
            hidden = True
        else:
            done.append(call)
            if not all_serve(done, wanted):
                number_ = calls_in(events).index(call) + 1
                return Told("fail", f"{call.name} (call {number_}) is not in the reference", certain=True)
    if hidden:
        return Told("not_graded", "content_missing")
    if unpaired:
        return Told("not_graded", "unpaired")
    if len(done) < len(wanted):
        return Told("fail", "", cut=cut)
    if grader.in_order:
        done.sort(key=lambda call: group[call.id])
        for n in {group[call.id] for call in done}:
            places = [place for place, call in enumerate(done) if group[call.id] == n]
            if not all_serve([done[place] for place in places], [wanted[place] for place in places]):
                return Told("fail", "the writes are those of the reference in another order", cut=cut)
    text = f"{len(done)} successful write(s), as in the reference" if done else "nothing was to be written"
    return Told("pass", text, cut=cut)


def match(grader: Match, events: Sequence[Event], tools: Any) -> Told:
    wanted = [expected(entry) for entry in grader.expected]
    calls, group = calls_in(events), groups(events)
    if grader.arguments != "ignore" and any(is_unsent(c) and c.name in {tool for tool, _ in wanted} for c in calls):
        return Told("not_graded", "content_missing")
    if not wanted and not calls:
        return Told("pass", "no call is expected, and none was made")
    if not calls and grader.mode == "subset":
        return Told("skipped", "no call was made")

    def serves(call: ToolCall, entry: tuple[str, Any]) -> bool:
        if call.name != entry[0] or entry[1] is None or grader.arguments == "ignore":
            return call.name == entry[0]
        got, want = arguments(call), entry[1]
        if not isinstance(got, dict):
            return False
        names = {name for name in {*got, *want} if name not in (grader.ignored or ())}
        if grader.arguments == "subset":
            names &= set(want)
        return all(name in got and name in want and alike(got[name], want[name], grader.tolerance) for name in names)

    def choices(left: Sequence[tuple[str, Any]], used: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Every way to let distinct calls serve expected ones, in their order; -1 for one that none serves."""
        if not left:
            yield used
            return
        yield from choices(left[1:], (*used, -1))
        for n, call in enumerate(calls):
            if n not in used and serves(call, left[0]):
                yield from choices(left[1:], (*used, n))

    most, ordered = 0, False
    for choice in choices(wanted, ()):
        hits = [n for n in choice if n >= 0]
        most = max(most, len(hits))
        places = [group[calls[n].id] for n in hits]
        ordered = ordered or (len(hits) == len(wanted) and places == sorted(places))
    passes = {
        "superset": most == len(wanted),
        "subset": most == len(calls),
        "any_order": most == len(wanted) == len(calls),
        "in_order": ordered,
        "strict": ordered and len(wanted) == len(calls),
    }[grader.mode]
    if passes:
        return Told("pass", f"{most} of {len(wanted)} expected calls were made")
    return Told("fail", "")


ORACLES: dict[type, Oracle] = {
    WritesEqual: Oracle(writes_equal, {"tools", "results"}),
    Match: Oracle(match, {"tools"}),
}
