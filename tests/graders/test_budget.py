"""`trajectory.budget`: calls, steps, turns, tokens, money and time."""

from copy import deepcopy
from datetime import UTC, datetime

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.budget import Budget
from stream_graders.testing import EPOCH, Story, graded, run
from tests.graders.cases import deciding

USED = {"input_tokens": 30, "output_tokens": 10, "cost": 0.5}


def steps(*numbers: int | None) -> Story:
    story = run().starts().asks("x")
    for number in numbers:
        story.calls("f", step=number)
    return story


CASES = {
    "calls within": (Budget(max_calls=2), run().starts().calls("f").calls("f"), "pass", "2 tool calls of 2"),
    "a call too many": (Budget(max_calls=1), run().calls("f").calls("g"), "fail", "2 tool calls, at most 1 allowed"),
    "no call": (Budget(max_calls=0), run().starts(), "pass", "0 tool calls of 0"),
    "a result is no call": (Budget(max_calls=0), run().starts().returns("x", name="f"), "pass", "0 tool calls of 0"),
    "turns": (Budget(max_turns=1), run().asks("a").says("b").asks("c"), "fail", "2 turns, at most 1 allowed"),
    "turns within": (Budget(max_turns=2), run().asks("a").asks("c"), "pass", "2 turns of 2"),
    "steps": (Budget(max_steps=1), steps(0, 0, 1), "fail", "2 steps, at most 1 allowed"),
    "steps within": (Budget(max_steps=2), steps(0, 0, 1), "pass", "2 steps of 2"),
    "steps that begin anew": (Budget(max_steps=1), steps(0).asks("y").calls("f", step=0), "fail", "2 steps, at most 1"),
    "calls without steps": (Budget(max_steps=2), steps(0, None), "not_graded", "the run does not carry all steps"),
    "tokens": (Budget(max_tokens=79), run().says("a", usage=USED).says("b", usage=USED), "fail", "80 tokens, at most 79"),
    "tokens within": (Budget(max_tokens=80), run().says("a", usage=USED).says("b", usage=USED), "pass", "80 tokens of 80"),
    "tokens, nowhere": (Budget(max_tokens=80), run().says("a"), "not_graded", "the run does not carry all tokens"),
    "tokens, not everywhere": (
        Budget(max_tokens=80),
        run().says("a", usage=USED).says("b"),
        "not_graded",
        "the run does not carry all tokens; so far: 40 tokens of 80",
    ),
    "tokens of others do not count": (
        Budget(max_tokens=50), run().asks("a", usage=USED).says("b", usage=USED), "pass", "40 tokens of 50"
    ),
    "money": (Budget(max_cost=0.75), run().says("a", usage=USED).says("b", usage=USED), "fail", "a cost of 1, at most 0.75"),
    "a usage without money": (
        Budget(max_cost=1.0), run().says("a", usage={"total_tokens": 9}), "not_graded", "the run does not carry all cost"
    ),
    "a usage of words": (
        Budget(max_tokens=1), run().says("a", usage={"total_tokens": "9", "input": True}), "not_graded", "the run does not"
    ),
    "time": (Budget(max_seconds=2.5), run().asks("a").says("b").calls("f").says("c"), "fail", "3 seconds, at most 2.5"),
    "time within": (Budget(max_seconds=4), run().asks("a").says("b"), "pass", "2 seconds of 4"),
    "two limits, one exceeded": (
        Budget(max_calls=5, max_tokens=9), run().starts().says("a", usage=USED), "fail", "40 tokens, at most 9 allowed"
    ),
    "an empty run": (Budget(max_seconds=5, max_turns=1), run().starts(), "pass", "0 turns of 1, 1 seconds of 5"),
}  # fmt: skip


@pytest.mark.parametrize(("grader", "story", "outcome", "evidence"), CASES.values(), ids=list(CASES))
def test_verdict(grader: Budget, story: Story, outcome: str, evidence: str) -> None:
    verdict = graded(grader, deepcopy(story).ends())
    assert verdict.outcome == outcome
    assert verdict.evidence.startswith(evidence)


