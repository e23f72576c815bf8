"""`agentlasso.tool_order`: R42, R48, R60."""

import pytest

from stream_graders.graders.agentlasso.tool_order import ToolOrder
from stream_graders.testing import graded, run
from tests.graders.cases import Case, deciding, holds

TWO = "expected: find, refund; called: "

CASES = {
    "in order": Case(run().starts().calls("find").calls("refund").ends(), "pass", TWO + "find, refund"),
    "with others between": Case(
        run().starts().calls("a").calls("find").calls("b").calls("refund").calls("c").ends(),
        "pass",
        TWO + "a, find, b, refund",
    ),
    "the other way round": Case(
        run().starts().calls("refund").calls("find").ends(),
        "fail",
        "refund was not called after find. " + TWO + "refund, find",
    ),
    "round, and once more in order": Case(
        run().starts().calls("refund").calls("find").calls("refund").ends(), "pass", TWO + "refund, find, refund"
    ),
    "only the first": Case(
        run().starts().calls("find").ends(), "fail", "refund was not called after find. " + TWO + "find"
    ),
    "only the second": Case(run().starts().calls("refund").ends(), "fail", "find was never called. " + TWO + "refund"),
    "none": Case(run().starts().ends(), "fail", "find was never called. " + TWO + "none"),
    "both in one step, in the record's order": Case(
        run().starts().calls("find", step=1).calls("refund", step=1).ends(), "pass", TWO + "find, refund"
    ),
    "both in one step, the other way round": Case(
        run().starts().calls("refund", step=1).calls("find", step=1).ends(),
        "fail",
        "refund was not called after find. " + TWO + "refund, find",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(ToolOrder(["find", "refund"]), case)


def test_a_tool_named_twice_needs_two_calls() -> None:
    grader = ToolOrder(["find", "find"])
    assert graded(grader, run().starts().calls("find").ends()).outcome == "fail"
    assert graded(grader, run().starts().calls("find").calls("find").ends()).outcome == "pass"


def test_one_name_means_called() -> None:
    assert graded(ToolOrder(["find"]), run().starts().calls("a").calls("find").ends()).outcome == "pass"


def test_the_last_call_of_the_order_decides() -> None:
    story = run().starts().calls("find").calls("x").calls("refund").calls("find")
    grader = ToolOrder(["find", "refund"])
    assert deciding(grader, story) == 3
    assert [point.seq for point in graded(grader, story.ends()).points] == [1, 3]


def test_it_is_never_decided_early_that_they_are_out_of_order() -> None:
    assert deciding(ToolOrder(["find", "refund"]), run().starts().calls("refund").calls("find")) is None


def test_the_last_three_calls_are_evidence_and_the_rest_is_counted() -> None:
    story = run().starts()
    for n in range(50):
        story.calls(f"t{n}")
    verdict = graded(ToolOrder([f"t{n}" for n in range(50)]), story.ends())
    assert [point.seq for point in verdict.points] == [48, 49, 50]
    assert verdict.evidence.endswith("t23, … (26 more)")


def test_a_name_is_shown_up_to_its_hundredth_letter() -> None:
    story = run().starts().calls("a" * 100).calls("b" * 101).ends()
    told = graded(ToolOrder(["find"]), story).evidence
    assert told == f"find was never called. expected: find; called: {'a' * 100}, {'b' * 99}…"


def test_what_was_not_called_is_told_with_what_came_before_it() -> None:
    story = run().starts().calls("find").ends()
    told = graded(ToolOrder(["find", "refund", "mail"]), story).evidence
    assert told == "refund was not called after find. expected: find, refund, mail; called: find"
    assert graded(ToolOrder(["find"]), run().starts().ends()).evidence.endswith("called: none")


def test_what_is_seen_out_of_a_gap_stands_and_what_is_not_is_open() -> None:
    story = list(run().starts().calls("find").calls("x").calls("refund").ends())
    grader = ToolOrder(["find", "refund"])
    assert graded(grader, [*story[:2], *story[3:]]).outcome == "pass"
    assert graded(grader, [*story[:3], *story[4:]]).reason == "incomplete"


def test_without_a_record_nothing_is_known() -> None:
    assert graded(ToolOrder(["find"]), run().says("x").ends()).reason == "record_unknown"


@pytest.mark.parametrize("tools", [[], ["a", ""], ["a"] * 101])
def test_lists_that_cannot_work_are_refused(tools: list[str]) -> None:
    assert [setting for setting, _ in ToolOrder(tools).problems()] == ["tools"]
