"""What comes after a run's verdict: amendments, segments, and what is too late (design 5.5)."""

import pytest

from stream_graders.events import Agent, DeadLetter, Event, RunPause, TurnEnd
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.agentlasso.tool_order import ToolOrder
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.suites import Check, Select, Suite
from stream_graders.testing import Story, run
from tests.core.life import DAY, HOUR, MINUTE, SECOND, Life

SUITE = Suite(
    "suite",
    (
        Check("called", ToolCalled("refund"), "critical"),
        Check("not called", ToolNotCalled("drop"), "critical"),
        Check("orders", ToolOrder(["find", "refund"]), "minor"),
        Check("keeps from saying", TranscriptNotContains("guarantee"), "minor"),
    ),
    select=Select(agent=("agent-*",)),
)


def whole() -> Story:
    return run().starts().asks("x").calls("find").calls("refund").says("done").ends()


def more(seq: int = 6) -> Event:
    return next(iter(run().says("I guarantee", seq=seq, id=f"more-{seq}")))


def test_an_event_in_the_window_amends_what_it_changes() -> None:
    life = Life(SUITE).feed(whole()).later(10 * MINUTE - 1).feed(more())
    (first, second) = [verdict for verdict in life.verdicts if verdict.check == "keeps from saying"]
    assert [(v.state, v.revision, v.outcome) for v in (first, second)] == [("final", 1, "pass"), ("amended", 2, "fail")]
    assert first.id != second.id
    assert second.decided_by is not None
    assert second.decided_by.event_id == "more-6"
    assert [verdict.check for verdict in life.verdicts[4:]] == ["keeps from saying"]
    assert [(v.state, v.revision) for v in life.runs] == [("final", 1), ("amended", 2)]
    assert life.run.counts["fail"] == 1


def test_one_that_changes_nothing_says_nothing() -> None:
    life = Life(SUITE).feed(whole())
    before = len(life.effects)
    assert len(life.feed(run().says("bye", seq=6, id="bye")).effects) == before


def test_the_window_does_not_move() -> None:
    life = Life(SUITE).feed(whole()).later(9 * MINUTE).feed(run().says("bye", seq=6, id="bye")).later(MINUTE)
    assert life.phase == "ended"


def test_a_gap_is_filled_late_for_graders_that_do_not_mind_order() -> None:
    events = list(whole())
    life = Life(SUITE).feed(events[:3], events[4:]).later(30 * SECOND)
    assert life.outcomes() == {
        "called": "not_graded (incomplete)",
        "not called": "not_graded (incomplete)",
        "orders": "not_graded (incomplete)",
        "keeps from saying": "not_graded (incomplete)",
    }
    life.feed(events[3])
    assert life.outcomes() == {
        "called": "pass (called)",
        "not called": "pass (not_called)",
        "orders": "not_graded (incomplete)",  # It minds the order: for it the gap stays.
        "keeps from saying": "pass (not_found)",
    }
    assert {verdict.revision for verdict in life.verdicts[4:]} == {2}
    assert (life.run.outcome, life.run.flags) == ("pass", ("call_unpaired", "incomplete", "late"))


def test_an_end_in_the_window_takes_the_place_of_silence() -> None:
    events = list(run().starts().asks("x").says("done").ends())
    life = Life(SUITE).feed(events[:3]).later(15 * MINUTE)
    assert life.run.completion == "silence"
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"
    life.feed(events[3])
    assert life.outcomes()["keeps from saying"] == "pass (not_found)"
    assert (life.run.completion, life.run.status, life.run.revision, life.run.flags) == ("run_end", "ok", 2, ())


def test_an_end_that_counts_more_than_came_does_not() -> None:
    events = list(run().starts().asks("x").says("done").ends(last_seq=9))
    life = Life(SUITE).feed(events[:3]).later(15 * MINUTE).feed(events[3])
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"


def test_what_waits_behind_a_gap_when_the_window_closes_is_graded() -> None:
    life = Life(SUITE).feed(whole()).later(10 * MINUTE - SECOND).feed(more(7))
    assert life.ledger.held == 1
    life.later(SECOND)
    assert (life.phase, life.ledger.held, life.ledger.graded) == ("ended", 0, 7)
    assert life.outcomes()["keeps from saying"] == "fail (found)"


# -- after the window ----------------------------------------------------------------------------------------------------------


def ended() -> Life:
    life = Life(SUITE).feed(whole()).later(10 * MINUTE)
    assert life.phase == "ended"
    return life


