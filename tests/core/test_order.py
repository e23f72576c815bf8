"""How events come into order, each once, and what is known of those that do not come (design 5.2)."""

from collections.abc import Iterable

import pytest

from stream_graders.events import Custom, Event, Message, RunStart, from_json, to_json
from stream_graders.testing import run
from stream_graders.trajectory import (
    FAR_AHEAD,
    HELD_BYTES,
    HELD_EVENTS,
    HELD_MS,
    OPEN_CALLS,
    PRODUCERS,
    RANGES,
    RECENT_IDS,
    Arrival,
    Course,
    Order,
)


def said(count: int, producer: str = "p1", first: int = 0) -> list[Event]:
    """Numbered messages of one producer."""
    story = run(producer=producer)
    for n in range(first + count):
        story.says(f"{n}", id=f"{producer}-{n}")
    return list(story)[first:]


def fed(order: Order, events: Iterable[Event], size: int = 100, now: int = 0) -> list[tuple[Arrival, list[int | None]]]:
    """What each arrival became, and the numbers it released."""
    told = []
    for event in events:
        arrival, released = order.take(event, size, now, 0)
        told.append((arrival, [event.seq for event, _ in released]))
    return told


def test_in_order_each_event_is_released_as_it_comes() -> None:
    assert fed(Order(), said(3)) == [(Arrival.RELEASED, [n]) for n in range(3)]


def test_a_gap_holds_back_until_it_is_filled() -> None:
    zero, one, two, three = said(4)
    assert fed(Order(), [zero, two, three, one]) == [
        (Arrival.RELEASED, [0]),
        (Arrival.HELD, []),
        (Arrival.HELD, []),
        (Arrival.RELEASED, [1, 2, 3]),
    ]


def test_a_repetition_is_a_duplicate_whether_applied_or_held() -> None:
    zero, one, two = said(3)
    assert fed(Order(), [zero, zero, two, two, one, two]) == [
        (Arrival.RELEASED, [0]),
        (Arrival.DUPLICATE, []),
        (Arrival.HELD, []),
        (Arrival.DUPLICATE, []),
        (Arrival.RELEASED, [1, 2]),
        (Arrival.DUPLICATE, []),
    ]


def test_a_gap_holds_back_its_own_producer_only() -> None:
    one, other = said(3), said(2, "p2")
    told = fed(Order(), [one[0], one[2], *other, one[1]])
    assert [released for _, released in told] == [[0], [], [0], [1], [1, 2]]


def test_the_65th_held_event_gives_the_gap_up() -> None:
    order = Order()
    told = fed(order, said(HELD_EVENTS + 1, first=1))
    assert told[-2] == (Arrival.HELD, [])
    assert told[-1] == (Arrival.RELEASED, list(range(1, HELD_EVENTS + 2)))
    assert order.missing == [["p1", 0, 0, 0]]
    assert order.held == 0


