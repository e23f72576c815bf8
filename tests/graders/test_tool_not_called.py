"""`agentlasso.tool_not_called`: R41, R47, R48, R60."""

import pytest

from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.suites import Check
from stream_graders.testing import graded, run
from tests.graders.cases import Case, deciding, holds

CASES = {
    "it is not called": Case(
        run().starts().calls("find").ends(), "pass", "drop was never called. The agent called: find."
    ),
    "no tool is called": Case(run().starts().ends(), "pass", "drop was never called. The agent called no tools."),
    "it is called": Case(
        run().starts().calls("find").calls("drop").calls("other").ends(),
        "fail",
        "drop was called, and must not be. The agent called: find, drop.",
    ),
    "it is called and denied": Case(
        run().starts().calls("drop").returns("denied", is_error=True).ends(),
        "fail",
        "drop was called, and must not be. The agent called: drop.",
    ),
    "it is only spoken of": Case(
        run().starts().says("drop").ends(), "pass", "drop was never called. The agent called no tools."
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(ToolNotCalled("drop"), case)


def test_the_first_call_decides() -> None:
    assert deciding(ToolNotCalled("drop"), run().starts().calls("drop").calls("drop")) == 1


def test_a_pass_comes_only_at_the_end() -> None:
    assert deciding(ToolNotCalled("drop"), run().starts().calls("find").says("done").ends_turn()) is None


def test_silence_of_the_record_is_no_pass() -> None:  # R55 by analogy; unknown is not empty
    assert graded(ToolNotCalled("drop"), run().asks("hi").says("hello").ends()).reason == "record_unknown"
    assert graded(ToolNotCalled("drop"), run().starts(reports=("messages", "end")).ends()).reason == "record_unknown"


def test_in_an_incomplete_run_it_cannot_pass_and_can_fail() -> None:
    story = list(run().starts().asks("a").calls("drop").says("done").ends())
    assert graded(ToolNotCalled("drop"), [*story[:2], *story[3:]]).reason == "incomplete"
    assert graded(ToolNotCalled("drop"), [story[0], *story[2:]]).outcome == "fail"


def test_a_turn_without_events_is_no_pass() -> None:
    story = run().starts().asks("a").says("b").ends()
    verdict = graded(Check("check", ToolNotCalled("drop"), "critical", turn=4), story)
    assert (verdict.outcome, verdict.reason, verdict.evidence) == ("fail", "turn_missing", "turn 4 has no events")


def test_a_name_is_asked_for() -> None:
    assert [setting for setting, _ in ToolNotCalled("").problems()] == ["tool"]


def test_a_called_name_is_shown_up_to_its_hundredth_letter() -> None:
    story = run().starts().calls("a" * 100).calls("b" * 101).calls("a" * 100).ends()
    told = graded(ToolNotCalled("find"), story).evidence
    assert told == f"find was never called. The agent called: {'a' * 100}, {'b' * 99}…."
    assert graded(ToolNotCalled("find"), run().starts().ends()).evidence.endswith("The agent called no tools.")
