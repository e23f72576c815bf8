"""`trajectory.arguments`: required arguments and the rules that hold of them."""

from typing import Any

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.arguments import Arguments
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, holds

GRADER = Arguments("pay", ["order", "to.name"], {"amount": {"maximum": 100}})
GOOD = {"order": "A", "to": {"name": "Jo"}, "amount": 58}
PASS = "every call of pay has valid arguments"


def paid(*args: Any) -> Story:
    story = run().starts()
    for one in args:
        story.calls("pay", one)
    return story


CASES = {
    "all is well": Case(paid(GOOD, GOOD).ends(), "pass", PASS),
    "without what need not be there": Case(paid({"order": "A", "to": {"name": "Jo"}}).ends(), "pass", PASS),
    "arguments as text": Case(paid('{"order":"A","to":{"name":"Jo"}}').ends(), "pass", PASS),
    "one is missing": Case(paid({"to": {"name": "Jo"}}).ends(), "fail", "pay: argument order is missing"),
    "one is missing inside": Case(paid({"order": "A", "to": {}}).ends(), "fail", "pay: argument to.name is missing"),
    "too much": Case(
        paid(GOOD, {**GOOD, "amount": 250}).ends(), "fail", "pay: argument amount: expected at most 100, got 250"
    ),
    "no number": Case(
        paid({**GOOD, "amount": "many"}).ends(), "fail", 'pay: argument amount: expected at most 100, got "many"'
    ),
    "no arguments": Case(paid(None).ends(), "fail", "pay: argument order is missing"),
    "arguments that break off": Case(
        paid('{"order": "A').ends(),
        "fail",
        "pay: its arguments are no JSON object: they end or break off in the middle",
    ),
    "arguments that are a list": Case(paid([GOOD]).ends(), "fail", "pay: its arguments are a list, not an object"),
    "arguments that are a number": Case(
        paid(7).ends(), "fail", "pay: its arguments are a single value, not an object"
    ),
    "another tool": Case(run().starts().calls("find").ends(), "skipped", "pay was never called"),
    "a result without its call": Case(run().starts().returns("x", name="pay").ends(), "skipped", "pay was never called"),
    "an empty run": Case(run().starts().ends(), "skipped", "pay was never called"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(GRADER, case)


RULES: dict[str, tuple[dict[str, Any], list[Any], list[Any]]] = {
    "string": ({"type": "string"}, ["a", ""], [1, None, True, ["a"]]),
    "number": ({"type": "number"}, [1, 1.5], ["1", True, None]),
    "integer": ({"type": "integer"}, [1, 1.0], [1.5, "1", True]),
    "boolean": ({"type": "boolean"}, [True, False], [1, "true", None]),
    "array": ({"type": "array"}, [[], [1]], [{}, "[]"]),
    "object": ({"type": "object"}, [{}], [[], "{}"]),
    "null": ({"type": "null"}, [None], [0, "", False]),
    "minimum": ({"minimum": 5}, [5, 5.5, "6"], [4.9, "4", None, "x", True]),
    "maximum": ({"maximum": 0.1}, [0.1, -3], [0.2, "1"]),
    "enum": ({"enum": ["a", 1]}, ["a", 1, 1.0, "1"], ["b", True, None]),
    "pattern": ({"pattern": "^[A-Z]+$"}, ["ABC"], ["abc", 7, None]),
    "pattern of a number": ({"pattern": "^[0-9]$"}, [7, "7"], [77]),
    "max_length": ({"max_length": 2}, ["ab", [1, 2], "ßß"], ["abc", [1, 2, 3], 7]),
    "two rules": ({"type": "string", "max_length": 2}, ["ab"], ["abc", [1]]),
}


@pytest.mark.parametrize(("rule", "good", "bad"), RULES.values(), ids=list(RULES))
def test_rules(rule: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    grader = Arguments("pay", rules={"x": rule})
    assert grader.problems() == []
    for value in good:
        assert graded(grader, paid({"x": value}).ends()).outcome == "pass", value
    for value in bad:
        assert graded(grader, paid({"x": value}).ends()).outcome == "fail", value


def test_each_entry_of_a_list_keeps_the_rule() -> None:
    grader = Arguments("pay", rules={"lines.n": {"maximum": 2}})
    assert graded(grader, paid({"lines": [{"n": 1}, {"n": 2}]}).ends()).outcome == "pass"
    assert graded(grader, paid({"lines": [{"n": 1}, {"n": 3}]}).ends()).outcome == "fail"
    assert graded(Arguments("pay", rules={"lines[0].n": {"maximum": 2}}), paid({"lines": [{"n": 1}, {"n": 3}]}).ends()).outcome == "pass"  # fmt: skip


def test_the_first_bad_call_decides_whatever_is_missing() -> None:
    assert deciding(GRADER, paid(GOOD, {}, {})) == 2
    events = [event for event in paid(GOOD, {}, GOOD).ends() if event.seq != 1]
    assert graded(GRADER, events).outcome == "fail"
    assert graded(GRADER, [event for event in paid(GOOD, {}, GOOD).ends() if event.seq != 2]).outcome == "not_graded"


UNKNOWN = {
    "arguments that were not sent": (paid(UNSENT), "content_missing"),
    "arguments that were cut": (run().starts().calls("pay", {}, flags=("truncated",)), "content_missing"),
    "no record": (run().asks("x"), "record_unknown"),
}


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_verdict(story: Story, reason: str) -> None:
    verdict = graded(GRADER, story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_evidence_points_at_the_call() -> None:
    assert [(p.seq, p.path) for p in graded(GRADER, paid(GOOD, {}).ends()).points] == [(2, "args")]


@pytest.mark.parametrize(
    ("grader", "setting", "told"),
    [
        (Arguments("", ["x"]), "tool", "name the tool"),
        (Arguments("x"), "rules", "give rules or required"),
        (Arguments("x", ["a..b"]), "required", "is not a path"),
        (Arguments("x", None, {"": {}}), "rules", "the path is empty"),
        (Arguments("x", None, {"a": {"max": 1}}), "rules", "a: there is no rule 'max'"),
        (Arguments("x", None, {"a": {"type": "int"}}), "rules", "a: there is no type 'int'"),
        (Arguments("x", None, {"a": {"minimum": "1"}}), "rules", "a: minimum should be a number"),
        (Arguments("x", None, {"a": {"max_length": True}}), "rules", "a: max_length should be a number"),
        (Arguments("x", None, {"a": {"enum": "b"}}), "rules", "a: enum should be a list"),
        (Arguments("x", None, {"a": {"pattern": 1}}), "rules", "a: pattern should be a text"),
        (Arguments("x", None, {"a": {"pattern": "("}}), "rules", "a: missing )"),
    ],
)
def test_settings_that_cannot_work_are_refused(grader: Arguments, setting: str, told: str) -> None:
    ((name, problem),) = grader.problems()
    assert name == setting
    assert told in problem
