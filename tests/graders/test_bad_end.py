"""`trajectory.bad_end`: how a run ends."""

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.bad_end import BadEnd
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, holds

ENDS = {
    "well": Case(run().asks("x").ends(), "pass", "the run ended with status ok"),
    "by a limit": Case(
        run().asks("x").ends(status="limit", reason="max_steps"), "fail", "the run ended with status limit (max_steps)"
    ),
    "in an error": Case(run().asks("x").ends(status="error"), "fail", "the run ended with status error"),
    "by a timeout": Case(run().asks("x").ends(status="timeout"), "fail", "the run ended with status timeout"),
    "cancelled": Case(run().asks("x").ends(status="cancelled"), "pass", "the run ended with status cancelled"),
    "handed off": Case(run().asks("x").ends(status="handoff"), "pass", "the run ended with status handoff"),
    "nobody says how": Case(run().asks("x").ends(status="unknown"), "not_graded", "the run does not say how it ended"),
    "not at all": Case(run().asks("x"), "not_graded", "the run does not say how it ended"),
    "an empty run": Case(run().starts().ends(), "pass", "the run ended with status ok"),
}


@pytest.mark.parametrize("case", ENDS.values(), ids=list(ENDS))
def test_how_a_run_ends(case: Case) -> None:
    holds(BadEnd(), case)


def test_other_statuses_may_be_bad() -> None:
    assert graded(BadEnd(["cancelled"]), run().asks("x").ends(status="cancelled")).outcome == "fail"
    assert graded(BadEnd(["cancelled"]), run().asks("x").ends(status="error")).outcome == "pass"


def test_a_reason_may_be_bad() -> None:
    story = run().asks("x").ends(status="unknown", reason="too_many_errors")
    assert graded(BadEnd(reasons=["too_many_*"]), story).outcome == "fail"
    assert graded(BadEnd(reasons=["max_*"]), story).outcome == "not_graded"


UNANSWERED = "the run ended without a reply to the user's last message"
REPLIES = {
    "a reply": (run().asks("x").says("y").ends(), "pass", "the run ended with status ok"),
    "none to the last message": (run().asks("x").says("y").asks("z").ends(), "fail", UNANSWERED),
    "an empty one": (run().asks("x").says(" ").ends(), "fail", UNANSWERED),
    "the run's output": (run().asks("x").ends(output="y"), "pass", "the run ended with status ok"),
    "none, and nobody says how it ended": (run().asks("x").ends(status="unknown"), "fail", UNANSWERED),
    "one that was not sent": (run().asks("x").says(UNSENT).ends(), "not_graded", "content was not sent"),
    "one that was cut": (run().asks("x").says("", flags=("truncated",)).ends(), "not_graded", "a text was cut"),
}


@pytest.mark.parametrize(("story", "outcome", "evidence"), REPLIES.values(), ids=list(REPLIES))
def test_an_end_without_a_reply(story: Story, outcome: str, evidence: str) -> None:
    verdict = graded(BadEnd(without_reply=True), story)
    assert verdict.outcome == outcome
    assert verdict.evidence.startswith(evidence)


def test_the_end_stands_whatever_is_missing() -> None:
    events = [event for event in run().starts().says("a").says("b").ends(status="limit") if event.seq != 1]
    assert graded(BadEnd(), events).outcome == "fail"
    assert graded(BadEnd(["cancelled"]), events).outcome == "pass"
    assert graded(BadEnd(["cancelled"], without_reply=True), events).outcome == "not_graded"


def test_something_must_be_bad() -> None:
    assert [name for name, _ in BadEnd([]).problems()] == ["statuses"]
    assert BadEnd([], without_reply=True).problems() == []
