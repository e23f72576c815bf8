"""A run's life from its first event to its last verdict (design 5)."""

from collections.abc import Sequence
from typing import Any

import pytest

from stream_graders.events import (
    Agent,
    Custom,
    DeadLetter,
    Event,
    JudgeAnswer,
    RunOutcome,
    RunPause,
    Trace,
    TurnEnd,
    Unknown,
    to_json,
)
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_order import ToolOrder
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.session import At, Ledger, Session, StateError, kept_deadline, watermark
from stream_graders.suites import Check, Completion, Fleet, Suite
from stream_graders.testing import Story, run, suite_of
from stream_graders.trajectory import HELD_EVENTS
from tests.core.life import DAY, HOUR, MINUTE, SECOND, Life

SUITE = suite_of(
    Check("says", TranscriptContains("done"), "critical"),
    Check("keeps from saying", TranscriptNotContains("guarantee"), "critical"),
    Check("orders", ToolOrder(["find", "refund"]), "minor"),
)


def whole() -> Story:
    return run().starts().asks("refund?").calls("find").returns("x").calls("refund").returns("ok").says("done").ends()


WHOLE = {
    "says": "pass (found)",
    "keeps from saying": "pass (not_found)",
    "orders": "pass (in_order)",
}


def test_a_run_ends_with_its_end() -> None:
    life = Life(SUITE).feed(whole())
    assert life.outcomes() == WHOLE
    assert (life.run.completion, life.run.status, life.run.outcome, life.run.reason) == (
        "run_end",
        "ok",
        "pass",
        "all_passed",
    )
    assert (life.run.events, life.run.turns, life.run.flags) == (8, 1, ())
    assert life.phase == "closed"


def test_one_run_under_two_suites_gets_a_run_verdict_of_each() -> None:
    other = Suite("other", (Check("refunds", ToolCalled("refund"), "critical"),))
    assert [verdict.suite for verdict in Life((SUITE, other)).feed(whole()).runs] == ["suite", "other"]


# -- gaps ------------------------------------------------------------------------------------------------------------------


def test_a_run_with_a_gap_waits_30_seconds_and_is_then_incomplete() -> None:
    events = list(whole())
    life = Life(SUITE).feed(events[:2], events[3:])
    assert life.verdicts == []
    life.later(30 * SECOND - 1)
    assert life.verdicts == []
    life.later(1)
    assert life.outcomes() == {
        "says": "pass (found)",
        "keeps from saying": "not_graded (incomplete)",
        "orders": "not_graded (incomplete)",
    }
    assert life.run.flags == ("incomplete", "result_unpaired")
    assert (life.run.outcome, life.run.reason, life.run.partially_graded) == ("not_graded", "unverified", True)


def test_a_deadline_passes_before_the_first_event_stamped_at_or_after_it() -> None:
    events = list(whole())
    told = [
        Life(SUITE).feed(events[:2], events[3:]).later(30 * SECOND + extra, tick=False).feed(events[2]).verdict.flags
        for extra in (-1, 0, 1)
    ]
    assert [("late" in flags) for flags in told] == [False, True, True]


def test_64_events_behind_a_gap_are_held_and_the_65th_gives_it_up() -> None:
    story = run().starts().asks("lost")
    for n in range(HELD_EVENTS + 1):
        story.says(f"{n}")
    events = list(story)
    life = Life(SUITE).feed(events[0], events[2 : 2 + HELD_EVENTS])
    assert life.ledger.held == HELD_EVENTS
    life.feed(events[-1])
    assert life.ledger.held == 0
    assert "incomplete" in life.session.flags


def test_128_kb_behind_a_gap_give_it_up_too() -> None:
    events = list(run().starts().asks("lost").says("a").says("b").says("done"))
    life = Life(SUITE).feed(events[0]).feed(events[2:4], size=60_000)
    assert life.ledger.held == 2
    life.feed(events[4], size=60_000)
    assert life.ledger.held == 0


