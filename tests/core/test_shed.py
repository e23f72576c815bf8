"""Runs that a suite does without while its worker is behind: few, always the same ones, and none of them unaccounted for."""

import pytest

from stream_graders.events import Event
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.suites import Fleet, Shed, Suite
from stream_graders.testing import run, suite_of

from .life import MINUTE, Life

SHED = suite_of(ToolNotCalled("db.drop"), TranscriptContains("welcome"), shed=Shed(10 * MINUTE, keep=0.0))
WHOLE = suite_of(ToolNotCalled("db.drop"), name="whole")


def story(run_id: str = "run-1") -> list[Event]:
    return list(run(run_id).starts().asks("hello").calls("db.drop").says("welcome").ends())


def test_a_run_that_begins_while_the_worker_is_behind_is_shed_and_says_so() -> None:
    life = Life(SHED).feed(story(), behind=10 * MINUTE)
    assert life.verdicts == [], "its run verdict names each check, and that is all it costs"
    assert [(check.outcome, check.reason) for check in life.run.checks] == [("not_graded", "shed")] * 2
    assert (life.run.outcome, life.run.reason, life.run.counts["not_graded"]) == ("not_graded", "shed", 2)
    assert life.ledger.graded == life.ledger.sum() == 5
    assert len(life.ledger.opened) == 1


def test_one_that_began_before_is_graded_however_far_behind_its_end_is_read() -> None:
    events = story()
    life = Life(SHED).feed(events[:1]).feed(events[1:], behind=60 * MINUTE)
    assert {verdict.outcome for verdict in life.verdicts} == {"fail", "pass"}


def test_one_that_was_shed_stays_shed_at_its_next_worker_and_when_that_has_caught_up() -> None:
    events = story()
    life = Life(SHED).feed(events[:2], behind=10 * MINUTE).moves().feed(events[2:])
    assert (life.run.outcome, life.run.reason, life.verdicts) == ("not_graded", "shed", [])
    assert len(life.session.snapshot()) < 1_000


def test_a_suite_that_sheds_nothing_grades_the_same_run() -> None:
    life = Life((SHED, WHOLE)).feed(story(), behind=60 * MINUTE)
    assert {(v.suite, v.outcome) for v in life.verdicts} == {("whole", "fail")}


def test_below_its_lag_a_suite_sheds_nothing() -> None:
    assert Life(SHED).feed(story(), behind=10 * MINUTE - 1).verdicts


def test_a_run_whose_agent_nobody_names_is_not_shed() -> None:
    suite = suite_of(TranscriptContains("welcome"), shed=Shed(1, keep=0.0))
    events = list(run(agent=None).starts().says("welcome").ends())
    life = Life(suite).feed(events[:2], behind=MINUTE).later(MINUTE // 2).feed(events[2:], behind=MINUTE)
    assert [verdict.outcome for verdict in life.verdicts] == ["pass"], "when it is selected is not when it began"


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.9])
def test_the_share_that_is_kept_is_the_one_asked_for(keep: float) -> None:
    kept = sum(not Shed(1, keep).leaves_out(f"run-{n}", 1) for n in range(4_000))
    assert abs(kept / 4_000 - keep) < 0.03


def test_who_keeps_more_keeps_all_that_others_keep() -> None:
    runs = {f"run-{n}" for n in range(500)}
    few, many = ({run for run in runs if not Shed(1, keep).leaves_out(run, 1)} for keep in (0.2, 0.6))
    assert few < many


def test_a_suite_without_it_has_the_version_that_it_always_had() -> None:
    assert Suite("s", ()).version != Suite("s", (), shed=Shed(1, 0.5)).version
    assert Fleet((SHED, WHOLE)).sheds_from == (10 * MINUTE,)
