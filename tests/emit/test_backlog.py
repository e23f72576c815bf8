"""What goes first when there is no room."""

from collections.abc import Iterable

from stream_graders.emit.backlog import HEAD, Backlog, Pending, weight

CONTENT = {"message": "content", "tool.call": "args", "tool.result": "result", "custom": "body"}


def event(number: int, kind: str, size: int = 0) -> Pending:
    made = Pending(kind, "r-1", 0, {}, {CONTENT[kind]: "x" * size} if kind in CONTENT else {})
    made.number = number
    return made


def filled(kinds: Iterable[str], *, events: int = 100, size: int = 1_000_000, each: int = 0) -> Backlog:
    backlog = Backlog(events, size)
    for number, kind in enumerate(kinds):
        backlog.put(event(number, kind, each))
    return backlog


def left(backlog: Backlog) -> list[tuple[int, str, bool]]:
    """What would be sent: number, type, and whether it still has its content."""
    return [(e.number, e.kind, not e.emptied) for e in backlog.take(1_000, 10**9)]


def test_with_room_everything_stays_in_order() -> None:
    backlog = filled(["run.start", "custom", "message", "tool.call", "run.end"])
    assert [number for number, _, _ in left(backlog)] == [0, 1, 2, 3, 4]
    assert not backlog.dropped


def test_custom_events_go_first_the_oldest_of_them() -> None:
    backlog = filled(["custom", "message", "custom", "tool.call"], events=3)
    assert [number for number, _, _ in left(backlog)] == [1, 2, 3]
    assert backlog.dropped == {"custom": 1}


def test_then_messages_lose_their_content_the_oldest_first() -> None:
    backlog = filled(["tool.result", "message", "message"], size=3 * HEAD + 2_000, each=1_000)
    assert left(backlog) == [(0, "tool.result", True), (1, "message", False), (2, "message", True)]
    assert (backlog.emptied, +backlog.dropped) == ({"message": 1}, {})


def test_then_calls_and_results_lose_theirs() -> None:
    backlog = filled(["tool.call", "message", "tool.result"], size=3 * HEAD + 1_000, each=1_000)
    assert left(backlog) == [(0, "tool.call", False), (1, "message", False), (2, "tool.result", True)]


def test_then_messages_go() -> None:
    backlog = filled(["run.start", "message", "tool.call", "tool.result", "run.end"], events=4)
    assert [kind for _, kind, _ in left(backlog)] == ["run.start", "tool.call", "tool.result", "run.end"]
    assert backlog.dropped == {"message": 1}


def test_when_only_heads_are_left_the_newest_goes_and_is_counted() -> None:
    backlog = filled(["run.start", "tool.call", "tool.result", "run.end"], events=3)
    assert [number for number, _, _ in left(backlog)] == [0, 1, 2]
    assert backlog.dropped == {"run.end": 1}


def test_what_is_on_its_way_keeps_its_room() -> None:
    backlog = filled(["run.start", "tool.call"], events=2)
    under_way = backlog.take(10, 10**6)
    backlog.put(event(2, "run.end"))
    assert backlog.dropped == {"run.end": 1}
    backlog.settle(under_way)
    backlog.put(event(3, "run.end"))
    assert [number for number, _, _ in left(backlog)] == [3]


def test_a_portion_is_bounded_and_never_empty() -> None:
    backlog = filled(["message"] * 5, each=1_000)
    assert len(backlog.take(2, 10**6)) == 2
    assert len(backlog.take(10, 1)) == 1
    assert len(backlog.take(10, HEAD + 1_001)) == 2


def test_an_emptied_event_that_goes_after_all_counts_once() -> None:
    backlog = filled(["message"] * 3, size=3 * HEAD - 1, each=10)
    kept = left(backlog)
    assert (len(kept), backlog.dropped) == (2, {"message": 1})
    assert backlog.emptied.total() == len([number for number, _, whole in kept if not whole]) == 2


def test_a_weight_is_about_right_however_large_the_value() -> None:
    rows = [{"sku": "A" * 20, "price": 12} for _ in range(100_000)]
    assert 2_000_000 < weight({"result": rows}) < 8_000_000
    assert weight({"content": "x" * 1_000}) == 1_000