def test_a_run_end_waits_for_what_it_counts_and_then_says_so() -> None:
    events = list(run().starts().says("done").ends(last_seq=4))
    life = Life(SUITE).feed(events)
    assert life.verdicts == []
    life.later(30 * SECOND)
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"
    assert (life.run.completion, life.run.flags) == ("run_end", ("incomplete",))


def test_what_a_run_end_counts_may_still_come() -> None:
    events = list(run().starts().says("done").ends(last_seq=3).says("guarantee"))
    life = Life(SUITE).feed(events[:3]).later(29 * SECOND).feed(events[3])
    assert life.outcomes()["keeps from saying"] == "fail (found)"
    assert life.run.flags == ()


def test_a_number_far_ahead_is_dead_lettered_and_costs_nothing() -> None:
    events = list(whole())
    life = Life(SUITE).feed(events[:3]).feed(run().says("x", seq=20_000, id="far")).feed(events[3:])
    assert life.buried == [DeadLetter.SEQ_FAR_AHEAD]
    assert life.outcomes() == WHOLE


def test_a_process_that_starts_again_under_its_old_name_is_a_producer_of_its_own() -> None:
    again = run().says("done", id="again-0").ends(id="again-1", last_seq=1)
    life = Life(SUITE).feed(run().starts().asks("x").says("…"), again)
    assert life.outcomes()["says"] == "pass (found)"
    assert life.run.flags == ("seq_restarted",)
    assert (life.run.completion, life.ledger.restarted) == ("run_end", 1)


def test_16_producers_are_kept_apart_and_a_17th_makes_the_run_incomplete() -> None:
    life = Life(SUITE).feed(run().starts())
    for n in range(15):
        life.feed(run().says("done", id=f"m{n}", producer=f"q{n}", seq=0))
    assert "incomplete" not in life.session.flags
    life.feed(run().says("done", id="m16", producer="q16", seq=0)).feed(list(run().starts().ends())[1])
    assert life.outcomes()["says"] == "pass (found)"
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"


def test_without_numbers_a_run_is_graded_in_order_of_arrival() -> None:
    life = Life(SUITE).feed(event for event in whole() for event in [_bare(event)] * 2)
    assert life.outcomes() == WHOLE
    assert life.run.flags == ("order_inferred",)
    assert life.ledger.duplicates == 8


def _bare(event: Event, **fields: Any) -> Event:
    known = {name: getattr(event, name) for name in event.__struct_fields__}
    return type(event)(**{**known, "seq": None, **({"last_seq": None} if "last_seq" in known else {}), **fields})


# -- silence -----------------------------------------------------------------------------------------------------------------

SILENCES = {
    "the user's, 15 minutes": (run().starts().asks("x").says("done"), 15 * MINUTE),
    "the agent's, 10 minutes": (run().starts().asks("x"), 10 * MINUTE),
    "the agent's after a result": (run().starts().calls("find").returns("x"), 10 * MINUTE),
    "the agent's at the start": (run().starts(), 10 * MINUTE),
    "the tool's, 1 hour": (run().starts().says("moment").calls("find"), HOUR),
}


@pytest.mark.parametrize(("story", "idle"), SILENCES.values(), ids=list(SILENCES))
def test_how_long_silence_may_last_depends_on_whose_move_it_is(story: Story, idle: int) -> None:
    life = Life(SUITE).feed(story).later(idle - 1)
    assert life.verdicts == []
    life.later(1)
    assert (life.run.completion, life.run.status) == ("silence", None)
    assert life.run.flags[-1] == "incomplete"
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"