DECIDING = {
    "the call": (Budget(max_calls=1), run().calls("f").calls("f").calls("f"), 1),
    "the message": (Budget(max_tokens=50), run().says("a", usage=USED).calls("f").says("b", usage=USED), 2),
    "the event that is too late": (Budget(max_seconds=1.5), run().asks("a").says("b").says("c"), 2),
    "nothing": (Budget(max_calls=3), run().calls("f").calls("f").calls("f"), None),
}


@pytest.mark.parametrize(("grader", "story", "seq"), DECIDING.values(), ids=list(DECIDING))
def test_which_event_decides(grader: Budget, story: Story, seq: int | None) -> None:
    assert deciding(grader, story) == seq


def test_the_end_may_report_more_than_the_messages() -> None:
    story = run().says("a", usage=USED).ends(usage={"total_tokens": 500, "total_cost_usd": 9.5})
    assert graded(Budget(max_tokens=100), story).evidence == "500 tokens, at most 100 allowed"
    assert graded(Budget(max_cost=9), story).evidence == "a cost of 9.5, at most 9 allowed"
    assert graded(Budget(max_tokens=100), run().says("a").ends(usage={"total_tokens": 50})).outcome == "pass"


def test_each_clock_is_compared_with_itself() -> None:
    events = list(run().asks("a").says("b").ends())
    hour = 3_600_000_000_000
    other = list(
        run(producer="p2").says("c", id="o0", seq=0, ts=EPOCH + hour).says("d", id="o1", seq=1, ts=EPOCH + hour)
    )
    assert graded(Budget(max_seconds=10), [*events[:1], *other, *events[1:]]).evidence == "2 seconds of 10"


def test_times_that_never_move_are_no_measure() -> None:
    verdict = graded(Budget(max_seconds=10), run(ts=EPOCH).asks("a").says("b").ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "not_measured")


def test_times_may_be_dates() -> None:
    moment = datetime(2026, 11, 30, 10, 0, 0, tzinfo=UTC)
    story = run().asks("a", ts=moment).says("b", ts=moment.replace(second=30)).ends(ts=moment.replace(minute=1))
    assert graded(Budget(max_seconds=45), story).evidence == "60 seconds, at most 45 allowed"


def test_what_was_counted_stands_whatever_is_missing() -> None:
    events = [event for event in run().starts().calls("f").calls("f").calls("f").ends() if event.seq != 1]
    assert graded(Budget(max_calls=1), events).outcome == "fail"
    assert graded(Budget(max_calls=2), events).outcome == "not_graded"


def test_without_a_record_no_call_is_known() -> None:
    assert graded(Budget(max_calls=1), run().asks("x").ends()).reason == "record_unknown"
    assert graded(Budget(max_turns=1), run().asks("x").ends()).outcome == "pass"


def test_without_messages_no_turn_is_known() -> None:
    unheard = run().starts(reports=("tools", "end")).calls("f", step=0).ends()
    assert graded(Budget(max_turns=1), unheard).reason == "not_measured"
    assert graded(Budget(max_steps=3), unheard).reason == "not_measured"
    assert graded(Budget(max_calls=1), unheard).outcome == "pass"
    assert graded(Budget(max_turns=1), run().starts().asks(UNSENT).says(UNSENT).ends()).outcome == "pass"


def test_limits_are_asked_for() -> None:
    assert [name for name, _ in Budget().problems()] == ["max_calls"]
    assert [name for name, _ in Budget(max_steps=-1, max_cost=-1).problems()] == ["max_steps", "max_cost"]


def test_nothing_used_is_known_too() -> None:
    story = run().starts().says("a", usage={"input": 0, "output": 0}).ends(usage={"total": 0})
    assert graded(Budget(max_tokens=0), story).outcome == "pass"
