"""`trajectory.precedes`: one tool before the other, with steps (design 6, BUG-12)."""

import pytest

from stream_graders.graders.trajectory.precedes import Precedes
from stream_graders.suites import Check
from stream_graders.testing import graded, run
from tests.graders.cases import Case, deciding, early, holds

CASES = {
    "login, then refund": Case(
        run().starts().calls("login").calls("refund").ends(), "pass", "refund was called after login"
    ),
    "refund without login": Case(
        run().starts().calls("refund").ends(), "fail", "refund was called without an earlier login"
    ),
    "login too late": Case(
        run().starts().calls("refund").calls("login").ends(), "fail", "refund was called without an earlier login"
    ),
    "two refunds, a login between": Case(
        run().starts().calls("refund").calls("login").calls("refund").ends(),
        "fail",
        "refund was called without an earlier login",
    ),
    "two refunds after one login": Case(
        run().starts().calls("login").calls("refund").calls("refund").ends(), "pass", "refund was called after login"
    ),
    "no refund": Case(run().starts().calls("login").ends(), "skipped", "refund was never called"),
    "no call at all": Case(run().starts().asks("refund").ends(), "skipped", "refund was never called"),
    "a failed login is a call": Case(
        run().starts().calls("login").returns("no", is_error=True).calls("refund").ends(),
        "pass",
        "refund was called after login",
    ),
    "both in one step": Case(
        run().starts().calls("refund", step=4).calls("login", step=4).ends(), "pass", "refund was called after login"
    ),
    "both in one step, with a message of it between": Case(
        run().starts().calls("refund", step=4).says("…", step=4).calls("login", step=4).ends(),
        "pass",
        "refund was called after login",
    ),
    "a message without a step does not end it": Case(
        run().starts().calls("refund", step=4).says("…").calls("login", step=4).ends(),
        "pass",
        "refund was called after login",
    ),
    "the login is a step later": Case(
        run().starts().calls("refund", step=4).calls("login", step=5).ends(),
        "fail",
        "refund was called without an earlier login",
    ),
    "the same step number after a user message": Case(
        run().starts().calls("refund", step=0).asks("and?").calls("login", step=0).ends(),
        "fail",
        "refund was called without an earlier login",
    ),
    "another step between": Case(
        run().starts().calls("refund", step=4).calls("x", step=5).calls("login", step=4).ends(),
        "fail",
        "refund was called without an earlier login",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(Precedes("login", "refund"), case)


def test_patterns_stand_for_many_tools() -> None:
    grader = Precedes("auth.*", "payments.*")
    verdict = graded(grader, run().starts().calls("auth.sso").calls("payments.refund").ends())
    assert verdict.evidence == "payments.refund was called after auth.*"
    assert graded(grader, run().starts().calls("auth").calls("payments.refund").ends()).outcome == "fail"
    assert graded(grader, run().starts().calls("payments").ends()).outcome == "skipped"


@pytest.mark.parametrize("name", ["pay?", "pay[a]", "Pay."])
def test_only_the_star_stands_for_anything(name: str) -> None:
    assert graded(Precedes("x", f"{name}*"), run().starts().calls("payb").calls("paya").ends()).outcome == "skipped"
    assert graded(Precedes("x", f"{name}*"), run().starts().calls(f"{name}9").ends()).outcome == "fail"


DECIDING = {
    "the refund, where calls have no steps": (run().starts().calls("refund").calls("x"), 1),
    "the event that shows that the step is over": (
        run().starts().calls("refund", step=1).calls("x", step=1).calls("y", step=2),
        3,
    ),
    "the refund after a login": (run().starts().calls("login").says("ok").calls("refund").says("x"), 3),
    "the login in the step of the refund": (
        run().starts().calls("refund", step=1).calls("login", step=1).says("x"),
        2,
    ),
    "nothing, while the step goes on": (run().starts().calls("refund", step=1), None),
    "nothing, without a refund": (run().starts().calls("login"), None),
}


@pytest.mark.parametrize(("story", "seq"), DECIDING.values(), ids=list(DECIDING))
def test_which_event_decides(story: object, seq: int | None) -> None:
    assert deciding(Precedes("login", "refund"), story) == seq  # type: ignore[arg-type]  # a story


LOSSES = {
    "a gap before the login hides nothing but a refund": ("starts login refund", {0}, "not_graded"),
    "a gap between them hides nothing": ("starts login x refund", {2}, "pass"),
    "a gap before the refund may hide a login": ("starts x refund", {1}, "not_graded"),
    "a gap after the refund cannot": ("starts refund x x", {2}, "fail"),
    "a gap may hide a refund": ("starts x x", {1}, "not_graded"),
}


@pytest.mark.parametrize(("tools", "lost", "outcome"), LOSSES.values(), ids=list(LOSSES))
def test_what_a_gap_may_hide(tools: str, lost: set[int], outcome: str) -> None:
    story = run().starts()
    for tool in tools.split()[1:]:
        story.calls(tool)
    events = [event for event in story.ends() if event.seq not in lost]
    assert graded(Precedes("login", "refund"), events).outcome == outcome


def test_a_gap_in_the_step_of_the_refund_may_hide_the_login() -> None:
    story = run().starts().calls("refund", step=1).calls("login", step=1).says("done", step=2).ends()
    verdict = graded(Precedes("login", "refund"), [event for event in story if event.seq != 2])
    assert (verdict.outcome, verdict.reason) == ("not_graded", "incomplete")
    assert early(Precedes("login", "refund"), [event for event in story if event.seq != 2]) is None


def test_without_a_record_nothing_is_known() -> None:
    verdict = graded(Precedes("login", "refund"), run().says("x").ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "record_unknown")


def test_in_a_turn_only_its_calls_count() -> None:
    story = run().starts().asks("a").calls("login").asks("b").calls("refund").ends()
    assert graded(Check("c", Precedes("login", "refund"), "minor", turn=1), story).outcome == "fail"
    assert graded(Check("c", Precedes("login", "refund"), "minor", turn=0), story).outcome == "skipped"


@pytest.mark.parametrize(
    ("first", "then", "settings"),
    [("", "x", ["first"]), ("x", "", ["then"]), ("", "", ["first", "then"]), ("x", "x", ["then"])],
)
def test_settings_that_cannot_work_are_refused(first: str, then: str, settings: list[str]) -> None:
    assert [setting for setting, _ in Precedes(first, then).problems()] == settings