def test_every_event_of_the_run_breaks_the_silence_and_no_other() -> None:
    life = Life(SUITE).feed(run().starts().asks("x"))
    life.later(9 * MINUTE).feed(list(run().asks("x").asks("y").adds(TurnEnd))[2]).later(9 * MINUTE)
    assert life.verdicts == []
    for kind, body in ((Custom, {}), (RunOutcome, {"name": "reward"}), (JudgeAnswer, {"request_id": "1"})):
        life.feed(_bare(next(iter(run().adds(kind, **body))), id=f"aside-{kind.__name__}"))
    life.later(MINUTE)
    assert life.run.completion == "silence"


def test_where_the_end_is_not_reported_silence_is_the_end() -> None:
    life = Life(SUITE).feed(run().starts(reports=("messages", "tools")).says("done")).later(15 * MINUTE)
    assert life.outcomes()["keeps from saying"] == "pass (not_found)"
    assert (life.run.completion, life.run.flags) == ("silence", ("end_implied",))


def test_a_pause_stops_silence_and_not_the_age() -> None:
    story = run().starts().asks("x").pauses()
    life = Life(SUITE).feed(story).later(DAY - 1)
    assert life.verdicts == []
    life.later(1)
    assert life.run.completion == "max_age"
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"


def test_after_a_pause_silence_counts_again() -> None:
    story = list(run().starts().asks("x").pauses().resumes())
    life = Life(SUITE).feed(story[:3]).later(HOUR).feed(story[3]).later(10 * MINUTE)
    assert life.run.completion == "silence"


def test_of_several_suites_the_longest_times_count() -> None:
    slow = Suite("slow", SUITE.checks, completion=Completion(idle_agent=HOUR, idle_user=1))
    life = Life((SUITE, slow)).feed(run().starts().asks("x")).later(HOUR - 1)
    assert life.verdicts == []
    assert {verdict.suite for verdict in life.later(1).runs} == {"suite", "slow"}


def test_a_day_is_the_longest_that_a_run_stays_open() -> None:
    life = Life(SUITE).feed(run().says("hm"))
    for n in range(1, 200):
        if life.phase == "closed":
            break
        life.later(14 * MINUTE, tick=False).feed(_bare(next(iter(run().says("hm"))), seq=n, id=f"m{n}"))
    assert life.run.completion == "max_age"
    assert DAY <= life.now < DAY + 14 * MINUTE


QUICK = suite_of(
    *SUITE.checks, completion=Completion(idle_user=5 * SECOND, idle_agent=5 * SECOND, idle_tool=5 * SECOND)
)


def test_what_waits_behind_a_gap_breaks_a_silence_that_is_shorter_than_the_gap() -> None:
    events = list(run().starts(reports=("messages", "tools")).says("done").asks("lost").says("guarantee"))
    life = Life(QUICK).feed(events[:2], events[3]).later(5 * SECOND)
    assert life.verdicts[-1].state == "early"  # The gap was given up, and the guarantee heard.
    life.later(5 * SECOND)
    assert life.outcomes()["keeps from saying"] == "fail (found)"
    assert "incomplete" in life.run.flags


def test_a_run_that_ended_is_no_silent_one_while_it_waits_for_the_rest() -> None:
    events = list(run().starts().says("done").ends(last_seq=4))
    life = Life(QUICK).feed(events).later(5 * SECOND)
    assert (life.run.completion, life.run.status) == ("run_end", "ok")
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"


# -- before it opens, and asides -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [TurnEnd, RunPause, Custom], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("seq", [None, 0], ids=["bare", "numbered"])
def test_only_five_types_open_a_run(kind: type[Event], seq: int | None) -> None:
    life = Life(SUITE).feed(run().adds(kind, seq=seq)).later(30 * SECOND)
    assert (life.phase, life.ledger.skipped, life.effects) == ("gone", 1, [])


def test_what_comes_before_the_opening_takes_its_number() -> None:
    events = list(run().adds(Custom).starts().says("done").ends())
    life = Life(SUITE).feed(events)
    assert (life.run.events, life.run.flags) == (3, ())


