"""Runs of a size and length that nobody plans for, and producers whose clocks are wrong."""

import msgspec

from stream_graders.events import Event
from stream_graders.session import At, Ledger, Session
from stream_graders.suites import HOUR, Check
from stream_graders.testing import journal, run, run_verdicts_of, session_of, suite_of, verdicts_of
from tests.core.stories import GRADERS

MINUTE = HOUR // 60
KINDS = ["contains", "not contains", "called", "order", "repeated calls", "unseen argument", "ungrounded reply"]


def test_a_run_of_a_hundred_thousand_events_keeps_a_small_state_and_gets_its_verdicts() -> None:
    checks = [Check(name, GRADERS[name], "minor") for name in KINDS if name in GRADERS]
    assert len(checks) >= 5
    session = session_of(suite_of(*checks), "long")
    sizes, offset = [], 0
    for at in range(0, 100_000, 10_000):
        told = run("long").starts() if not at else run("long")
        for n in range(at, at + 2_500):
            told.asks(f"question {n}").calls("orders.find", {"n": n}).returns({"id": f"A-{n}"}).says(f"it is A-{n}")
        events = [msgspec.structs.replace(event, seq=offset + n, id=f"e-{offset + n}") for n, event in enumerate(told)]
        for event in events:
            session.feed(event, At(1_000 + offset, offset, 200))
            offset += 1
        data = session.snapshot()
        sizes.append(len(data))
        session = Session.resume(session.fleet, "long", data, Ledger())
    end = msgspec.structs.replace(run("long").ends().events[0], seq=offset, id="end", last_seq=offset)
    effects = session.feed(end, At(1_000 + offset, offset, 200))
    assert max(sizes) < 128 * 1024
    [verdict] = run_verdicts_of(effects)
    assert (verdict.events, verdict.completion, len(verdict.checks)) == (offset + 1, "run_end", len(checks))


def test_a_run_over_two_days_is_one_segment_a_day() -> None:
    session = session_of(suite_of(GRADERS["contains"]), "slow")
    effects, ages = [], []
    told = run("slow").starts()
    for hour in range(48):  # A pause keeps it from falling silent.
        told.asks(f"hour {hour}").says("one moment").pauses()
    for n, event in enumerate(told):
        now = 1_000 + (max(0, n - 1) // 3) * HOUR
        found = session.feed(event, At(now, n, 200))
        effects += found
        ages += [now // HOUR for verdict in run_verdicts_of(found)]
    verdicts = run_verdicts_of(effects)
    assert [(v.completion, "resumed" in v.flags) for v in verdicts] == [("max_age", False)]
    assert ages == [24]
    assert session.phase == "open"
    assert "resumed" in session.flags
    assert len({v.id for v in verdicts_of(effects)}) == len(verdicts_of(effects))


def test_a_clock_an_hour_ahead_or_a_day_behind_changes_no_deadline_and_no_outcome() -> None:
    def outcomes(shift: int) -> list[tuple[str, str, str]]:
        story = run("r").starts().asks("hello").calls("orders.find").returns({"id": "A-1"}).says("it is A-1")
        events = [replaced(event, shift) for event in story]
        session = session_of(suite_of(*(GRADERS[name] for name in ("contains", "called", "order"))), "r")
        effects = [effect for event, at in journal(events) for effect in session.feed(event, at)]
        assert not run_verdicts_of(effects)
        assert session.deadline() == 5_000 + 15 * MINUTE
        effects += session.advance(5_000 + 15 * MINUTE)
        return [(v.check, v.outcome, v.evidence) for v in verdicts_of(effects)]

    assert outcomes(3_600) == outcomes(0) == outcomes(-86_400)


def replaced(event: Event, seconds: int) -> Event:
    """The event by a clock that is so far ahead."""
    ts = event.ts
    assert isinstance(ts, int)
    return msgspec.structs.replace(event, ts=ts + seconds * 1_000_000_000)
