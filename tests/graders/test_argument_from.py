"""`trajectory.argument_from`: an argument comes from an earlier result."""

from typing import Any

import pytest

from stream_graders.events import UNSENT, ToolResult
from stream_graders.graders.trajectory.argument_from import VALUES, ArgumentFrom
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, holds

GRADER = ArgumentFrom("refund", "order", "find", "orders.id")
PASS = "every order of refund came from an earlier result of find"
WANTED = "refund: argument order: expected a value at orders.id of an earlier result of find, got"


def found(*ids: Any, story: Story | None = None) -> Story:
    story = run().starts() if story is None else story
    return story.calls("find").returns({"orders": [{"id": one} for one in ids]})


CASES = {
    "it was found": Case(found("A", "B").calls("refund", {"order": "B"}).ends(), "pass", PASS),
    "as text": Case(
        run().starts().calls("find").returns('{"orders": [{"id": "A"}]}').calls("refund", {"order": "A"}).ends(),
        "pass",
        PASS,
    ),
    "a number as text": Case(found(12).calls("refund", {"order": "12"}).ends(), "pass", PASS),
    "all of a list": Case(found("A", "B").calls("refund", {"order": ["B", "A"]}).ends(), "pass", PASS),
    "one of a list was not": Case(
        found("A").calls("refund", {"order": ["A", "C"]}).ends(), "fail", f'{WANTED} "C"'
    ),
    "another": Case(found("A").calls("refund", {"order": "a"}).ends(), "fail", f'{WANTED} "a"'),
    "found too late": Case(found("A", story=run().starts().calls("refund", {"order": "A"})).ends(), "fail", f'{WANTED} "A"'),
    "nothing was found": Case(run().starts().calls("refund", {"order": "A"}).ends(), "fail", f'{WANTED} "A"'),
    "it stands elsewhere in the result": Case(
        run().starts().calls("find").returns({"id": "A"}).calls("refund", {"order": "A"}).ends(), "fail", f'{WANTED} "A"'
    ),
    "another tool returned it": Case(
        run().starts().calls("look").returns({"orders": [{"id": "A"}]}).calls("refund", {"order": "A"}).ends(),
        "fail",
        f'{WANTED} "A"',
    ),
    "no argument": Case(found("A").calls("refund", {}).ends(), "fail", f"{WANTED} nothing"),
    "arguments that break off": Case(
        found("A").calls("refund", '{"order": "A').ends(),
        "fail",
        "refund: its arguments are no JSON object: they end or break off in the middle",
    ),
    "arguments that are a list": Case(
        found("A").calls("refund", ["A"]).ends(), "fail", "refund: its arguments are a list, not an object"
    ),
    "no refund": Case(found("A").ends(), "skipped", "refund was never called"),
    "an empty run": Case(run().starts().ends(), "skipped", "refund was never called"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(GRADER, case)


def test_the_call_decides() -> None:
    assert deciding(GRADER, found("A").calls("refund", {"order": "A"}).calls("refund", {"order": "B"}).says("x")) == 4


CALL = {"order": "B"}
UNKNOWN = {
    "arguments that were not sent": (found("A").calls("refund", UNSENT), "content_missing"),
    "a result that was not sent": (run().starts().calls("find").returns(UNSENT).calls("refund", CALL), "content_missing"),
    "a result that was cut": (
        run().starts().calls("find").returns('{"orders": [', flags=("truncated",)).calls("refund", CALL), "truncated"
    ),
    "a result of nobody knows what": (run().starts().returns({}, name=None).calls("refund", CALL), "unpaired"),
    "too many values": (found(*range(VALUES + 1)).calls("refund", CALL), "state_limit"),
    "no record": (run().asks("x"), "record_unknown"),
}  # fmt: skip


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_verdict(story: Story, reason: str) -> None:
    verdict = graded(GRADER, story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_a_gap_may_hide_the_result() -> None:
    story = found("A").calls("refund", {"order": "B"}).ends()
    assert graded(GRADER, [event for event in story if event.seq not in (1, 2)]).outcome == "not_graded"
    late = found("A").calls("refund", {"order": "B"}).says("x").says("y").ends()
    assert graded(GRADER, [event for event in late if event.seq != 4]).outcome == "fail"


@pytest.mark.parametrize(
    ("settings", "name"),
    [(("", "a", "b", "c"), "tool"), (("a", "", "b", "c"), "argument"), (("a", "b", "", "c"), "source"), (("a", "b", "c", "["), "path")],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(settings: tuple[str, str, str, str], name: str) -> None:
    assert [setting for setting, _ in ArgumentFrom(*settings).problems()] == [name]


def test_a_result_that_was_sent_as_text_alone_is_read() -> None:
    story = run().starts().calls("find", call_id="f")
    story.adds(ToolResult, name="find", call_id="f", result_raw='{"orders": [{"id": "A"}]}')
    assert graded(GRADER, story.calls("refund", {"order": "A"}).ends()).outcome == "pass"