def test_it_is_remembered_for_30_seconds() -> None:
    events = list(run().adds(Custom).starts().says("done").ends())
    life = Life(SUITE).later(HOUR).feed(events[0]).later(30 * SECOND - 1)
    assert life.feed(events[1:]).run.flags == ()
    life = Life(SUITE).later(HOUR).feed(events[0]).later(30 * SECOND)
    assert life.phase == "gone"


def test_an_unnumbered_aside_leaves_nothing_behind_and_takes_nothing_away() -> None:
    aside = _bare(next(iter(run().adds(Custom))), id="aside")
    assert Life(SUITE).feed(aside).phase == "gone"
    events = list(run().adds(Custom).starts().says("done").ends())
    assert Life(SUITE).feed(events[0], aside, events[1:]).run.flags == ()


def test_what_waits_behind_a_gap_before_the_opening_is_not_forgotten() -> None:
    events = list(run().adds(Custom).adds(Custom).says("done"))
    life = Life(SUITE).feed(events[0]).later(20 * SECOND).feed(events[2])
    life.later(15 * SECOND)
    assert life.ledger.held == 1
    life.later(15 * SECOND)
    assert (life.ledger.held, life.ledger.graded) == (0, 1)


ASIDES: dict[str, tuple[type[Event], dict[str, Any]]] = {
    "custom": (Custom, {"body": {"x": 1}}),
    "run.outcome": (RunOutcome, {"name": "reward", "value": 1}),
    "judge.answer": (JudgeAnswer, {"request_id": "1"}),
    "a type of a later version": (Unknown, {}),
}


@pytest.mark.parametrize(("kind", "body"), ASIDES.values(), ids=list(ASIDES))
def test_an_aside_takes_its_number_and_nothing_else(kind: type[Event], body: dict[str, Any]) -> None:
    life = Life(SUITE).feed(run().starts().adds(kind, **body).says("done").ends())
    assert (life.run.events, life.run.flags, life.ledger.skipped) == (3, (), 1)
    before = len(life.effects)
    life.feed(_bare(next(iter(run().adds(kind, **body))), id="after", seq=4))
    assert len(life.effects) == before  # It amends nothing,
    life.later(10 * MINUTE).feed(_bare(next(iter(run().adds(kind, **body))), id="later", seq=5))
    assert (life.phase, len(life.effects), life.ledger.skipped) == ("ended", before, 3)  # and opens nothing,
    life.feed(run().asks("more?", seq=6, id="more"))
    assert life.session.flags == {"resumed"}  # but its number was taken.


def test_a_record_that_could_not_be_read_makes_the_run_incomplete() -> None:
    lost = Unknown(schema="stream_graders.event/1", id="bad", run_id="run-1", ts=1, seq=1, producer="p1", lost=True)
    events = list(run().starts().asks("unreadable").says("done").ends())
    life = Life(SUITE).feed(events[0], lost, events[2:])
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"
    assert life.outcomes()["says"] == "pass (found)"


def test_an_unnumbered_one_too() -> None:
    lost = Unknown(schema="stream_graders.event/1", id="bad", run_id="run-1", ts=1, lost=True)
    events = list(run().starts().says("done").ends())
    assert Life(SUITE).feed(events[:2], lost, events[2]).outcomes()["keeps from saying"] == "not_graded (incomplete)"


# -- identity ------------------------------------------------------------------------------------------------------------------


def test_an_event_of_another_tenant_is_dead_lettered() -> None:
    life = Life(SUITE).feed(run(tenant="acme").starts().asks("x"))
    life.feed(run(tenant="evil").says("guarantee", seq=2, id="foreign"))
    assert life.buried == [DeadLetter.TENANT_MISMATCH]
    life.feed(list(run(tenant="acme").starts().asks("x").says("done").ends())[2:])
    assert life.outcomes()["keeps from saying"] == "pass (not_found)"
    assert life.run.tenant == "acme"


