"""`trajectory.tool_errors`: how many results are errors, and which share."""

from collections.abc import Iterable

import pytest

from stream_graders.events import UNSENT, Event
from stream_graders.graders.trajectory.tool_errors import ToolErrors
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, early, holds


def failing(errors: int, good: int = 0, tool: str = "find") -> Story:
    story = run().starts()
    for _ in range(good):
        story.calls(tool).returns("ok", is_error=False)
    for _ in range(errors):
        story.calls(tool).returns("no", is_error=True)
    return story


CASES = {
    "no error": Case(failing(0, 2).ends(), "pass", "0 of 2 tool results are errors"),
    "as many as allowed": Case(failing(1, 2).ends(), "pass", "1 of 3 tool results are errors"),
    "one too many": Case(failing(2, 1).ends(), "fail", "2 of 3 tool results are errors, at most 1 allowed"),
    "the text says so, twice": Case(
        run().starts().calls("f").returns("Error: no").calls("f").returns(" ERROR 7", is_error=False).ends(),
        "fail",
        "2 of 2 tool results are errors, at most 1 allowed",
    ),
    "the word stands elsewhere": Case(
        run().starts().calls("f").returns("no error").calls("f").returns("Errors: 0").calls("f").returns("x").ends(),
        "pass",
        "0 of 3 tool results are errors",
    ),
    "a result without its call counts": Case(
        run().starts().returns("no", name="a", is_error=True).returns("no", name="a", is_error=True).ends(),
        "fail",
        "2 of 2 tool results are errors, at most 1 allowed",
    ),
    "calls without results": Case(run().starts().calls("f").calls("f").ends(), "skipped", "no result came"),
    "an empty run": Case(run().starts().ends(), "skipped", "no result came"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(ToolErrors(max=1), case)


RATES = {
    "a quarter of four": (failing(1, 3), "pass"),
    "a third of three": (failing(1, 2), "fail"),
    "nothing": (run().starts(), "skipped"),
}


@pytest.mark.parametrize(("story", "outcome"), RATES.values(), ids=list(RATES))
def test_a_rate_is_judged_at_the_end(story: Story, outcome: str) -> None:
    assert graded(ToolErrors(max_rate=0.25), story.ends()).outcome == outcome
    assert early(ToolErrors(max_rate=0.25), story) is None


def test_a_rate_is_shown_in_percent() -> None:
    told = graded(ToolErrors(max_rate=0.25, tools=["find"]), failing(1, 2).ends()).evidence
    assert told == "1 of 3 tool results of find are errors (33.3%), at most 25.0% allowed"


def test_either_limit_fails_a_run() -> None:
    assert graded(ToolErrors(max=5, max_rate=0.1), failing(1, 1).ends()).outcome == "fail"
    assert graded(ToolErrors(max=1, max_rate=0.9), failing(2, 8).ends()).outcome == "fail"


def test_the_error_beyond_the_limit_decides() -> None:
    assert deciding(ToolErrors(max=1), failing(3, 1)) == 6


def test_only_results_of_the_named_tools_count() -> None:
    story = failing(2, 0, "orders.find").calls("pay").returns("ok").ends()
    assert graded(ToolErrors(max=0, tools=["pay"]), story).outcome == "pass"
    assert graded(ToolErrors(max=1, tools=["orders.*"]), story).outcome == "fail"
    assert graded(ToolErrors(max=0, tools=["x"]), story).outcome == "skipped"


def test_a_result_of_an_unknown_tool_leaves_it_open() -> None:
    story = run().starts().returns("no", name=None, call_id=None, is_error=True).ends()
    verdict = graded(ToolErrors(max=0, tools=["find"]), story)
    assert (verdict.outcome, verdict.reason) == ("not_graded", "unpaired")
    assert graded(ToolErrors(max=0), story).outcome == "fail"


UNKNOWN = {
    "a cut text that may be an error": (run().starts().calls("f").returns("Err", flags=("truncated",)), "truncated"),
    "a text that was not sent": (run().starts().calls("f").returns(UNSENT), "content_missing"),
    "no record of calls": (run().asks("x"), "record_unknown"),
    "results that are not reported": (run().starts(reports=("messages", "tools", "end")).calls("f"), "content_missing"),
}


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_pass(story: Story, reason: str) -> None:
    verdict = graded(ToolErrors(max=0), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_a_mark_needs_no_text() -> None:
    story = run().starts().calls("f").returns(UNSENT, is_error=True).calls("f").returns(UNSENT, is_error=False).ends()
    assert graded(ToolErrors(max=1, error_pattern=None), story).evidence == "1 of 2 tool results are errors"
    assert graded(ToolErrors(max=0), story).outcome == "fail"
    assert graded(ToolErrors(max=1), story).outcome == "not_graded"


def test_errors_that_were_seen_stand_whatever_is_missing() -> None:
    events: Iterable[Event] = [event for event in failing(2, 2).ends() if event.seq not in (1, 2)]
    assert graded(ToolErrors(max=1), events).outcome == "fail"
    assert graded(ToolErrors(max=2), events).outcome == "not_graded"
    assert graded(ToolErrors(max_rate=0.1), events).outcome == "not_graded"


def test_another_pattern_or_none() -> None:
    story = run().starts().calls("f").returns("FAILED: x").calls("f").returns("Error: x").ends()
    assert graded(ToolErrors(max=1, error_pattern="^FAILED"), story).evidence == "1 of 2 tool results are errors"
    assert graded(ToolErrors(max=0, error_pattern=None), story).outcome == "pass"


def test_evidence_points_at_the_first_three() -> None:
    points = graded(ToolErrors(max=3), failing(4).ends()).points
    assert [(point.seq, point.path, point.excerpt) for point in points] == [
        (2, "result", "no"),
        (4, "result", "no"),
        (6, "result", "no"),
    ]


@pytest.mark.parametrize(
    ("grader", "setting"),
    [
        (ToolErrors(), "max"),
        (ToolErrors(max=-1), "max"),
        (ToolErrors(max_rate=1.0), "max_rate"),
        (ToolErrors(max=1, error_pattern="(a"), "error_pattern"),
        (ToolErrors(max=1, error_pattern=""), "error_pattern"),
    ],
)
def test_settings_that_cannot_work_are_refused(grader: ToolErrors, setting: str) -> None:
    assert [name for name, _ in grader.problems()] == [setting]


def test_a_rate_is_shown_by_its_errors() -> None:
    verdict = graded(ToolErrors(max_rate=0.5), failing(2).ends())
    assert verdict.evidence == "2 of 2 tool results are errors (100.0%), at most 50.0% allowed"
    assert [point.path for point in verdict.points] == ["result", "result"]
