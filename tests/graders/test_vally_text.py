"""`vally.output_*` and `vally.transcript_*matches`: R28, R37, and what the origin's pages say of their siblings.

The transcript graders for plain text have tests of their own.
"""

import pytest
from hypothesis import given, settings

from stream_graders.catalogue import catalogue
from stream_graders.events import UNSENT, Event
from stream_graders.graders.vally.output_contains import OutputContains
from stream_graders.graders.vally.output_matches import OutputMatches
from stream_graders.graders.vally.output_not_contains import OutputNotContains
from stream_graders.graders.vally.output_not_matches import OutputNotMatches
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_matches import TranscriptMatches
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.graders.vally.transcript_not_matches import TranscriptNotMatches
from stream_graders.grading import Grader
from stream_graders.suites import Check
from stream_graders.testing import graded, run
from tests.core.runs import runs
from tests.graders.cases import Case, deciding, holds

STORY = run().starts().says("One moment: CODE 7").asks("and?").says("It is done.").ends()

VERDICTS: dict[str, tuple[Grader, str, str]] = {
    "the output holds it": (OutputContains("DONE"), "pass", "'DONE' found in output"),
    "by case": (OutputContains("DONE", case_sensitive=True), "fail", "'DONE' NOT found in output"),
    "only an earlier message holds it": (OutputContains("code"), "fail", "'code' NOT found in output"),
    "the forbidden text is in the output": (OutputNotContains("done"), "fail", "'done' found in output"),
    "it was said before": (OutputNotContains("code"), "pass", "'code' NOT found in output"),
    "the output matches": (OutputMatches("^It is [a-z]+"), "pass", "Output matches pattern /^It is [a-z]+/"),
    "by case, too": (OutputMatches("DONE"), "fail", "Output does not match pattern /DONE/"),
    "with a flag": (OutputMatches("(?i)DONE"), "pass", "Output matches pattern /(?i)DONE/"),
    "the forbidden shape": (OutputNotMatches(r"done\.$"), "fail", r"Output matches pattern /done\.$/"),
    "another shape": (OutputNotMatches("CODE"), "pass", "Output does not match pattern /CODE/"),
    "a message matches": (TranscriptMatches("CODE [0-9]$"), "pass", "Transcript matches pattern /CODE [0-9]$/"),
    "none does": (TranscriptMatches("code"), "fail", "Transcript does not match pattern /code/"),
    "no match over two messages": (
        TranscriptMatches("(?s)CODE.*done"),
        "fail",
        "Transcript does not match pattern /(?s)CODE.*done/",
    ),
    "the user's words do not count": (
        TranscriptNotMatches("and"),
        "pass",
        "Transcript does not match pattern /and/",
    ),
    "a forbidden shape on the way": (TranscriptNotMatches("CODE"), "fail", "Transcript matches pattern /CODE/"),
}


@pytest.mark.parametrize(("grader", "outcome", "evidence"), VERDICTS.values(), ids=list(VERDICTS))
def test_verdict(grader: Grader, outcome: str, evidence: str) -> None:
    holds(grader, Case(STORY, outcome, evidence))


def test_a_transcript_is_decided_at_the_match_and_an_output_at_the_end() -> None:
    assert deciding(TranscriptMatches("CODE"), STORY) == 1
    assert deciding(TranscriptNotMatches("done"), STORY) == 3
    told = run().starts().says("CODE").asks("and?")
    assert [deciding(grader, told) for grader in (OutputMatches("CODE"), OutputNotContains("code"))] == [None, None]


def test_without_messages_a_negated_transcript_fails() -> None:
    silent = run().starts().asks("x").ends()
    for grader in (TranscriptNotMatches("x"), TranscriptMatches("x", negate=True)):
        holds(grader, Case(silent, "fail", "no assistant messages in transcript to check"))
    holds(TranscriptMatches("x"), Case(silent, "fail", "Transcript does not match pattern /x/"))


OUTPUTS: tuple[Grader, ...] = (OutputContains("x"), OutputNotContains("x"), OutputMatches("x"), OutputNotMatches("x"))


def test_without_a_reply_every_output_grader_fails_and_says_why() -> None:
    for grader in OUTPUTS:
        verdict = graded(grader, run().starts().asks("x").ends())
        assert (verdict.outcome, verdict.reason) == ("fail", "reply_not_reported")
        assert graded(grader, run().starts(reports=("tools", "end")).ends()).reason == "content_missing"