def test_an_event_that_names_no_tenant_is_the_runs() -> None:
    life = Life(SUITE).feed(run(tenant="acme").starts(), list(run().starts().says("done").ends())[1:])
    assert (life.buried, life.run.tenant) == ([], "acme")


def test_a_run_on_the_wrong_partition_is_incomplete() -> None:
    life = Life(SUITE).feed(whole(), misplaced=True)
    assert life.run.flags == ("incomplete", "wrong_partition")
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"
    assert life.ledger.misplaced == 1


def test_the_runs_agent_is_that_of_its_start() -> None:
    told = run().says("hi", agent=Agent("helper"), producer="p0", seq=0, id="first")
    life = Life(SUITE).feed(told, run().starts(agent=Agent("boss", "2")).ends())
    assert life.run.agent == Agent("boss", "2")


def test_else_the_first_that_is_named() -> None:
    life = Life(SUITE).feed(run().asks("x", agent=None).says("y", agent=Agent("a")).says("z", agent=Agent("b")).ends())
    assert life.run.agent == Agent("a")


def test_what_a_run_is_known_by_comes_from_the_first_event_that_says_it() -> None:
    story = run().asks("x", model="m1").says("y", environment="production", trace=Trace("t1"), model="m2")
    life = Life(SUITE).feed(story.says("z", environment="staging", trace=Trace("t2"), session_id="s").ends())
    assert (life.run.model, life.run.environment, life.run.trace, life.run.session_id) == (
        "m1",
        "production",
        Trace("t1"),
        "s",
    )


def test_records_stay_small_whatever_a_sender_puts_into_names() -> None:
    long = "n" * 50_000
    start = run(environment=long, session_id=long, tenant=long, producer=long).starts(
        labels={f"{n}{long}": long for n in range(100)}, model=long, pair_id=long, agent=Agent("a", long, long)
    )
    life = Life(SUITE).feed(start).feed(list(run(tenant=long, producer=long).starts().says("done").ends())[1:])
    assert life.outcomes()["says"] == "pass (found)"
    assert life.buried == []
    assert max(len(to_json(verdict)) for verdict in [*life.verdicts, *life.runs]) < 64 * 1024
    assert "labels_cut" in life.run.flags
    assert len(life.session.snapshot()) < 64 * 1024


# -- state -----------------------------------------------------------------------------------------------------------------------


def test_state_tells_its_watermark_and_deadline_without_being_read() -> None:
    life = Life(SUITE)
    for story, due in ((whole(), 10 * MINUTE), (run().says("x", seq=8, id="more"), 10 * MINUTE)):
        life.feed(story)
        data = life.session.snapshot()
        assert (watermark(data), kept_deadline(data)) == (life.session.offset, due)
    gone = Life(SUITE).feed(run().adds(Custom))
    gone.later(MINUTE)
    assert kept_deadline(gone.session.snapshot()) is None


def test_state_of_a_newer_version_is_refused_with_the_next_step() -> None:
    data = Life(SUITE).feed(run().starts()).session.snapshot()
    newer = data.replace(b"[1,", b"[3,", 1)
    with pytest.raises(StateError, match=r"version 3, this program reads up to 2.*or a later one"):
        Session.resume(Fleet((SUITE,)), "run-1", newer, Ledger())


def test_most_runs_keep_less_than_2_kb_and_finished_ones_300_bytes() -> None:
    life = Life(SUITE).feed(list(whole())[:-1])
    assert len(life.session.snapshot()) < 2 * 1024
    life.feed(list(whole())[-1:]).later(10 * MINUTE)
    assert life.phase == "ended"
    assert len(life.session.snapshot()) <= 300


def test_a_run_is_forgotten_an_hour_after_its_window() -> None:
    life = Life(SUITE).feed(whole()).later(10 * MINUTE + HOUR - 1)
    assert life.phase == "ended"
    assert life.later(1).phase == "gone"


