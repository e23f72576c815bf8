"""`datarobot.tool_grounding`: R158 to R169, and what the final reply is (design 6)."""

from typing import Any

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.datarobot.tool_grounding import ToolGrounding
from stream_graders.suites import Check
from stream_graders.testing import Story, fed, graded, run, session_of, suite_of
from tests.graders.cases import Case, deciding, holds

PRESENT = "tool data present (canary found)"
CANARIES = {
    "case is ignored": ("X9", "..x9..", "pass", PRESENT),
    "all must be there": (["A1", "B2"], "has a1", "fail", "tool data missing: B2"),
    "falsy entries are no canaries": (["", None, 0, False, 370], "has 370", "pass", PRESENT),
    "a blank one is": (" ", "has a blank", "pass", PRESENT),
    "a blank one that is missing": (" ", "none", "fail", "tool data missing:  "),
    "in list order and spelling": (["B-2", "a-1"], "none", "fail", "tool data missing: B-2, a-1"),
    "repeated ones are named twice": (["X", "X"], "none", "fail", "tool data missing: X, X"),
    "lowered, not folded": ("STRASSE", "straße", "fail", "tool data missing: STRASSE"),
    "a number": (58, "58 EUR", "pass", PRESENT),
}


@pytest.mark.parametrize(("canary", "reply", "outcome", "evidence"), CANARIES.values(), ids=list(CANARIES))
def test_canaries(canary: Any, reply: str, outcome: str, evidence: str) -> None:
    holds(ToolGrounding(canary), Case(run().starts().says(reply).ends(), outcome, evidence))


@pytest.mark.parametrize("canary", [None, "", 0, [], ["", None], False], ids=repr)
def test_without_a_canary_it_is_skipped(canary: Any) -> None:
    for story in (run().starts().says("x").ends(), run().asks("x").ends(), run().starts(reports=()).ends()):
        verdict = graded(ToolGrounding(canary), story)
        assert (verdict.outcome, verdict.reason, verdict.score) == ("skipped", "no_canary", None)
        assert verdict.evidence == "no canary defined — cannot score"
    assert [setting for setting, _ in ToolGrounding(canary).warnings()] == ["canary"]


REPLIES = {
    "the last message": (run().starts().says("no").says("Q7"), "pass"),
    "not the one before": (run().starts().says("Q7").says("no"), "fail"),
    "messages are not glued together": (run().starts().says("Q").says("7"), "fail"),
    "a message without text is no reply": (run().starts().says("Q7").says("").says(None), "pass"),
    "blanks are text": (run().starts().says("Q7").says("  "), "fail"),
    "a user's message is none": (run().starts().says("Q7").asks("really?"), "pass"),
    "a tool result is none": (run().starts().calls("t").returns("Q7").says("done"), "fail"),
    "no message at all": (run().starts(), "fail"),
    "only empty messages": (run().starts().says(""), "fail"),
}


@pytest.mark.parametrize(("story", "outcome"), REPLIES.values(), ids=list(REPLIES))
def test_what_the_final_reply_is(story: Story, outcome: str) -> None:
    assert graded(ToolGrounding("q7"), story.ends()).outcome == outcome


OUTPUTS = {
    "the end reports it": (run().starts().says("no").ends(output="Q7"), "pass"),
    "it wins over the messages": (run().starts().says("Q7").ends(output="no"), "fail"),
    "an empty one does not": (run().starts().says("Q7").ends(output=""), "pass"),
    "a blank one does": (run().starts().says("Q7").ends(output=" "), "fail"),
    "parts": (run().starts().says("no").ends(output=[{"type": "text", "content": "Q7"}]), "pass"),
}


@pytest.mark.parametrize(("story", "outcome"), OUTPUTS.values(), ids=list(OUTPUTS))
def test_the_output_of_the_runs_end(story: Story, outcome: str) -> None:
    assert graded(ToolGrounding("q7"), story).outcome == outcome


