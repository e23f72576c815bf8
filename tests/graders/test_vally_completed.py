"""`vally.completed` and `vally.exit_success`: is there a reply, and did the run end well?"""

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.vally.completed import Completed
from stream_graders.graders.vally.exit_success import ExitSuccess
from stream_graders.suites import Check
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, holds

WELL, SUCCESS, SILENT = (
    "Agent session completed successfully",
    "Agent completed successfully",
    "Agent produced no output",
)

CASES: dict[str, tuple[Story, str | None, bool]] = {
    "a reply and a good end": (run().starts().says("done").ends(), None, True),
    "a reply, and what the end is nobody knows": (run().starts().says("done").ends(status="unknown"), None, True),
    "handed over": (run().starts().says("done").ends(status="handoff"), None, True),
    "a reply before the last message": (run().starts().says("done").says("").ends(), None, True),
    "only the end reports it": (run().starts().says("").ends(output="done"), None, True),
    "a tool failed": (run().starts().calls("t").returns(is_error=True).says("sorry").ends(), None, True),
    "an empty reply": (run().starts().says("").ends(), SILENT, False),
    "only the user speaks": (run().starts().asks("x").ends(), f"{SILENT}: the run reported no reply", False),
    "an error": (
        run().starts().says("done").ends(status="error"),
        "1 error event(s) in trajectory: the run ended with status error",
        True,
    ),
    "cut off": (
        run().starts().says("done").ends(status="timeout"),
        "1 error event(s) in trajectory: the run ended with status timeout",
        True,
    ),
    "an error that the end carries": (
        run().starts().says("done").ends(error={"message": "x"}),
        "1 error event(s) in trajectory: the run ended with status ok",
        True,
    ),
}


@pytest.mark.parametrize(("story", "wrong", "replied"), CASES.values(), ids=list(CASES))
def test_verdict(story: Story, wrong: str | None, replied: bool) -> None:
    holds(Completed(), Case(story, "fail" if wrong else "pass", wrong or WELL))
    holds(ExitSuccess(), Case(story, "pass" if replied else "fail", SUCCESS if replied else str(wrong)))


def test_a_reply_is_known_at_its_first_text_and_a_good_end_at_the_end() -> None:
    told = run().starts().says("").says("done").says("x")
    assert (deciding(ExitSuccess(), told), deciding(Completed(), told)) == (2, None)
    assert deciding(Completed(), told.ends(status="error")) == 4


UNKNOWN = {
    "content that was not sent": (run().starts().says(UNSENT).ends(), "content_missing"),
    "messages that are not reported": (run().starts(reports=("tools", "end")).ends(), "content_missing"),
    "a text that was cut to nothing": (run().starts().says("", flags=("truncated",)).ends(), "truncated"),
}


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_a_reply_that_nobody_heard_is_not_graded(story: Story, reason: str) -> None:
    for grader in (Completed(), ExitSuccess()):
        assert graded(grader, story).reason == reason
    assert graded(Completed(), [*story.events[:-1], *run().ends(status="error", seq=2, last_seq=2)]).outcome == "fail"


def test_what_is_missing_takes_no_reply_back_and_no_end() -> None:
    story = run().starts().says("done").asks("x").asks("y").ends()
    rest = [event for event in story if event.seq != 2]
    assert [graded(grader, rest).outcome for grader in (Completed(), ExitSuccess())] == ["pass", "pass"]
    rest = [event for event in story if event.seq != 1]
    assert [graded(grader, rest).reason for grader in (Completed(), ExitSuccess())] == ["incomplete", "incomplete"]


def test_a_turn_has_no_end_of_the_run() -> None:
    story = run().starts().asks("a").says("b").asks("c").ends(status="error")
    assert graded(Check("c", Completed(), "minor", turn=0), story).outcome == "pass"
    assert graded(Check("c", Completed(), "minor", turn=1), story).evidence == f"{SILENT}: the run reported no reply"


def test_the_reply_or_the_end_is_evidence() -> None:
    (point,) = graded(Completed(), run().starts().says("done").ends()).points
    assert (point.seq, point.path, point.excerpt) == (1, "content", "done")
    (point,) = graded(Completed(), run().starts().says("done").ends(status="error")).points
    assert (point.seq, point.path) == (2, "status")


def test_a_reply_that_the_end_reports_is_shown_there() -> None:
    (point,) = graded(Completed(), run().starts().ends(output="done")).points
    assert (point.seq, point.path, point.excerpt) == (1, "output", "done")
