"""`trajectory.instrumentation`: holes and contradictions in the record of a run."""

import pytest

from stream_graders.graders.trajectory.instrumentation import Instrumentation
from stream_graders.grading import RunFacts
from stream_graders.testing import EPOCH, Story, graded, run
from tests.graders.cases import Case, early, holds

SECOND = 1_000_000_000
CASES = {
    "all is well": Case(
        run().starts().asks("x").calls("f").returns("y").says("z").ends(), "pass", "the record is whole"
    ),
    "an empty run": Case(run().starts().ends(), "pass", "the record is whole"),
    "a call without a result": Case(
        run().starts().calls("f").calls("g").returns("y").ends(), "fail", "1 call(s) without a result, first f"
    ),
    "a result without a call": Case(
        run().starts().returns("y", name="f", call_id="c").ends(), "fail", "1 result(s) without a call, first of f"
    ),
    "a second result": Case(
        run().starts().calls("f").returns("y").returns("y").ends(), "fail", "1 result(s) without a call, first of f"
    ),
    "two results without calls": Case(
        run().starts().returns("y", name="f").returns("z", name="g").ends(),
        "fail",
        "2 result(s) without a call, first of f",
    ),
    "a result of nobody knows what": Case(
        run().starts().returns("y").ends(), "fail", "1 result(s) without a call, first of an unknown tool"
    ),
    "no end": Case(run().starts().asks("x"), "fail", "no end came"),
    "two faults": Case(
        run().starts().returns("y", name="f").calls("g").ends(),
        "fail",
        "1 result(s) without a call, first of f; 1 call(s) without a result, first g",
    ),
    "a clock that goes back": Case(
        run().starts().asks("x", ts=EPOCH + 60 * SECOND).says("y").ends(),
        "fail",
        "times go back by 58 s, at most 5 s allowed",
    ),
    "a clock that goes back a little": Case(
        run().starts().asks("x", ts=EPOCH + 6 * SECOND).says("y").ends(), "pass", "the record is whole"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(Instrumentation(), case)


def test_clocks_that_differ() -> None:
    events = list(run().starts().asks("x").says("y").ends())
    other = list(run(producer="p2").says("z", id="o", seq=0, ts=EPOCH + 900 * SECOND))
    assert graded(Instrumentation(), [*events[:2], *other, *events[2:]]).outcome == "fail"
    assert graded(Instrumentation(tolerance=1_000), [*events[:2], *other, *events[2:]]).outcome == "pass"


def test_events_that_are_missing_are_named() -> None:
    events = [event for event in run().starts().asks("x").says("y").ends() if event.seq != 1]
    assert graded(Instrumentation(), events).evidence == "events are missing"


REPORTS: dict[str, tuple[Story, str]] = {
    "results": (run().starts(reports=("messages", "tools", "end")).calls("f").ends(), "pass"),
    "an end": (run().starts(reports=("messages", "tools", "results")).asks("x"), "pass"),
    "neither, and a result comes without a call": (
        run().starts(reports=("tools",)).returns("x", name="f", call_id="c"), "fail"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("story", "outcome"), REPORTS.values(), ids=list(REPORTS))
def test_what_a_run_does_not_report_is_not_missed(story: Story, outcome: str) -> None:
    assert graded(Instrumentation(), story).outcome == outcome


def test_it_is_told_at_the_end() -> None:
    assert early(Instrumentation(), run().starts().returns("x", name="f").calls("g")) is None


def test_a_tolerance_is_not_below_zero() -> None:
    assert [name for name, _ in Instrumentation(-1).problems()] == ["tolerance"]


def test_the_longest_way_back_is_shown_and_of_two_the_first() -> None:
    second = 1_000_000_000
    story = run().starts(ts=EPOCH).says("a", ts=EPOCH + 60 * second)
    for back in (10, 20, 20, 5):
        story.says("b", ts=EPOCH + (60 - back) * second)
    verdict = graded(Instrumentation(), story.ends(ts=EPOCH + 99 * second))
    assert verdict.evidence == "times go back by 20 s, at most 5 s allowed"
    assert [(point.seq, point.path) for point in verdict.points] == [(3, "ts")]


def test_a_whole_record_is_whole_whatever_comes_of_its_tail() -> None:
    assert graded(Instrumentation(20), run().starts().says("a").ends()).outcome == "pass"
    grader = Instrumentation()
    assert grader.finding(RunFacts(ended=True)).sound
