"""`trajectory.bad_end` and `trajectory.no_reply`: how a run ends, and whether the user got an answer."""

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.bad_end import BadEnd
from stream_graders.graders.trajectory.no_reply import NoReply
from stream_graders.suites import Check
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, early, holds

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


NEVER = "the user said something, and the agent never replied"
CASES = {
    "a reply": Case(run().asks("x").says("y").ends(), "pass", "the agent replied"),
    "a reply to the first of two": Case(run().asks("x").says("y").asks("thanks").ends(), "pass", "the agent replied"),
    "only before it": Case(run().says("hello").asks("x").ends(), "fail", NEVER),
    "only calls": Case(run().asks("x").calls("f").returns("y").ends(), "fail", NEVER),
    "an empty reply": Case(run().asks("x").says("").says(" \n").ends(), "fail", NEVER),
    "the run's output": Case(run().asks("x").ends(output="y"), "pass", "the agent replied"),
    "no user message": Case(run().says("hello").ends(), "skipped", "the user said nothing"),
    "an empty run": Case(run().starts().ends(), "skipped", "the user said nothing"),
    "handed off": Case(
        run().asks("x").ends(status="handoff"), "skipped", "handed off: the run ended with status handoff"
    ),
    "handed off, with a reply": Case(run().asks("x").says("y").ends(status="handoff"), "pass", "the agent replied"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_whether_the_user_got_an_answer(case: Case) -> None:
    holds(NoReply(), case)


def test_an_open_run_may_still_get_a_reply() -> None:
    verdict = graded(NoReply(), run().starts().asks("x").ends(last_seq=9))
    assert (verdict.outcome, verdict.reason) == ("not_graded", "incomplete")
    assert early(NoReply(), run().asks("x")) is None


def test_a_tool_may_hand_off() -> None:
    story = run().asks("x").calls("transfer_to_human").ends()
    verdict = graded(NoReply(["transfer_*"]), story)
    assert (verdict.outcome, verdict.evidence) == ("skipped", "handed off: transfer_to_human was called")
    assert graded(NoReply(), story).outcome == "fail"


def test_without_a_record_of_calls_a_hand_off_may_be_missing() -> None:
    assert graded(NoReply(["transfer_*"]), run().asks("x").ends()).reason == "record_unknown"


def test_the_reply_decides() -> None:
    assert deciding(NoReply(), run().says("hello").asks("x").calls("f").says("y")) == 3


def test_each_turn_can_be_asked_for() -> None:
    story = run().starts().asks("x").says("y").asks("z").ends()
    assert graded(Check("c", NoReply(), "minor", turn=0), story).outcome == "pass"
    assert graded(Check("c", NoReply(), "minor", turn=1), story).outcome == "fail"


def test_a_gap_may_hide_a_reply_but_no_gap_takes_one_away() -> None:
    story = run().starts().asks("x").calls("f").says("y").ends()
    assert graded(NoReply(), [e for e in story if e.seq != 3]).outcome == "not_graded"
    assert graded(NoReply(), [e for e in story if e.seq != 2]).outcome == "pass"