def test_nothing_is_decided_before_the_end() -> None:
    assert deciding(ToolGrounding("q7"), run().starts().says("Q7").asks("x")) is None


def test_the_reply_is_evidence() -> None:
    (point,) = graded(ToolGrounding("q7"), run().starts().says("no").says("lot Q7").ends()).points
    assert (point.seq, point.path, point.excerpt) == (2, "content", "lot Q7")
    (point,) = graded(ToolGrounding("q7"), run().starts().says("no").ends(output="lot Q7")).points
    assert (point.seq, point.path, point.excerpt) == (2, "output", "lot Q7")


def test_a_long_output_is_not_kept() -> None:
    session = session_of(suite_of(ToolGrounding("q7")))
    fed(session, run().starts().ends(output="x" * 900_000 + "Q7"))
    assert len(session.snapshot()) < 4_000


def test_in_a_turn_only_its_messages_count() -> None:
    story = run().starts().asks("a").says("Q7").asks("b").says("no").ends(output="Q7")
    assert graded(Check("c", ToolGrounding("q7"), "minor", turn=0), story).outcome == "pass"
    assert graded(Check("c", ToolGrounding("q7"), "minor", turn=1), story).outcome == "fail"


LOSSES = {
    "a gap before the reply": ((1,), "pass", "grounded"),
    "a gap after it": ((3,), "not_graded", "incomplete"),
    "the reply itself": ((2,), "not_graded", "incomplete"),
}


@pytest.mark.parametrize(("lost", "outcome", "reason"), LOSSES.values(), ids=list(LOSSES))
def test_a_reply_is_sound_if_nothing_after_it_is_missing(lost: tuple[int, ...], outcome: str, reason: str) -> None:
    story = run().starts().asks("a").says("Q7").asks("b").ends()
    verdict = graded(ToolGrounding("q7"), [event for event in story if event.seq not in lost])
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


def test_an_output_is_sound_whatever_is_missing() -> None:
    story = run().starts().asks("a").says("no").asks("b").ends(output="Q7")
    assert graded(ToolGrounding("q7"), [event for event in story if event.seq != 3]).outcome == "pass"


UNHEARD = {
    "content that was not sent": (run().starts().says("Q7").says(UNSENT), "content_missing"),
    "content that is flagged as missing": (
        run().starts().says("Q7").says("", flags=("content_missing",)),
        "content_missing",
    ),
    "content cut to nothing": (run().starts().says("Q7").says("", flags=("truncated",)), "truncated"),
    "a cut reply without it": (run().starts().says("Q", flags=("truncated",)), "truncated"),
    "messages that are not reported": (run().starts(reports=("tools", "end")), "content_missing"),
}


@pytest.mark.parametrize(("story", "reason"), UNHEARD.values(), ids=list(UNHEARD))
def test_a_reply_that_nobody_heard_is_not_graded(story: Story, reason: str) -> None:
    verdict = graded(ToolGrounding("q7"), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_what_is_there_of_a_cut_reply_stands() -> None:
    assert graded(ToolGrounding("q7"), run().starts().says("Q7 and", flags=("truncated",)).ends()).outcome == "pass"
    cut = run().starts().ends(output="Q7 and", flags=("truncated",))
    assert graded(ToolGrounding("q7"), cut).outcome == "pass"
    assert graded(ToolGrounding("q8"), cut).reason == "truncated"


def test_an_earlier_message_that_nobody_heard_does_not_matter() -> None:
    assert graded(ToolGrounding("q7"), run().starts().says(UNSENT).says("Q7").ends()).outcome == "pass"


def test_as_the_source_reads_it_no_reply_is_an_empty_one() -> None:
    story = run().starts(reports=("tools", "end")).ends()
    verdict = graded(ToolGrounding("q7"), story, missing_input="source")
    assert (verdict.outcome, verdict.evidence) == ("fail", "tool data missing: q7")
