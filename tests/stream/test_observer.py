"""What is measured of a worker second by second: lag, overdue deadlines, the group, the loop."""

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.settings import Settings
from stream_graders.stream import batching, guards
from stream_graders.stream.app import build
from stream_graders.stream.desk import Desk
from stream_graders.stream.guards import StallGuard
from stream_graders.stream.observer import Observer
from stream_graders.suites import Fleet
from stream_graders.testing import run, suite_of
from tests.stream.test_desk import recorded

FLEET = Fleet((suite_of(TranscriptContains("welcome")),))
OPENED = 1_000
"""The log time at which the run below opened, in milliseconds."""
DUE = OPENED / 1000 + 600
"""When the agent's silence ends it, in seconds."""


@pytest.fixture
def observer() -> Iterator[Observer]:
    """That of a worker which was built and not started, with one run on one partition of four."""
    loop = asyncio.new_event_loop()  # Faust takes the one that is set, or makes one that nobody closes.
    asyncio.set_event_loop(loop)
    _, observer = build(Settings("127.0.0.1:1", "unstarted", metrics_port=0), FLEET, partitions=4)
    worker = observer._worker
    worker.app = SimpleNamespace(
        consumer=SimpleNamespace(_committed_offset={})
    )  # A real one makes a thread and a loop.
    desk = worker.desks[2] = Desk(FLEET, ("journal", 2, 4), {}, worker.counts)
    event = run().starts().says("welcome").events[0]
    desk.grade(recorded([event], since=OPENED))
    desk.take(0)
    yield observer
    observer.close()
    asyncio.set_event_loop(None)
    loop.close()


def seen(observer: Observer, name: str, **labels: str) -> float | None:
    return observer.metrics.registry.get_sample_value(f"stream_graders_{name}", labels)


@pytest.mark.parametrize(("end", "lag", "overdue"), [(1, 0, 30.0), (3, 2, 0.0), (None, 0, 30.0)])
def test_a_deadline_that_nobody_kept_is_told_where_nothing_waits_to_be_read(
    observer: Observer, monkeypatch: pytest.MonkeyPatch, end: int | None, lag: int, overdue: float
) -> None:
    monkeypatch.setattr(batching, "end_of", lambda *_: end)  # What the last fetch told, and there was none.
    observer._measure(DUE + 30)
    assert seen(observer, "consumer_lag_records", partition="2") == lag
    assert seen(observer, "deadline_overdue_seconds") == overdue
    observer._measure(DUE - 1)
    assert seen(observer, "deadline_overdue_seconds") == 0


def test_a_worker_that_does_not_get_to_its_first_record_falls_behind_from_its_last_commit(
    observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = observer._worker
    monkeypatch.setattr(batching, "end_of", lambda *_: 50)
    monkeypatch.setattr(worker, "committed", lambda partition: 40)
    worker.desks = {3: Desk(FLEET, ("journal", 3, 4), {}, worker.counts)}
    observer._measure(2.0)
    assert seen(observer, "consumer_lag_records", partition="3") == 10
    assert seen(observer, "consumer_lag_seconds", partition="3") == 0, "nothing tells how old they are"


def test_a_partition_that_is_another_workers_is_not_told_any_more(
    observer: Observer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "end_of", lambda *_: 7)
    observer._measure(2.0)
    assert seen(observer, "committed_offset", partition="2") == 0
    observer._worker.desks = {}
    observer._measure(3.0)
    for name in ("consumer_lag_records", "consumer_lag_seconds", "shedding_lag_seconds", "committed_offset"):
        assert seen(observer, name, partition="2") is None


def test_rebalances_and_recoveries_are_counted(observer: Observer) -> None:
    table = observer._table
    observer._worker.desks = {}
    observer._measure(1.0)
    assert (seen(observer, "recovering"), seen(observer, "rebalances_total")) == (1, 0)
    for _ in range(2):
        asyncio.run(table.on_rebalance(set(), set(), set()))
    observer._measure(2.0)
    assert (seen(observer, "recovering"), seen(observer, "rebalances_total")) == (1, 2)
    assert seen(observer, "recovery_duration_seconds_count") == 0
    asyncio.run(table.on_recovery_completed(set(), set()))
    observer._measure(3.0)
    observer._measure(4.0)
    assert (seen(observer, "recovering"), seen(observer, "recovery_duration_seconds_count")) == (0, 1)


def test_how_long_the_loop_kept_others_waiting_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "BEAT", 0.0)

    async def story() -> tuple[float, float]:
        guard = StallGuard(limit=1e9)
        beating = asyncio.create_task(guard.beat())
        await asyncio.sleep(0)
        guard.last -= 1_000.0  # As if the loop had stood still after its last beat.
        for _ in range(3):
            await asyncio.sleep(0)
        longest = guard.longest()
        await asyncio.sleep(0)
        beating.cancel()
        return longest, guard.longest()

    longest, after = asyncio.run(story())
    assert longest >= 1_000.0
    assert after < 1_000.0
