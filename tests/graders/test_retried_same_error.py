"""`trajectory.retried_same_error`: what failed is tried again at once, without a change."""

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.retried_same_error import RetriedSameError
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, holds

ERROR = "Error: no order 7"
FAIL = f'find was called again without a change after it failed, and failed alike: "{ERROR}"'
PASS = "no call was made again at once and failed alike"


def failed(args: object = 7, error: object = ERROR, story: Story | None = None, **body: object) -> Story:
    return (run().starts() if story is None else story).calls("find", args, **body).returns(error)


CASES = {
    "the same call, the same error": Case(failed(story=failed()).ends(), "fail", FAIL),
    "words between": Case(failed(story=failed().says("again").asks("yes")).ends(), "fail", FAIL),
    "marked, not said": Case(
        run().starts().calls("find").returns("no", is_error=True).calls("find").returns("no", is_error=True).ends(),
        "fail",
        'find was called again without a change after it failed, and failed alike: "no"',
    ),
    "other arguments": Case(failed(8, story=failed()).ends(), "pass", PASS),
    "another error": Case(failed(7, "Error: locked", story=failed()).ends(), "pass", PASS),
    "it goes the second time": Case(failed(7, "found", story=failed()).ends(), "pass", PASS),
    "another call between": Case(failed(story=failed().calls("look").returns("x")).ends(), "pass", PASS),
    "another call between in the step of the second": Case(
        failed(step=2, story=failed(step=1).calls("look", step=2)).ends(), "fail", FAIL
    ),
    "two at once": Case(
        run()
        .starts()
        .calls("find", 7, call_id="a")
        .calls("find", 7, call_id="b")
        .returns(ERROR, call_id="a")
        .returns(ERROR, call_id="b")
        .ends(),
        "pass",
        PASS,
    ),
    "one failure": Case(failed().ends(), "pass", PASS),
    "no failure": Case(failed(7, "found").ends(), "skipped", "no call failed"),
    "an empty run": Case(run().starts().ends(), "skipped", "no call failed"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(RetriedSameError(), case)


def test_the_second_failure_decides() -> None:
    assert deciding(RetriedSameError(), failed(story=failed(story=failed()))) == 4


@pytest.mark.parametrize(
    "error",
    ["Error: 429", "Error: HTTP 503", "error: status code: 500", "Error: rate limit", "Error: timed out",
     "Error: request timeout", "Error: temporarily unavailable", "Error: too many requests"],
)  # fmt: skip
def test_what_may_be_gone_at_the_next_try_is_left_out(error: str) -> None:
    assert graded(RetriedSameError(), failed(7, error, story=failed(7, error)).ends()).outcome == "pass"
    assert graded(RetriedSameError(transient=None), failed(7, error, story=failed(7, error)).ends()).outcome == "fail"


@pytest.mark.parametrize("error", ["Error: order 503 is closed", "Error: at most 500", "Error: no time slot"])
def test_a_number_alone_is_not_transient(error: str) -> None:
    assert graded(RetriedSameError(), failed(7, error, story=failed(7, error)).ends()).outcome == "fail"


UNKNOWN = {
    "arguments that were not sent": (failed(UNSENT, story=failed(UNSENT)), "content_missing"),
    "results without their calls": (run().starts().returns(ERROR, name="find"), "unpaired"),
    "texts that were not sent": (failed(7, UNSENT, story=failed(7, UNSENT)), "content_missing"),
    "no record": (run().asks("x"), "record_unknown"),
}


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_pass(story: Story, reason: str) -> None:
    verdict = graded(RetriedSameError(), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_a_gap_may_hide_a_call_between() -> None:
    events = [e for e in failed(story=failed().calls("x").returns("y")).ends() if e.seq not in (3, 4)]
    assert graded(RetriedSameError(), events).outcome == "not_graded"


@pytest.mark.parametrize(
    ("grader", "setting"),
    [
        (RetriedSameError(transient="("), "transient"),
        (RetriedSameError(transient=""), "transient"),
        (RetriedSameError(error_pattern="("), "error_pattern"),
    ],
)
def test_settings_that_cannot_work_are_refused(grader: RetriedSameError, setting: str) -> None:
    assert [name for name, _ in grader.problems()] == [setting]
