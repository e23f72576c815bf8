"""`vally.transcript_contains`: R24 to R29 and R34 to R36, and the negated form of R27, R30 and R32."""

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.testing import graded, run
from tests.core.stories import STORIES
from tests.graders.cases import Case, deciding, holds

FOUND = "'which floor' found in transcript"
NOT_FOUND = "'which floor' NOT found in transcript"

CASES = {
    "it is said": Case(run().says("Which floor, please?").ends(), "pass", "'Which Floor' found in transcript"),
    "it is said in a message that is not the last": Case(
        run().says("which floor?").asks("2").says("Right away.").ends(), "pass", "'Which Floor' found in transcript"
    ),
    "the case differs": Case(run().says("WHICH FLOOR").ends(), "pass", "'Which Floor' found in transcript"),
    "something else is said": Case(run().says("which door").ends(), "fail", "'Which Floor' NOT found in transcript"),
    "it is split over two messages": Case(
        run().says("which ").says("floor").ends(), "fail", "'Which Floor' NOT found in transcript"
    ),
    "only the user says it": Case(run().asks("which floor").ends(), "fail", "'Which Floor' NOT found in transcript"),
    "only a tool says it": Case(
        run().starts().calls("ask").returns("which floor").says("hm").ends(),
        "fail",
        "'Which Floor' NOT found in transcript",
    ),
    "nobody says anything": Case(run().starts().ends(), "fail", "'Which Floor' NOT found in transcript"),
    "empty messages": Case(run().says("").says(None).ends(), "fail", "'Which Floor' NOT found in transcript"),
    "the end of the run reports it": Case(
        run().says("hm").ends(output="which floor"), "fail", "'Which Floor' NOT found in transcript"
    ),
    "it stands in a text part": Case(
        run().says([{"type": "text", "content": "which floor"}, {"type": "blob"}]).ends(),
        "pass",
        "'Which Floor' found in transcript",
    ),
    "it stands in the reasoning": Case(
        run().says([{"type": "reasoning", "content": "which floor"}]).ends(),
        "fail",
        "'Which Floor' NOT found in transcript",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(TranscriptContains("Which Floor"), case)


def test_the_first_message_that_holds_it_decides() -> None:
    assert deciding(TranscriptContains("floor"), run().says("hm").says("floor").says("floor")) == 1


def test_it_is_never_decided_early_that_it_is_not_said() -> None:
    assert deciding(TranscriptContains("floor"), run().says("hm").asks("floor")) is None


@pytest.mark.parametrize(
    ("text", "outcome"), [("which floor", "fail"), ("Which Floor", "pass"), ("aWhich Floors", "pass")]
)
def test_case_can_be_minded(text: str, outcome: str) -> None:
    assert graded(TranscriptContains("Which Floor", case_sensitive=True), run().says(text).ends()).outcome == outcome


@pytest.mark.parametrize(
    ("sought", "said", "outcome"),
    [("STRASSE", "straße", "fail"), ("ÉTÉ", "été", "pass"), ("İ", "i̇stanbul", "pass"), ("a.c", "abc", "fail")],
)
def test_both_sides_are_lowered_and_nothing_else(sought: str, said: str, outcome: str) -> None:
    assert graded(TranscriptContains(sought), run().says(said).ends()).outcome == outcome


def test_negated_it_is_the_other_grader() -> None:  # P4, R30
    for events in STORIES.values():
        one = graded(TranscriptContains("lot q7", negate=True), events)
        other = graded(TranscriptNotContains("lot q7"), events)
        assert (one.outcome, one.reason, one.evidence) == (other.outcome, other.reason, other.evidence)


def test_a_point_shows_where_it_was_said() -> None:
    verdict = graded(TranscriptContains("needle"), run().says("hay " * 100 + "needle" + " hay" * 100).ends())
    (point,) = verdict.points
    assert point.event_id == "run-1-0"
    assert point.excerpt is not None
    assert point.excerpt.startswith("…")
    assert "needle" in point.excerpt
    assert len(point.excerpt) <= 122


CUT = run().starts().says("which fl", flags=("truncated",)).ends()
UNSAID = run().starts().says(UNSENT).ends()
SILENT = run().starts(reports=("tools", "end")).ends()


def test_a_cut_text_may_have_held_it() -> None:
    assert graded(TranscriptContains("floor"), CUT).reason == "truncated"
    assert graded(TranscriptContains("which"), CUT).outcome == "pass"


@pytest.mark.parametrize("story", [UNSAID, SILENT], ids=["content was left out", "messages are not reported"])
def test_what_was_not_sent_is_not_graded(story: object) -> None:
    verdict = graded(TranscriptContains("floor"), story)  # type: ignore[arg-type]  # a story is an iterable of events
    assert (verdict.outcome, verdict.reason) == ("not_graded", "content_missing")


def test_as_the_source_reads_it_what_was_not_sent_was_not_said() -> None:
    assert graded(TranscriptContains("floor"), UNSAID, missing_input="source").outcome == "fail"
    assert graded(TranscriptContains("floor"), SILENT, missing_input="source").outcome == "fail"


def test_an_empty_text_is_refused() -> None:
    assert [setting for setting, _ in TranscriptContains("").problems()] == ["substring"]
