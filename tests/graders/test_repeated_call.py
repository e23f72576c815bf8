"""`trajectory.repeated_call`: the same call with the same result, again and again."""

from copy import deepcopy
from typing import Any

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.repeated_call import CALLS, RepeatedCall
from stream_graders.grading import RunFacts
from stream_graders.testing import Story, graded, run
from stream_graders.trajectory import Course
from tests.graders.cases import Case, deciding, holds


def told(*calls: tuple[Any, Any], story: Story | None = None) -> Story:
    """Each call is its arguments and its result."""
    story = run().starts() if story is None else story
    for args, result in calls:
        story.calls("find", args).returns(result)
    return story


FAIL = "find was called 3 times with the same arguments and the same result"
PASS = "no call was made 3 times with the same arguments and the same result"
CASES = {
    "three times the same": Case(told((1, "a"), (1, "a"), (1, "a")).ends(), "fail", FAIL),
    "three times, others between": Case(told((1, "a"), (2, "a"), (1, "a"), (2, "a"), (1, "a")).ends(), "fail", FAIL),
    "the order of the arguments is no difference": Case(
        told(({"a": 1, "b": 2}, "x"), ({"b": 2, "a": 1}, "x"), ('{"b": 2, "a": 1}', "x")).ends(), "fail", FAIL
    ),
    "twice": Case(told((1, "a"), (1, "a")).ends(), "pass", PASS),
    "other arguments": Case(told(({"n": 1}, "a"), ({"n": "1"}, "a"), ({"n": 2}, "a")).ends(), "pass", PASS),
    "other results": Case(told((1, "a"), (1, "b"), (1, "c")).ends(), "pass", PASS),
    "a call without a result is none": Case(told((1, "a"), (1, "a")).calls("find", 1).ends(), "pass", PASS),
    "broken arguments are arguments": Case(told(('{"a', "x"), ('{"a', "x"), ('{"a', "x")).ends(), "fail", FAIL),
    "a list is too": Case(told(([1], "x"), ([1], "x"), ([1], "x")).ends(), "fail", FAIL),
    "no call": Case(run().starts().asks("x").ends(), "skipped", "no call that counts was made"),
    "an empty run": Case(run().starts().ends(), "skipped", "no call that counts was made"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(RepeatedCall(), case)


def test_the_third_result_decides() -> None:
    assert deciding(RepeatedCall(), told((1, "a"), (1, "a"), (1, "a"), (1, "a"))) == 6


WRITES = {
    "a write between": (told((1, "a"), (1, "a")).calls("change").returns("ok"), "pass"),
    "a failed write between": (told((1, "a"), (1, "a")).calls("change").returns("Error: no"), "fail"),
    "a read between": (told((1, "a"), (1, "a")).calls("look").returns("ok"), "fail"),
}


@pytest.mark.parametrize(("story", "outcome"), WRITES.values(), ids=list(WRITES))
def test_a_successful_write_begins_the_count_anew(story: Story, outcome: str) -> None:
    assert graded(RepeatedCall(writes=["change*"]), told((1, "a"), story=deepcopy(story)).ends()).outcome == outcome


def test_tools_that_ask_again_on_purpose_are_exempt() -> None:
    story = told((1, "wait"), (1, "wait"), (1, "wait")).ends()
    assert graded(RepeatedCall(exempt=["fi*"]), story).outcome == "skipped"
    assert graded(RepeatedCall(exempt=["x"]), story).outcome == "fail"


UNKNOWN = {
    "arguments that were not sent": (told((UNSENT, "a"), (UNSENT, "a"), (UNSENT, "a")), "content_missing"),
    "results that were not sent": (told((1, UNSENT), (1, UNSENT), (1, UNSENT)), "content_missing"),
    "results without their calls": (run().starts().returns("a", name="find").returns("a", name="find"), "unpaired"),
    "no record": (run().asks("x"), "record_unknown"),
}


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_pass(story: Story, reason: str) -> None:
    verdict = graded(RepeatedCall(), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_cut_results_are_not_compared() -> None:
    story = run().starts()
    for _ in range(3):
        story.calls("find").returns("the beginn", flags=("truncated",))
    verdict = graded(RepeatedCall(), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "truncated")


def test_a_gap_may_hide_a_write() -> None:
    events = [event for event in told((1, "a"), (1, "a"), (2, "b"), (1, "a")).ends() if event.seq not in (5, 6)]
    assert graded(RepeatedCall(), events).outcome == "not_graded"


def test_after_too_many_different_calls_it_does_not_pass() -> None:
    story = told(*((n, "a") for n in range(CALLS + 1)))
    verdict = graded(RepeatedCall(), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "state_limit")
    assert verdict.evidence == f"1 earlier calls had to be forgotten; of the others {PASS}"


def test_it_forgets_what_a_write_made_old() -> None:
    grader, course = RepeatedCall(writes=["change"]).fresh(), Course()
    for event in told(*((n, "a") for n in range(50))).calls("change").returns("ok"):
        if type(event) in grader.wants():
            grader.update(course.read(event, None))
    assert grader.size() == 0
    assert grader.finding(RunFacts()).outcome == "pass"


@pytest.mark.parametrize(
    ("grader", "setting"), [(RepeatedCall(times=1), "times"), (RepeatedCall(error_pattern="("), "error_pattern")]
)
def test_settings_that_cannot_work_are_refused(grader: RepeatedCall, setting: str) -> None:
    assert [name for name, _ in grader.problems()] == [setting]
