"""Vally's budgets: what each counts, when it is decided, and what is not known."""

from datetime import UTC, datetime
from typing import Any

import pytest

from stream_graders.config import settings_model
from stream_graders.events import Message, RunEnd
from stream_graders.graders.vally._budget import SPANS, Budget, noted
from stream_graders.graders.vally.error_count import ErrorCount
from stream_graders.graders.vally.step_count import StepCount
from stream_graders.graders.vally.token_budget import TokenBudget, tokens_of
from stream_graders.graders.vally.tool_call_count import ToolCallCount
from stream_graders.graders.vally.turn_count import TurnCount
from stream_graders.graders.vally.wall_time import WallTime
from stream_graders.grading import Grader
from stream_graders.suites import Check
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, holds

CALLS = run().starts().calls("a").returns("x").calls("b").says("done").calls("a").ends()

CASES: dict[str, tuple[Grader, Story, str, str]] = {
    "as many calls as allowed": (ToolCallCount(3), CALLS, "pass", "3 tool calls (within budget of 3)"),
    "one more": (ToolCallCount(2), CALLS, "fail", "3 tool calls exceeds max of 2"),
    "none is allowed": (ToolCallCount(0), CALLS, "fail", "1 tool calls exceeds max of 0"),
    "none is made": (ToolCallCount(0), run().starts().ends(), "pass", "0 tool calls (within budget of 0)"),
    "steps are told by their numbers": (
        StepCount(2),
        run().starts().says("a", step=4).calls("t", step=4).calls("t", step=4).says("b", step=5).ends(),
        "pass",
        "2 steps (within budget of 2)",
    ),
    "a user's message is no step": (
        StepCount(0),
        run().starts().asks("x", step=1).ends(),
        "pass",
        "0 steps (within budget of 0)",
    ),
    "one step too many": (
        StepCount(1),
        run().starts().says("a", step=0).calls("t", step=1).says("b", step=2).ends(),
        "fail",
        "2 steps exceeds max of 1",
    ),
    "turns are those of the user": (
        TurnCount(2),
        run().says("hello").asks("a").says("b").says("c").asks("d").ends(),
        "pass",
        "2 turns (within budget of 2)",
    ),
    "one turn too many": (TurnCount(1), run().asks("a").asks("b").ends(), "fail", "2 turns exceeds max of 1"),
    "turns by number": (
        TurnCount(1),
        run().asks("a", turn=3).says("b", turn=3).ends(),
        "pass",
        "1 turns (within budget of 1)",
    ),
    "errors of tools": (
        ErrorCount(1),
        run().starts().calls("t").returns(is_error=True).calls("t").returns("x", is_error=False).returns("?").ends(),
        "pass",
        "1 errors (within budget of 1)",
    ),
    "and of the end": (
        ErrorCount(1),
        run().starts().calls("t").returns(is_error=True).ends(status="error"),
        "fail",
        "2 errors exceeds max of 1",
    ),
    "a limit is no error": (
        ErrorCount(0),
        run().starts().ends(status="limit"),
        "pass",
        "0 errors (within budget of 0)",
    ),
    "tokens are added up": (
        TokenBudget(100),
        run().asks("x").says("a", usage={"input": 40, "output": 10}).says("b", usage={"total_tokens": 50}).ends(),
        "pass",
        "100 tokens (within budget of 100)",
    ),
    "and may be too many": (
        TokenBudget(99),
        run().says("a", usage={"input_tokens": 40, "output_tokens": 10}).says("b", usage={"total": 50}).ends(),
        "fail",
        "100 tokens exceeds max of 99",
    ),
    "the end knows of more": (
        TokenBudget(99),
        run().says("a", usage={"total": 50}).ends(usage={"prompt_tokens": 90, "completion_tokens": 10}),
        "fail",
        "100 tokens exceeds max of 99",
    ),
    "the end knows of fewer": (
        TokenBudget(99),
        run().says("a", usage={"total": 50}).ends(usage={"total": 10}),
        "pass",
        "50 tokens (within budget of 99)",
    ),
    "seven seconds": (WallTime("7s"), CALLS, "pass", "6s (within budget of 7s)"),
    "three": (WallTime("3s"), CALLS, "fail", "4s exceeds max of 3s"),
    "no time at all": (
        WallTime("0s"),
        run().starts().ends(ts=1_790_000_000_000_000_000),
        "pass",
        "0s (within budget of 0s)",
    ),
}


@pytest.mark.parametrize(("grader", "story", "outcome", "evidence"), CASES.values(), ids=list(CASES))
def test_verdict(grader: Grader, story: Story, outcome: str, evidence: str) -> None:
    holds(grader, Case(story, outcome, evidence))


DECIDING: list[tuple[Grader, int]] = [(ToolCallCount(1), 3), (WallTime("2500ms"), 3)]


@pytest.mark.parametrize(("grader", "number"), DECIDING, ids=lambda value: getattr(value, "name", ""))
def test_it_is_decided_at_the_event_that_is_too_much(grader: Grader, number: int) -> None:
    assert deciding(grader, CALLS) == number
    (point,) = graded(grader, CALLS).points
    assert point.seq == number


def test_staying_under_is_decided_at_the_end() -> None:
    told = run().starts().asks("x").calls("a", step=0).says("b", step=1, usage={"total": 5})
    for grader in (ToolCallCount(9), StepCount(9), TurnCount(9), ErrorCount(9), TokenBudget(9), WallTime("9m")):
        assert deciding(grader, told) is None
        assert graded(grader, told).outcome == "pass"


LOSSES = {"too much was seen": (2, "fail", "over_budget"), "it may be more": (9, "not_graded", "incomplete")}


