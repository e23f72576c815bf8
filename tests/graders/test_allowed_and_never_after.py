"""`trajectory.allowed_tools` and `trajectory.never_after`: calls that must not be made, at all or any more."""

import pytest

from stream_graders.graders.trajectory.allowed_tools import AllowedTools
from stream_graders.graders.trajectory.never_after import NeverAfter
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, early, holds

ALLOWED = {
    "only these": Case(
        run().starts().calls("orders.find").calls("login").ends(), "pass", "no other tool was called; allowed: orders.*, login"
    ),
    "another": Case(
        run().starts().calls("login").calls("db.drop").ends(), "fail", "db.drop was called; allowed: orders.*, login"
    ),
    "another case": Case(run().starts().calls("Login").ends(), "fail", "Login was called; allowed: orders.*, login"),
    "a result is no call": Case(run().starts().returns("x", name="db.drop").ends(), "skipped", "no tool was called"),
    "no call": Case(run().starts().ends(), "skipped", "no tool was called"),
}  # fmt: skip


@pytest.mark.parametrize("case", ALLOWED.values(), ids=list(ALLOWED))
def test_allowed_tools(case: Case) -> None:
    holds(AllowedTools(["orders.*", "login"]), case)


def test_the_first_other_call_decides() -> None:
    assert deciding(AllowedTools(["a"]), run().starts().calls("a").calls("b").calls("c")) == 2


def test_what_was_called_stands_whatever_is_missing() -> None:
    events = [event for event in run().starts().calls("a").calls("b").ends() if event.seq != 1]
    assert graded(AllowedTools(["a"]), events).outcome == "fail"
    assert graded(AllowedTools(["*b"]), events).outcome == "not_graded"
    assert graded(AllowedTools(["a"]), run().asks("x").ends()).reason == "record_unknown"


def test_a_list_of_tools_is_asked_for() -> None:
    assert [name for name, _ in AllowedTools([]).problems()] == ["tools"]
    assert [name for name, _ in AllowedTools(["a", ""]).problems()] == ["tools"]
    assert [name for name, _ in AllowedTools(["a", "*"]).warnings()] == ["tools"]


FAIL = "change was called after close"
PASS = "change was not called after close"
NEVER = {
    "before": Case(run().starts().calls("change").calls("close").ends(), "pass", PASS),
    "after": Case(run().starts().calls("close").says("x").calls("change").ends(), "fail", FAIL),
    "before and after": Case(run().starts().calls("change").calls("close").calls("change").ends(), "fail", FAIL),
    "never": Case(run().starts().calls("close").calls("x").ends(), "pass", PASS),
    "never closed": Case(run().starts().calls("change").ends(), "skipped", "close was never called"),
    "in one step": Case(run().starts().calls("close", step=3).calls("change", step=3).ends(), "pass", PASS),
    "in one step, with a message of it between": Case(
        run().starts().calls("close", step=3).says("…").calls("change", step=3).ends(), "pass", PASS
    ),
    "in the next step": Case(run().starts().calls("close", step=3).calls("change", step=4).ends(), "fail", FAIL),
    "the same number after a user message": Case(
        run().starts().calls("close", step=0).asks("and?").calls("change", step=0).ends(), "fail", FAIL
    ),
    "a failed close is a call": Case(
        run().starts().calls("close").returns("no", is_error=True).calls("change").ends(), "fail", FAIL
    ),
    "an empty run": Case(run().starts().ends(), "skipped", "close was never called"),
}


@pytest.mark.parametrize("case", NEVER.values(), ids=list(NEVER))
def test_never_after(case: Case) -> None:
    holds(NeverAfter("change", after="close"), case)


def test_the_call_that_comes_too_late_decides() -> None:
    assert deciding(NeverAfter("change", after="close"), run().starts().calls("close").calls("x").calls("change")) == 3
    assert early(NeverAfter("change", after="close"), run().starts().calls("close").calls("x")) is None


LOSSES = {
    "between them": ("close x change", {2}, "fail"),
    "before them": ("x close change", {1}, "fail"),
    "that may hide the close": ("x change", {1}, "not_graded"),
    "that may hide the change": ("close x x", {2}, "not_graded"),
}


@pytest.mark.parametrize(("tools", "lost", "outcome"), LOSSES.values(), ids=list(LOSSES))
def test_what_a_gap_may_hide(tools: str, lost: set[int], outcome: str) -> None:
    story: Story = run().starts()
    for tool in tools.split():
        story.calls(tool)
    events = [event for event in story.ends() if event.seq not in lost]
    assert graded(NeverAfter("change", after="close"), events).outcome == outcome


@pytest.mark.parametrize(
    ("tool", "after", "settings"), [("", "x", ["tool"]), ("x", "", ["after"]), ("x", "x", ["after"])]
)
def test_settings_that_cannot_work_are_refused(tool: str, after: str, settings: list[str]) -> None:
    assert [setting for setting, _ in NeverAfter(tool, after).problems()] == settings