def test_what_the_end_of_a_file_completes() -> None:
    life = Life(SUITE).feed(list(whole())[:-1])
    life.effects += life.session.finish()
    assert life.outcomes() == WHOLE
    assert (life.run.completion, life.run.flags) == ("end_of_input", ("end_implied",))


def test_the_end_of_a_file_gives_every_gap_up() -> None:
    events = list(whole())
    life = Life(SUITE).feed(events[:2], events[3:-1])
    life.effects += life.session.finish()
    assert life.outcomes()["keeps from saying"] == "not_graded (incomplete)"
    assert life.ledger.held == 0


def test_a_replayed_record_is_counted_apart() -> None:
    session = Session(Fleet((SUITE,)), "run-1", ledger := Ledger())
    events: Sequence[Event] = list(whole())
    for _ in range(3):
        for n, event in enumerate(events):
            session.feed(event, At(n, n))
    assert (ledger.graded, ledger.replayed, ledger.duplicates) == (8, 16, 0)


def test_no_state_outgrows_what_a_changelog_takes() -> None:
    """512 kB is the most (design 5): a run that fills every bound at once, with long names and many checks."""
    checks = [Check(f"echo{n}", AssistantContainsToolOutput(["tool"], f"(?:{n})?V.*"), "minor") for n in range(5)]
    checks += [Check(f"called{n}", ToolCalled(f"never{n}"), "minor") for n in range(40)]
    checks += [Check(f"order{n}", ToolOrder([f"{'t' * 500}{n}"] * 50), "minor") for n in range(10)]
    long = "n" * 5_000
    life = Life(suite_of(*checks))
    life.feed(run(environment=long, session_id=long).starts(labels={f"{n}{long}": long for n in range(99)}, model=long))
    n = 1
    for _ in range(300):
        life.feed(run().calls("t" * 505 + f"{n:05d}", seq=n, id=f"{'c' * 500}{n}", call_id=f"{n}{long}"))
        life.feed(run().returns(f"V{n:06d}" + "v" * 90, name="tool", seq=n + 1, id=f"{'r' * 500}{n}", call_id=None))
        n += 2
    for p in range(15):
        life.feed(*(run(producer=f"{p}{long}").says("x", seq=2 * k, id=f"{p}-{k}") for k in range(4)))
    life.feed(*(run().says("x" * 30_000, seq=n + 1 + 2 * k, id=f"held{k}") for k in range(4)))
    assert life.ledger.held > 40
    assert len(life.session.snapshot()) < 512 * 1024


def test_of_two_starts_the_first_says_who_runs() -> None:
    second = run(producer="p2", agent=Agent("other")).starts(labels={"prompt": "v8"}, reports=())
    life = Life(SUITE).feed(run().starts(labels={"prompt": "v7"}), second, list(run().starts().ends())[1])
    assert life.run.agent == Agent("agent-1", "1.0")
    assert life.run.labels == {"prompt": "v7"}


LABELS = {
    "32 are kept": ({f"n{n}": "v" for n in range(32)}, 32, ()),
    "of 33 the last is cut": ({f"n{n}": "v" for n in range(33)}, 32, ("labels_cut",)),
    "256 characters are kept": ({"n" * 256: "v" * 256}, 1, ()),
    "of a longer value the rest is cut": ({"n": "v" * 257}, 1, ("labels_cut",)),
    "of a longer name too": ({"n" * 257: "v"}, 1, ("labels_cut",)),
}


@pytest.mark.parametrize(("labels", "count", "flags"), LABELS.values(), ids=list(LABELS))
def test_labels_have_their_bounds(labels: dict[str, str], count: int, flags: tuple[str, ...]) -> None:
    life = Life(SUITE).feed(run().starts(labels=labels).ends())
    assert life.run.labels is not None
    assert len(life.run.labels) == count
    assert life.run.flags == flags
    assert all(len(name) <= 256 and len(value) <= 256 for name, value in life.run.labels.items())
