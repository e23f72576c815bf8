"""`trajectory.never_after`: calls that must not be made any more."""

import pytest

from stream_graders.graders.trajectory.never_after import NeverAfter
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, early, holds

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
