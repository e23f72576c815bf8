"""`trajectory.responds_within`: how long a user waits, by the events' own times."""

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.responds_within import RespondsWithin
from stream_graders.testing import EPOCH, graded, run
from tests.graders.cases import Case, deciding, holds

SECOND = 1_000_000_000
CASES = {
    "in time": Case(run().asks("x").calls("f").says("y").ends(), "pass", "the slowest reply took 2 s of 2 s"),
    "too late": Case(
        run().asks("x").calls("f").returns("z").says("y").ends(), "fail", "a reply took 3 s, at most 2 s allowed"
    ),
    "the second one too late": Case(
        run().asks("x").says("y").asks("z").calls("f").calls("f").says("y").ends(),
        "fail",
        "a reply took 3 s, at most 2 s allowed",
    ),
    "from the first of two messages": Case(
        run().asks("x").asks("?").asks("?!").says("y").ends(), "fail", "a reply took 3 s, at most 2 s allowed"
    ),
    "the first of two replies counts": Case(
        run().asks("x").says("one moment").calls("f").says("y").ends(), "pass", "the slowest reply took 1 s of 2 s"
    ),
    "no reply": Case(run().asks("x").calls("f").ends(), "skipped", "no message of the user was answered"),
    "no user": Case(run().says("x").says("y").ends(), "skipped", "no message of the user was answered"),
    "an empty run": Case(run().starts().ends(), "skipped", "no message of the user was answered"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(RespondsWithin(2), case)


def test_the_late_reply_decides() -> None:
    assert deciding(RespondsWithin(0.5), run().asks("x").says("y").asks("z").says("y")) == 1


USELESS = {
    "the clock stands still": run(ts=EPOCH).asks("x").says("y"),
    "the clock goes back": run().asks("x", ts=EPOCH + 9 * SECOND).says("y", ts=EPOCH + SECOND),
    "two producers": [*run().asks("x"), *run(producer="p2").says("y", id="o", seq=0, ts=EPOCH + 90 * SECOND)],
}


@pytest.mark.parametrize("story", USELESS.values(), ids=list(USELESS))
def test_times_that_cannot_be_compared_say_nothing(story: object) -> None:
    verdict = graded(RespondsWithin(5), story)  # type: ignore[arg-type]  # events
    assert (verdict.outcome, verdict.reason) == ("not_graded", "not_measured")


def test_a_late_reply_is_late_whatever_else_cannot_be_measured() -> None:
    story = run().asks("x", ts=EPOCH).says("y", ts=EPOCH).asks("x").calls("f").says("y").ends()
    assert graded(RespondsWithin(1), story).outcome == "fail"


def test_a_gap_may_hide_an_earlier_reply() -> None:
    events = [event for event in run().starts().asks("x").says("y").says("z").ends() if event.seq != 2]
    assert graded(RespondsWithin(1.5), events).outcome == "not_graded"


def test_what_is_said_does_not_matter_but_that_it_is_reported() -> None:
    assert graded(RespondsWithin(2), run().asks(UNSENT).says(UNSENT).ends()).outcome == "pass"
    assert graded(RespondsWithin(2), run().starts(reports=("tools", "end")).ends()).reason == "content_missing"


def test_a_time_is_asked_for() -> None:
    assert [name for name, _ in RespondsWithin(0).problems()] == ["seconds"]