@pytest.mark.parametrize("moves", [False, True], ids=["on the same worker", "on another"])
def test_an_event_above_the_marks_opens_a_segment(moves: bool) -> None:
    life = ended()
    if moves:
        life.moves()
    said = len(life.verdicts)
    life.feed(more(), run().ends(seq=7, id="end-2", last_seq=7))
    second = life.verdicts[said:]
    assert {verdict.revision for verdict in second} == {0, 1}
    assert not {verdict.id for verdict in second} & {verdict.id for verdict in life.verdicts[:said]}
    assert life.outcomes()["keeps from saying"] == "fail (found)"
    assert life.outcomes()["not called"] == "pass (not_called)"  # Reported tools are remembered.
    assert (life.run.flags, life.run.events) == (("resumed",), 2)
    assert life.run.agent == Agent("agent-1", "1.0")


def test_a_segment_is_graded_by_the_suites_of_the_run() -> None:
    life = ended().feed(run(agent=Agent("someone else")).asks("x", seq=6, id="m"))
    assert life.phase == "open"


def test_a_known_number_is_a_duplicate() -> None:
    life = ended()
    before = len(life.effects)
    life.feed(whole())
    assert (life.phase, len(life.effects), life.ledger.duplicates) == ("ended", before, 6)


@pytest.mark.parametrize("kind", [TurnEnd, RunPause], ids=lambda kind: kind.__name__)
def test_what_opens_nothing_is_late_and_leaves_no_gap(kind: type[Event]) -> None:
    life = ended().feed(run().adds(kind, seq=6, id="late"))
    assert (life.phase, life.buried) == ("ended", [DeadLetter.LATE])
    life.feed(more(7), run().ends(seq=8, id="end-2", last_seq=8))
    assert life.run.flags == ("resumed",)


UNNUMBERED = {
    "a user message opens a segment": (run().asks("again?", seq=None), "open"),
    "a start opens one": (run().starts(seq=None), "open"),
    "an assistant message is late": (run().says("bye", seq=None), "ended"),
    "a call is late": (run().calls("find", seq=None), "ended"),
    "an end is late": (run().ends(seq=None), "ended"),
}


@pytest.mark.parametrize(("story", "phase"), UNNUMBERED.values(), ids=list(UNNUMBERED))
def test_without_a_number(story: Story, phase: str) -> None:
    life = ended().feed(event for event in story)
    assert life.phase == phase
    assert life.buried == ([DeadLetter.LATE] if phase == "ended" else [])


def test_an_unnumbered_repetition_of_the_first_event_is_known() -> None:
    story = [_bare(event) for event in whole()]
    life = Life(SUITE).feed(story).later(10 * MINUTE)
    life.feed(story[0])
    assert (life.phase, life.ledger.duplicates) == ("ended", 1)


def _bare(event: Event) -> Event:
    known = {name: getattr(event, name) for name in event.__struct_fields__}
    return type(event)(**{**known, "seq": None, **({"last_seq": None} if "last_seq" in known else {})})


@pytest.mark.parametrize(
    ("wait", "phase"), [(26 * MINUTE, "open"), (25 * HOUR, "open"), (8 * DAY, "open")], ids=["26 min", "25 h", "8 d"]
)
def test_a_new_event_long_after_is_graded_under_ids_of_its_own(wait: int, phase: str) -> None:
    life = Life(SUITE).feed(whole()).later(wait)
    known = {verdict.id for verdict in life.verdicts} | {verdict.id for verdict in life.runs}
    said, ran = len(life.verdicts), len(life.runs)
    life.feed(more())
    assert (life.ledger.graded == 7) or life.ledger.held == 1
    assert life.phase in (phase, "new")
    life.later(DAY)
    assert life.ledger.graded == 7
    assert life.outcomes()["keeps from saying"] == "fail (found)"
    fresh = [verdict.id for verdict in life.verdicts[said:]] + [verdict.id for verdict in life.runs[ran:]]
    assert fresh
    assert not known & set(fresh)
    assert len(fresh) == len(set(fresh))


def test_after_it_was_forgotten_a_run_starts_anew() -> None:
    life = ended().later(HOUR)
    assert life.phase == "gone"
    life.feed(run().starts(ts=1_800_000_000_000_000_000, id="new-0").says("done", id="new-1").ends(id="new-2"))
    assert life.outcomes()["called"] == "fail (not_called)"
    assert life.run.flags == ()
    assert life.run.revision == 1


def test_an_ended_turn_is_not_amended() -> None:
    check = Check("in turn 0", TranscriptNotContains("guarantee"), "critical", turn=0)
    life = Life(Suite("s", (check,))).feed(run().starts().asks("a", turn=0).says("b", turn=0).asks("c", turn=1))
    assert life.verdict.outcome == "pass"
    life.feed(run().says("guarantee", turn=0, seq=4, id="late")).feed(list(run().ends(seq=5, id="end", last_seq=5)))
    assert [verdict.outcome for verdict in life.verdicts] == ["pass"]
    assert life.run.flags == ("late",)
