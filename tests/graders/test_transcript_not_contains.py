"""`vally.transcript_not_contains`: R30 to R36."""

import pytest

from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.suites import Check
from stream_graders.testing import graded, run
from tests.graders.cases import Case, deciding, early, holds

CASES = {
    "it is not said": Case(run().says("Done.").ends(), "pass", "'guarantee' NOT found in transcript"),
    "it is said": Case(run().says("I Guarantee it").ends(), "fail", "'guarantee' found in transcript"),
    "it is said early and the last message is clean": Case(
        run().says("guarantee").asks("sure?").says("no").ends(), "fail", "'guarantee' found in transcript"
    ),
    "only the user says it": Case(
        run().asks("guarantee?").says("no").ends(), "pass", "'guarantee' NOT found in transcript"
    ),
    "no message at all": Case(run().starts().ends(), "fail", "no assistant messages in transcript to check"),
    "only the user speaks": Case(run().asks("hi").ends(), "fail", "no assistant messages in transcript to check"),
    "an empty message is a message": Case(run().says("").ends(), "pass", "'guarantee' NOT found in transcript"),
    "a message without content is one too": Case(
        run().says(None).ends(), "pass", "'guarantee' NOT found in transcript"
    ),
    "only calls": Case(
        run().starts().calls("a").returns("guarantee").ends(), "fail", "no assistant messages in transcript to check"
    ),
    "the end of the run reports it": Case(
        run().says("ok").ends(output="guarantee"), "pass", "'guarantee' NOT found in transcript"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(TranscriptNotContains("guarantee"), case)


def test_the_first_message_that_holds_it_decides() -> None:
    verdict = early(TranscriptNotContains("guarantee"), run().says("hm").says("guarantee").says("x"))
    assert verdict is not None
    assert verdict.decided_by is not None
    assert (verdict.outcome, verdict.decided_by.seq, verdict.revision) == ("fail", 1, 0)


def test_it_is_never_decided_early_that_it_is_not_said() -> None:
    assert deciding(TranscriptNotContains("guarantee"), run().says("hm").ends_turn()) is None


def test_its_own_negate_changes_nothing() -> None:
    assert graded(TranscriptNotContains("x", negate=False), run().says("x").ends()).outcome == "fail"


def test_in_an_incomplete_run_it_cannot_pass() -> None:
    story = list(run().starts().says("fine").says("fine").ends())
    verdict = graded(TranscriptNotContains("x"), [*story[:1], *story[2:]])
    assert (verdict.outcome, verdict.reason) == ("not_graded", "incomplete")


def test_a_cut_text_may_hold_it() -> None:
    story = run().starts().says("fi", flags=("truncated",)).ends()
    assert graded(TranscriptNotContains("guarantee"), story).reason == "truncated"
    assert graded(TranscriptNotContains("f"), story).outcome == "fail"


TURNS = run().starts().asks("a").says("guarantee").asks("b").asks("c").says("no").ends()


@pytest.mark.parametrize(
    ("turn", "outcome", "evidence"),
    [
        (0, "fail", "'guarantee' found in transcript"),
        (1, "fail", "no assistant messages in transcript to check"),
        (2, "pass", "'guarantee' NOT found in transcript"),
        (3, "fail", "no assistant messages in transcript to check"),  # Not `turn_missing`: it fails by itself.
    ],
)
def test_of_one_turn(turn: int, outcome: str, evidence: str) -> None:
    verdict = graded(Check("check", TranscriptNotContains("guarantee"), "critical", turn=turn), TURNS)
    assert (verdict.turn, verdict.outcome, verdict.evidence) == (turn, outcome, evidence)