@pytest.mark.parametrize(("most", "outcome", "reason"), LOSSES.values(), ids=list(LOSSES))
def test_of_a_run_with_a_gap_only_too_much_is_known(most: int, outcome: str, reason: str) -> None:
    story = run().starts().asks("a").calls("t", step=0).calls("t", step=1).asks("b").calls("t", step=2).asks("c").ends()
    rest = [event for event in story if event.seq != 1]
    for grader in (ToolCallCount(most), StepCount(most), WallTime(f"{most}s")):
        verdict = graded(grader, rest)
        assert (verdict.outcome, verdict.reason) == (outcome, reason)


def test_behind_a_gap_only_numbered_turns_are_counted() -> None:
    story = run().starts().says("hello", turn=2).asks("a").says("b", turn=2).ends()
    assert graded(TurnCount(1), story).outcome == "pass"
    # Without the first message the user's would open turn 0, and two turns would be seen.
    assert graded(TurnCount(1), [event for event in story if event.seq != 1]).reason == "incomplete"


def test_what_is_not_reported_is_not_counted() -> None:
    silent = run().starts(reports=("end",)).ends()
    assert graded(ToolCallCount(5), silent).reason == "record_unknown"
    assert graded(TurnCount(5), silent).reason == "content_missing"
    assert graded(ErrorCount(5), silent).reason == "content_missing"


UNKNOWN: dict[str, tuple[Grader, Story]] = {
    "a step without a number": (StepCount(5), run().starts().says("a", step=0).calls("t")),
    "no usage at all": (TokenBudget(5), run().starts().says("a")),
    "a message without usage": (TokenBudget(5), run().starts().says("a", usage={"total": 1}).says("b")),
    "usage that counts nothing": (TokenBudget(5), run().says("a", usage={"cost": 0.1, "input": "5", "output": True})),
    "nothing is said": (TokenBudget(5), run().starts().asks("a")),
}


@pytest.mark.parametrize(("grader", "story"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_not_graded(grader: Grader, story: Story) -> None:
    verdict = graded(grader, story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "content_missing")


def test_more_numbers_than_can_be_remembered_are_not_graded() -> None:
    story = run().starts()
    for n in range(SPANS + 1):
        story.says("a", step=2 * n)
    assert graded(StepCount(1_000), story.ends()).reason == "state_limit"
    assert graded(StepCount(SPANS - 1), story).outcome == "fail"


def test_numbers_without_holes_are_one_stretch() -> None:
    spans: list[list[int]] = []
    assert [noted(spans, n) for n in (5, 3, 4, 9, 4, 8, 0, 6, 7, 3)] == [True] * 4 + [False] + [True] * 4 + [False]
    assert spans == [[0, 0], [3, 9]]


def test_times_may_be_written_either_way() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    story = run().starts(ts=start).says("a", ts=start.replace(microsecond=500_000)).ends(ts=start.replace(second=2))
    assert graded(WallTime("1s"), story).evidence == "2s exceeds max of 1s"
    assert graded(WallTime("2s"), story).evidence == "2s (within budget of 2s)"


def test_in_a_turn_only_its_events_count() -> None:
    story = run().starts().asks("a").calls("t").calls("t").says("b").asks("c").calls("t").ends()
    assert graded(Check("c", ToolCallCount(1), "minor", turn=0), story).outcome == "fail"
    assert graded(Check("c", ToolCallCount(1), "minor", turn=1), story).outcome == "pass"
    assert graded(Check("c", WallTime("2s"), "minor", turn=1), story).outcome == "pass"


BAD: list[tuple[Grader, str]] = [
    (ToolCallCount(-1), "should be 0 or more"),
    (WallTime("soon"), "'soon' is no duration; write 30s, 15m, 24h or 7d"),
]


@pytest.mark.parametrize(("grader", "message"), BAD, ids=lambda value: getattr(value, "name", ""))
def test_a_limit_that_is_none_is_refused(grader: Grader, message: str) -> None:
    assert grader.problems() == [("max", message)]


@pytest.mark.parametrize("kind", [ToolCallCount, StepCount, TurnCount, ErrorCount, TokenBudget], ids=lambda k: k.name)
def test_a_limit_is_a_whole_number(kind: type[Budget]) -> None:
    def refused(value: Any) -> bool:
        try:
            settings_model(kind).model_validate({"max": value})
        except ValueError:
            return True
        return False

    assert [refused(value) for value in (5, "5", 5.0, True)] == [False, True, True, True]


def test_usage_is_counted_from_nothing_on() -> None:
    assert tokens_of({"total": 0, "input": 5}) == 0
    assert tokens_of({"total": -1, "input": 5, "output": 0}) == 5
    assert tokens_of({"input": True, "output": 2.0}) is None
    assert tokens_of("9") is None


def test_what_a_count_needs() -> None:
    assert StepCount(1).needs() == {"messages", "tools"}
    assert TurnCount(1).needs() == {"messages"}
    assert TokenBudget(1).wants() == (Message, RunEnd)


def test_behind_a_gap_a_turn_counts_by_its_number_alone() -> None:
    """A turn that is only counted may be one that was numbered before the gap."""
    told = run().starts().asks("a", turn=0).says("b").asks("c", turn=1).asks("d", turn=2).ends()
    verdict = graded(TurnCount(2), [event for event in told if event.seq != 2])
    assert (verdict.outcome, verdict.evidence) == ("fail", "3 turns exceeds max of 2")
    plain = run().starts().asks("a").says("b").asks("c").asks("d").ends()
    assert graded(TurnCount(2), [event for event in plain if event.seq != 2]).outcome == "not_graded"
