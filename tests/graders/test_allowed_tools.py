"""`trajectory.allowed_tools`: calls that must not be made."""

import pytest

from stream_graders.graders.trajectory.allowed_tools import AllowedTools
from stream_graders.testing import graded, run
from tests.graders.cases import Case, deciding, holds

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
