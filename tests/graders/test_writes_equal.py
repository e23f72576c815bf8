"""`trajectory.writes_equal`: the successful writes are those of the reference."""

from typing import Any

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.writes_equal import ENTRIES, WritesEqual
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, early, holds

REFERENCE = [
    {"name": "find", "args": {"id": 1}},
    {"name": "pay", "args": {"order": "A", "amount": 58}},
    {"name": "pay", "args": {"order": "B", "amount": 7}},
]
A, B = {"order": "A", "amount": 58}, {"order": "B", "amount": 7}


def paid(*args: Any, story: Story | None = None) -> Story:
    story = run().starts() if story is None else story
    for one in args:
        story.calls("pay", one).returns("ok")
    return story


CASES = {
    "these two": Case(paid(A, B).ends(), "pass", "2 successful write(s), as in the reference"),
    "in another order": Case(paid(B, A).ends(), "pass", "2 successful write(s), as in the reference"),
    "reads do not count": Case(
        paid(A, story=run().starts().calls("look").returns("x")).calls("pay", B).returns("ok").ends(),
        "pass",
        "2 successful write(s), as in the reference",
    ),
    "numbers as text": Case(
        paid({"amount": "58.0", "order": "A"}, B).ends(), "pass", "2 successful write(s), as in the reference"
    ),
    "arguments as text": Case(
        paid('{"order":"A","amount":58}', B).ends(), "pass", "2 successful write(s), as in the reference"
    ),
    "a failed try before": Case(
        paid(A, B, story=run().starts().calls("pay", A).returns("Error: no").calls("pay", B).returns(1, is_error=True))
        .ends(),
        "pass",
        "2 successful write(s), as in the reference",
    ),
    "one is missing": Case(
        paid(A).ends(), "fail", 'pay (write 2 of the reference) did not succeed with {"order":"B","amount":7}'
    ),
    "one failed": Case(
        paid(B).calls("pay", A).returns("Error: no").ends(),
        "fail",
        'pay (write 1 of the reference) did not succeed with {"order":"A","amount":58}',
    ),
    "one has no result": Case(
        paid(B).calls("pay", A).ends(),
        "fail",
        'pay (write 1 of the reference) did not succeed with {"order":"A","amount":58}',
    ),
    "another amount": Case(
        paid({"order": "A", "amount": 85}, B).ends(),
        "fail",
        "pay (call 1) is not in the reference: argument amount: expected 58, got 85",
    ),
    "an argument too many": Case(
        paid({**A, "note": "x"}, B).ends(),
        "fail",
        'pay (call 1) is not in the reference: argument note: expected nothing, got "x"',
    ),
    "an argument too few": Case(
        paid({"order": "A"}).ends(),
        "fail",
        "pay (call 1) is not in the reference: argument amount: expected 58, got nothing",
    ),
    "once too often": Case(
        paid(A, B, B).ends(), "fail", "pay (call 3) is not in the reference: it is there less often"
    ),
    "arguments that break off": Case(
        paid('{"order": "A", "amo').ends(),
        "fail",
        "pay (call 1) is not in the reference: its arguments are no JSON object: they end or break off in the middle",
    ),
    "arguments that are a list": Case(
        paid(["A"]).ends(),
        "fail",
        "pay (call 1) is not in the reference: its arguments are a list, not an object",
    ),
    "an empty run": Case(
        run().starts().ends(), "fail", 'pay (write 1 of the reference) did not succeed with {"order":"A","amount":58}'
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(WritesEqual(["pay"], REFERENCE), case)


def test_a_write_that_the_reference_lacks_decides() -> None:
    assert deciding(WritesEqual(["pay"], REFERENCE), paid(A, A).says("x")) == 4
    assert early(WritesEqual(["pay"], REFERENCE), paid(A, B)) is None


def test_patterns_name_the_writes() -> None:
    story = run().starts().calls("orders.cancel").returns("ok").calls("orders.find").returns("x").ends()
    assert graded(WritesEqual(["*.cancel"], ["orders.cancel"]), story).outcome == "pass"
    assert graded(WritesEqual(["orders.*"], ["orders.cancel"]), story).outcome == "fail"


NOTHING = {
    "nothing was to be written, and nothing was": (run().starts().calls("look").returns("x"), "pass"),
    "something was": (paid(A), "fail"),
    "something failed": (run().starts().calls("pay", A).returns("Error: no"), "pass"),
}


@pytest.mark.parametrize(("story", "outcome"), NOTHING.values(), ids=list(NOTHING))
@pytest.mark.parametrize("reference", [[], [{"name": "find"}]])
def test_a_reference_without_writes_allows_none(story: Story, outcome: str, reference: list[Any]) -> None:
    assert graded(WritesEqual(["pay"], reference), [*story, *run().ends(seq=None, id="end")]).outcome == outcome


ORDER = {
    "in this order": (paid(A, B), "pass"),
    "in another": (paid(B, A), "fail"),
    "at once": (
        run().starts().calls("pay", B, step=1, call_id="b").calls("pay", A, step=1, call_id="a")
        .returns("ok", call_id="b").returns("ok", call_id="a"), "pass"
    ),
    "answered the other way round": (
        run().starts().calls("pay", A, call_id="a").calls("pay", B, call_id="b")
        .returns("ok", call_id="b").returns("ok", call_id="a"), "pass"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("story", "outcome"), ORDER.values(), ids=list(ORDER))
def test_the_order_counts_where_it_is_asked_for(story: Story, outcome: str) -> None:
    verdict = graded(WritesEqual(["pay"], REFERENCE, in_order=True), story.ends())
    assert verdict.outcome == outcome
    if outcome == "fail":
        text = "the writes are those of the reference in another order: pay should be number 1"
        assert verdict.evidence == text


@pytest.mark.parametrize(("steps", "outcome"), [((1, 1, 1), "pass"), ((1, 2, 3), "fail"), ((1, 1, 2), "fail")])
def test_calls_of_one_step_may_come_in_any_order(steps: tuple[int, ...], outcome: str) -> None:
    third = {"order": "C", "amount": 1}
    story = run().starts()
    for step, args in zip(steps, (third, A, B), strict=True):
        story.calls("pay", args, step=step, call_id=str(args["order"]))
    for args in (A, B, third):
        story.returns("ok", call_id=str(args["order"]))
    grader = WritesEqual(["pay"], [{"tool": "pay", "args": args} for args in (A, B, third)], in_order=True)
    assert graded(grader, story.ends()).outcome == outcome


def test_entries_of_one_tool_without_arguments_are_alike_in_any_order() -> None:
    grader = WritesEqual(["pay", "mail"], ["pay", "pay", "mail"], in_order=True)
    calls = run().starts().calls("pay", A).returns("ok").calls("pay", B).returns("ok").calls("mail").returns("ok")
    assert graded(grader, calls.ends()).outcome == "pass"
    calls = run().starts().calls("pay", A).returns("ok").calls("mail").returns("ok").calls("pay", B).returns("ok")
    assert graded(grader, calls.ends()).outcome == "fail"


def test_an_entry_without_arguments_takes_any_once_the_others_are_served() -> None:
    reference = ["pay", {"name": "pay", "args": A}]
    assert graded(WritesEqual(["pay"], reference), paid(A, B).ends()).outcome == "pass"
    assert graded(WritesEqual(["pay"], reference), paid(A, A).ends()).outcome == "pass"
    assert graded(WritesEqual(["pay"], reference), paid(B, B).ends()).outcome == "fail"


UNKNOWN = {
    "arguments that were not sent": (paid(UNSENT), "content_missing"),
    "arguments that were cut": (
        run().starts().calls("pay", '{"or', flags=("truncated",)).returns("ok"), "content_missing"
    ),
    "results that were not sent": (run().starts().calls("pay", A).returns(UNSENT), "content_missing"),
    "a result that was cut": (
        run().starts().calls("pay", A).returns("Er", flags=("truncated",)).calls("pay", B).returns("ok"), "truncated"
    ),
    "results without their calls": (run().starts().returns("ok", name="pay"), "unpaired"),
    "no record": (run().asks("x"), "record_unknown"),
}  # fmt: skip


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_verdict(story: Story, reason: str) -> None:
    verdict = graded(WritesEqual(["pay"], REFERENCE), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_a_gap_may_hide_a_write() -> None:
    events = [event for event in paid(A, B).ends() if event.seq not in (1, 2)]
    assert graded(WritesEqual(["pay"], REFERENCE), events).outcome == "not_graded"


REFERENCES: dict[str, tuple[Any, str, str]] = {
    "none": (None, "skipped", "no_reference"),
    "an entry without a tool": ([{"args": {}}], "not_graded", "bad_reference"),
    "an entry that is a number": ([7], "not_graded", "bad_reference"),
    "arguments that are a list": ([{"name": "pay", "args": [1]}], "not_graded", "bad_reference"),
    "broken JSON": ("[{", "not_graded", "bad_reference"),
    "a number": (7, "not_graded", "bad_reference"),
    "too many": (["pay"] * (ENTRIES + 1), "not_graded", "state_limit"),
    "one entry alone": ({"name": "pay", "args": A}, "pass", "matched"),
    "JSON text": ('[{"tool": "pay", "arguments": {"order": "A", "amount": 58}}]', "pass", "matched"),
    "a call of OpenAI's": (
        [{"type": "function", "function": {"name": "pay", "arguments": '{"order": "A", "amount": 58}'}}],
        "pass",
        "matched",
    ),
}


@pytest.mark.parametrize(("reference", "outcome", "reason"), REFERENCES.values(), ids=list(REFERENCES))
def test_whatever_the_reference_holds_raises_nothing(reference: Any, outcome: str, reason: str) -> None:
    grader = WritesEqual(["pay"], reference)
    verdict = graded(grader, paid(A).ends())
    assert (verdict.outcome, verdict.reason) == (outcome, reason)
    assert bool(grader.problems()) == (outcome == "not_graded")


@pytest.mark.parametrize(
    ("grader", "setting"),
    [
        (WritesEqual([]), "writes"),
        (WritesEqual([""]), "writes"),
        (WritesEqual(["x"], error_pattern="("), "error_pattern"),
    ],
)
def test_settings_that_cannot_work_are_refused(grader: WritesEqual, setting: str) -> None:
    assert [name for name, _ in grader.problems()] == [setting]


def test_a_reference_that_names_no_write_is_warned_of() -> None:
    assert [name for name, _ in WritesEqual(["x"], ["y"]).warnings()] == ["reference"]
    assert WritesEqual(["x"], []).warnings() == []