def test_so_do_more_held_bytes_than_128_kb() -> None:
    order = Order()
    told = fed(order, said(3, first=1), size=HELD_BYTES // 2)
    assert [arrival for arrival, _ in told] == [Arrival.HELD, Arrival.HELD, Arrival.RELEASED]
    assert order.missing == [["p1", 0, 0, 0]]


def test_only_the_oldest_gap_is_given_up_while_that_is_enough() -> None:
    order = Order()
    events = said(HELD_EVENTS + 3)
    told = fed(order, [events[1], *events[3:]])
    assert told[-1][1] == [1]  # The gap before 1 is given up, the one at 2 still holds the others.
    assert order.held == HELD_EVENTS


def test_a_gap_waits_30_seconds_from_the_first_event_behind_it() -> None:
    order = Order()
    one, two, three = said(3, first=1)
    order.take(one, 10, 1_000, 0)
    order.take(two, 10, 20_000, 0)
    assert order.deadline() == 1_000 + HELD_MS
    assert [event.seq for event, _ in order.expire(1_000 + HELD_MS, 0)] == [1, 2]
    assert order.deadline() is None
    assert fed(order, [three]) == [(Arrival.RELEASED, [3])]


def test_an_event_that_fills_a_given_up_gap_is_late_and_closes_its_part_of_it() -> None:
    order, events = Order(), said(6)
    fed(order, [events[0], events[5]])
    order.expire(HELD_MS, 1)
    assert order.missing == [["p1", 1, 4, 1]]
    assert order.take(events[2], 10, 0, 9) == (Arrival.RELEASED, [(events[2], 1)])
    assert order.missing == [["p1", 1, 1, 1], ["p1", 3, 4, 1]]
    assert order.take(events[2], 10, 0, 9)[0] is Arrival.DUPLICATE
    for n in (1, 3, 4):
        assert order.take(events[n], 10, 0, 9)[0] is Arrival.RELEASED
    assert order.missing == []


def test_a_number_more_than_10_000_ahead_is_a_broken_counter() -> None:
    order = Order()
    zero = said(1)[0]
    at = next(iter(run().says("x", seq=FAR_AHEAD + 1)))
    beyond = next(iter(run().says("x", seq=FAR_AHEAD + 2)))
    assert [arrival for arrival, _ in fed(order, [zero, at, beyond])] == [
        Arrival.RELEASED,
        Arrival.HELD,
        Arrival.FAR_AHEAD,
    ]


def test_a_broken_counter_takes_no_place_among_the_producers() -> None:
    order = Order()
    for n in range(PRODUCERS + 5):
        beyond = next(iter(run(producer=f"bad-{n}").says("x", seq=10**30)))
        assert order.take(beyond, 10, 0, 0)[0] is Arrival.FAR_AHEAD
    assert fed(order, said(1)) == [(Arrival.RELEASED, [0])]
    assert not order.broken


def test_number_0_with_another_id_is_a_new_start() -> None:
    order = Order()
    again = list(run().says("a", id="again-0").says("b", id="again-1"))
    assert [released for _, released in fed(order, [*said(3), *again])] == [[0], [1], [2], [0], [1]]
    assert order.restarted == 1
    assert order.expected("p1") == 2


def test_a_repetition_of_either_start_is_a_duplicate() -> None:
    order = Order()
    first, again = said(1)[0], next(iter(run().says("a", id="again-0")))
    told = fed(order, [first, again, first, again, first])
    assert [arrival for arrival, _ in told] == [Arrival.RELEASED] * 2 + [Arrival.DUPLICATE] * 3
    assert order.restarted == 1


def test_a_number_0_that_fills_the_first_gap_is_no_new_start() -> None:
    order = Order()
    events = said(2)
    fed(order, [events[1]])
    order.expire(HELD_MS, 0)
    assert order.take(events[0], 10, 0, 5) == (Arrival.RELEASED, [(events[0], 0)])
    assert order.restarted == 0


def test_the_17th_producer_is_taken_as_it_comes_and_the_run_is_broken() -> None:
    order = Order()
    for n in range(PRODUCERS):
        fed(order, said(1, f"p{n}"))
    assert not order.broken
    many = said(3, "one too many")
    assert fed(order, [many[2], many[0], many[2]]) == [
        (Arrival.RELEASED, [2]),
        (Arrival.RELEASED, [0]),
        (Arrival.DUPLICATE, []),
    ]
    assert order.broken


def test_the_17th_gap_is_not_noted_and_the_run_is_broken() -> None:
    order, events = Order(), said(2 * RANGES + 4)
    for n in range(1, 2 * RANGES + 3, 2):
        fed(order, [events[n]])
        order.expire(HELD_MS, n)
    assert len(order.missing) == RANGES
    assert order.broken


def test_without_numbers_the_order_is_that_of_arrival_and_the_last_256_ids_are_known() -> None:
    order = Order()
    story = run()
    for n in range(RECENT_IDS + 1):
        story.says("x", seq=None, id=f"e{n}")
    events = list(story)
    assert {arrival for arrival, _ in fed(order, events)} == {Arrival.RELEASED}
    assert order.inferred
    assert fed(order, [events[1]]) == [(Arrival.DUPLICATE, [])]
    assert fed(order, [events[0]]) == [(Arrival.RELEASED, [None])]  # Forgotten by now.


def test_state_moves_with_everything_that_waits() -> None:
    order, events = Order(), said(5)
    fed(order, [events[0], events[2], *said(2, "p2", first=1), *run().says("x", seq=None)])
    again = Order.resume(from_json(to_json(order.snapshot())))
    assert to_json(again.snapshot()) == to_json(order.snapshot())
    assert fed(again, [events[1]]) == [(Arrival.RELEASED, [1, 2])]
    assert again.held == 2


def test_marks_know_what_was_applied_and_no_more() -> None:
    order, events = Order(), said(4)
    fed(order, [*events[:2], events[3], *run().says("x", seq=None, id="bare")])
    marks = Order.from_marks(order.marks())
    assert [marks.is_known(event) for event in events] == [True, True, False, False]
    assert marks.is_known(next(iter(run().says("x", seq=None, id="bare"))))
    assert not marks.is_known(next(iter(run().says("x", seq=0, id="another start"))))


def test_names_that_senders_choose_are_kept_short() -> None:
    order = Order()
    long = "p" * 100_000
    assert fed(order, said(3, long)) == [(Arrival.RELEASED, [n]) for n in range(3)]
    assert order.expected(long) == 3
    assert len(next(iter(order.producers))) < 100


# -- the course ------------------------------------------------------------------------------------------------------------


def read(events: Iterable[Event]) -> tuple[Course, list[tuple[int, int, str | None, int | None]]]:
    """The course after these events; of each its position, turn, tool and the position of its call."""
    course = Course()
    seen = [course.read(event, None) for event in events]
    return course, [(one.position, one.turn, one.tool, one.call) for one in seen]


def test_a_turn_starts_at_each_user_message_but_the_first() -> None:
    _, seen = read(run().starts().says("hi").asks("a").says("b").asks("c").asks("d").ends())
    assert [turn for _, turn, _, _ in seen] == [0, 0, 0, 0, 1, 2, 2]


def test_turns_that_are_sent_count() -> None:
    _, seen = read(run().asks("a", turn=0).says("b", turn=0).asks("c", turn=3).says("d", turn=3))
    assert [turn for _, turn, _, _ in seen] == [0, 0, 3, 3]


def test_an_event_of_an_earlier_turn_belongs_there_and_is_late() -> None:
    course, seen = read(run().asks("a", turn=0).asks("b", turn=1).says("c", turn=0).says("d"))
    assert [turn for _, turn, _, _ in seen] == [0, 1, 0, 1]
    assert course.flags == {"late"}


PAIRS = {
    "by id": (run().calls("a", call_id="1").calls("b", call_id="2").returns(call_id="1", name=None), "a", 0),
    "the oldest of an id that is used twice": (
        run().calls("a", call_id="1").calls("b", call_id="1").returns(call_id="1", name=None),
        "a",
        0,
    ),
    "by name, the oldest, without ids": (
        run()
        .calls("a", call_id=None)
        .calls("b", call_id=None)
        .calls("b", call_id=None)
        .returns(call_id=None, name="b"),
        "b",
        1,
    ),
    "the only open call": (run().calls("a", call_id="1").returns(call_id=None, name=None), "a", 0),
    "the only open call of a tool": (
        run().calls("a", call_id="1").calls("b", call_id="2").returns(call_id=None, name="b"),
        "b",
        1,
    ),
    "an id whose call has none": (run().calls("a", call_id=None).returns(call_id="9", name=None), "a", 0),
    "not guessed at among two": (
        run().calls("a", call_id="1").calls("b", call_id="2").returns(call_id=None, name=None),
        None,
        None,
    ),
    "not guessed at among two without ids": (
        run().calls("a", call_id=None).calls("b", call_id=None).returns(call_id="9", name=None),
        None,
        None,
    ),
    "not of another tool": (run().calls("a", call_id="1").returns(call_id=None, name="b"), "b", None),
    "no call at all": (run().returns(call_id="1", name=None), None, None),
}


@pytest.mark.parametrize(("events", "tool", "call"), PAIRS.values(), ids=list(PAIRS))
def test_a_result_finds_its_call(events: Iterable[Event], tool: str | None, call: int | None) -> None:
    course, seen = read(events)
    assert seen[-1][2:] == (tool, call)
    assert ("result_unpaired" in course.flags) == (call is None)


def test_where_a_call_may_be_missing_none_is_guessed_at() -> None:
    course = Course()
    course.last_gap = 0
    seen = [course.read(event, None) for event in run().calls("a", call_id=None).returns(call_id=None, name=None)]
    assert seen[-1].tool is None


MOVES = {
    "at first the agent's": (run().starts(), "agent"),
    "after a user message the agent's": (run().asks("x"), "agent"),
    "after an assistant message the user's": (run().asks("x").says("y"), "user"),
    "after a call the tool's": (run().calls("a"), "tool"),
    "after one of two results still the tool's": (
        run().calls("a", call_id="1").calls("b", call_id="2").returns(call_id="1", name=None),
        "tool",
    ),
    "after the last result the agent's": (run().calls("a").returns("x"), "agent"),
    "a system message changes nothing": (run().says("y").adds(Message, role="system", content="be kind"), "user"),
}


@pytest.mark.parametrize(("events", "move"), MOVES.values(), ids=list(MOVES))
def test_whose_move_it_is(events: Iterable[Event], move: str) -> None:
    assert read(events)[0].move == move


def test_the_oldest_of_257_open_calls_is_forgotten() -> None:
    story = run()
    for n in range(OPEN_CALLS + 1):
        story.calls("t", call_id=f"c{n}")
    course, _ = read(story)
    assert len(course.calls) == OPEN_CALLS
    assert course.calls[0][0] == "c1"
    assert course.flags == {"call_unpaired"}


def test_open_calls_weigh_little_whatever_their_names() -> None:
    story = run()
    for n in range(OPEN_CALLS):
        story.calls("t" * 512, call_id=f"{n}" * 10_000)
    course, _ = read(story)
    assert len(str(course.snapshot())) < 64 * 1024


def test_flags_are_kept_few_and_short() -> None:
    story = run()
    for n in range(100):
        story.says("x", flags=(f"flag-{n}", "f" * 1_000))
    course, _ = read(story)
    assert len(course.flags) == 32
    assert max(map(len, course.flags)) <= 64


def test_asides_have_no_place_in_the_gaps_of_others() -> None:
    order = Order()
    story = list(run().starts().adds(Custom).adds(Custom).says("x").says("y"))
    order.take(story[4], 10, 0, 0)
    order.take(story[1], 10, 1, 0)
    order.take(story[2], 10, 2, 0)
    order.give_up_all(0)
    assert isinstance(story[0], RunStart)
    assert order.missing == [["p1", 0, 0, 0], ["p1", 3, 3, 0]]  # The two asides between take no place.
