"""`agentlasso.tool_called`: R40, R47, R48, R60."""

import pytest

from stream_graders.events import ToolCall
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.testing import graded, run
from tests.graders.cases import Case, deciding, holds

CASES = {
    "it is called": Case(run().starts().calls("refund").ends(), "pass", "refund was called."),
    "it is called among others": Case(
        run().starts().calls("find").calls("refund").calls("find").ends(), "pass", "refund was called."
    ),
    "it is called, whatever its arguments": Case(
        run().starts().calls("refund", {"n": 1}).ends(), "pass", "refund was called."
    ),
    "it is called and fails": Case(
        run().starts().calls("refund").returns("no", is_error=True).ends(), "pass", "refund was called."
    ),
    "other tools are called": Case(
        run().starts().calls("find").calls("login").calls("find").ends(),
        "fail",
        "refund was never called. The agent called: find, login.",
    ),
    "no tool is called": Case(run().starts().ends(), "fail", "refund was never called. The agent called no tools."),
    "the case differs": Case(
        run().starts().calls("Refund").ends(), "fail", "refund was never called. The agent called: Refund."
    ),
    "a tool of its namespace is called": Case(
        run().starts().calls("refund.issue").ends(), "fail", "refund was never called. The agent called: refund.issue."
    ),
    "it is only spoken of": Case(
        run().starts().says("I call refund").ends(), "fail", "refund was never called. The agent called no tools."
    ),
    "a result comes without its call": Case(
        run().starts().returns("ok", name="refund").ends(),
        "fail",
        "refund was never called. The agent called no tools.",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(ToolCalled("refund"), case)


def test_the_first_call_decides() -> None:
    assert deciding(ToolCalled("refund"), run().starts().calls("find").calls("refund").calls("refund")) == 2


def test_it_is_never_decided_early_that_it_is_not_called() -> None:
    assert deciding(ToolCalled("refund"), run().starts().calls("find").says("done")) is None


def test_many_and_long_names_are_cut() -> None:
    story = run().starts()
    for n in range(40):
        story.calls(f"tool-{n}-{'x' * 200}")
    evidence = graded(ToolCalled("refund"), story.ends()).evidence
    assert "tool-0-xxx" in evidence
    assert len(evidence) < 1_100


UNKNOWN = run().asks("hi").says("hello").ends()


def test_without_a_record_nothing_is_known_of_calls() -> None:
    assert graded(ToolCalled("refund"), UNKNOWN).reason == "record_unknown"
    assert graded(ToolCalled("refund"), UNKNOWN, missing_input="source").reason == "record_unknown"
    unreported = run().starts(reports=("messages", "end")).asks("hi").ends()
    assert graded(ToolCalled("refund"), unreported).reason == "record_unknown"


def test_any_tool_event_makes_a_record() -> None:
    assert graded(ToolCalled("refund"), run().calls("find").ends()).outcome == "fail"
    assert graded(ToolCalled("refund"), run().returns("x", name="find").ends()).outcome == "fail"


STATUS = {
    "it succeeds": (run().starts().calls("refund").returns("ok", is_error=False), "pass", "fail"),
    "it fails": (run().starts().calls("refund").returns("no", is_error=True), "fail", "pass"),
    "it does not say": (run().starts().calls("refund").returns("?"), "fail", "fail"),
    "it never answers": (run().starts().calls("refund"), "fail", "fail"),
    "another one succeeds": (run().starts().calls("find").returns("ok", is_error=False), "fail", "fail"),
    "the second try succeeds": (
        run().starts().calls("refund").returns("no", is_error=True).calls("refund").returns("ok", is_error=False),
        "pass",
        "pass",
    ),
    "the result has only an id": (
        run().starts().calls("refund").returns("ok", name=None, is_error=False),
        "pass",
        "fail",
    ),
    "a call without an id is answered": (
        run().starts().calls("refund", call_id=None).returns("ok", name=None, call_id=None, is_error=False),
        "pass",
        "fail",
    ),
}


@pytest.mark.parametrize(("story", "success", "error"), STATUS.values(), ids=list(STATUS))
def test_a_status_asks_for_a_result_that_says_so(story: object, success: str, error: str) -> None:
    events = [*story.ends()]  # type: ignore[attr-defined]  # it is a story
    assert graded(ToolCalled("refund", status="success"), events).outcome == success
    assert graded(ToolCalled("refund", status="error"), events).outcome == error


def test_the_result_decides_where_a_status_is_asked_for() -> None:
    story = run().starts().calls("refund").says("hm").returns("ok", is_error=False)
    assert deciding(ToolCalled("refund", status="success"), story) == 3


def test_a_result_that_may_be_its_own_leaves_it_open() -> None:
    story = run().starts().calls("refund", call_id=None).calls("find", call_id=None)
    story.returns("ok", name=None, call_id=None, is_error=False).ends()
    verdict = graded(ToolCalled("refund", status="success"), story)
    assert (verdict.outcome, verdict.reason) == ("not_graded", "content_missing")
    assert graded(ToolCalled("login", status="success"), story).outcome == "fail"  # It was not called at all.


def test_a_name_is_asked_for() -> None:
    assert [setting for setting, _ in ToolCalled("").problems()] == ["tool"]


def test_it_reads_no_more_than_it_needs() -> None:
    assert ToolCalled("refund").wants() == (ToolCall,)
    assert ToolCalled("refund").needs() == {"tools"}
    assert ToolCalled("refund", status="error").needs() == {"tools", "results"}
