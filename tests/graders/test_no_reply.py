"""`trajectory.no_reply`: whether the user got an answer."""

import pytest

from stream_graders.graders.trajectory.no_reply import NoReply
from stream_graders.suites import Check
from stream_graders.testing import graded, run
from tests.graders.cases import Case, deciding, early, holds

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


def test_a_hand_off_is_one_of_the_calls_and_so_needs_them() -> None:
    assert NoReply().needs() == {"messages"}
    assert NoReply(["hand_off"]).needs() == {"messages", "tools"}