def test_an_empty_reply_is_searched_as_text() -> None:
    story = run().starts().says("").ends()
    assert [graded(grader, story).outcome for grader in OUTPUTS] == ["fail", "pass", "fail", "pass"]
    assert graded(OutputMatches(r"^\s*$"), story).outcome == "pass"
    assert graded(OutputNotMatches(r"^\s*$"), story).outcome == "fail"


PATTERNS = (OutputMatches, OutputNotMatches, TranscriptMatches, TranscriptNotMatches)


@pytest.mark.parametrize("kind", PATTERNS, ids=lambda kind: kind.name)
def test_a_pattern_that_is_not_valid_fails_every_run_and_is_told_before(kind: type[OutputMatches]) -> None:
    grader = kind("(a", negate=True)
    for story in (STORY, run().starts(reports=()).ends()):
        verdict = graded(grader, story)
        assert (verdict.outcome, verdict.reason) == ("fail", "invalid_pattern")
        assert verdict.evidence == 'invalid pattern "(a": missing ): (a'
    assert grader.warnings() == [("pattern", "the check will fail every run: missing ): (a")]
    assert kind("a").warnings() == []


def test_what_is_looked_for_is_asked_for() -> None:
    assert [setting for kind in PATTERNS for setting, _ in kind("").problems()] == ["pattern"] * 4
    assert [setting for kind in (OutputContains, OutputNotContains) for setting, _ in kind("").problems()] == [
        "substring",
        "substring",
    ]


CUT = {
    "within": ("CODE 7 and", "pass"),
    "at the cut": ("CODE 7", "not_graded"),
    "behind the cut": ("CO", "not_graded"),
}


@pytest.mark.parametrize(("said", "outcome"), CUT.values(), ids=list(CUT))
def test_of_a_cut_message_a_match_stands_that_does_not_touch_the_cut(said: str, outcome: str) -> None:
    story = run().starts().says(said, flags=("truncated",)).ends()
    for grader in (TranscriptMatches("CODE [0-9]"), OutputMatches("CODE [0-9]")):
        assert graded(grader, story).outcome == outcome
        assert graded(grader, story).reason == ("truncated" if outcome == "not_graded" else "found")


def test_content_that_was_not_sent_is_no_empty_text() -> None:
    story = run().starts().says(UNSENT).ends()
    for grader in (TranscriptMatches("^$"), OutputMatches("^$"), TranscriptNotMatches("^$")):
        assert graded(grader, story).reason == "content_missing"


def test_a_turn_has_its_own_reply_and_messages() -> None:
    story = run().starts().asks("a").says("CODE").asks("b").says("done").ends(output="CODE")
    for grader in (OutputMatches("CODE"), TranscriptMatches("CODE")):
        assert graded(Check("c", grader, "minor", turn=0), story).outcome == "pass"
        assert graded(Check("c", grader, "minor", turn=1), story).outcome == "fail"


PAIRS: list[tuple[Grader, Grader]] = [
    (TranscriptContains("lot q7", negate=True), TranscriptNotContains("lot q7")),
    (TranscriptMatches("Q7$", negate=True), TranscriptNotMatches("Q7$")),
    (OutputContains("lot q7", negate=True), OutputNotContains("lot q7")),
    (OutputMatches("Q7$", negate=True), OutputNotMatches("Q7$")),
]


@settings(max_examples=200, deadline=None)
@given(runs(may_lack_numbers=True))
def test_the_negated_grader_is_the_plain_one_turned_round(events: list[Event]) -> None:
    """P4, and the same of the siblings."""
    for plain, negated in PAIRS:
        one, other = graded(plain, events), graded(negated, events)
        assert (one.outcome, one.reason, one.evidence) == (other.outcome, other.reason, other.evidence)


def test_every_grader_of_the_origin_says_what_its_page_says() -> None:
    kinds = {name: kind.metadata for name, kind in catalogue().items() if name.startswith("vally.")}
    asking = {"vally.prompt", "vally.panel"}
    assert {m["determinism"] for name, m in kinds.items() if name not in asking} == {"static"}
    assert {kinds[name]["score_kind"] for name in asking} == {"llm"}
    assert {name for name, m in kinds.items() if m["cost"] == "low"} >= {"vally.output_contains"}
    assert kinds["vally.transcript_contains"]["cost"] == "free"
