"""Faults of delivery: those that pass, those that stay, and a deadline."""

import logging
import threading

import pytest

from stream_graders.emit import Emitter
from stream_graders.emit.backlog import MAX_EVENTS
from stream_graders.emit.sinks import MemorySink
from tests.emit.held import FaultySink, HeldSink


def test_a_fault_that_passes_costs_nothing() -> None:
    sink = FaultySink(outages=2)
    emitter = Emitter(sink)
    with emitter.run() as run:
        run.user("hello")
    emitter.close()
    assert [event.seq for event in sink.events] == [0, 1, 2]
    assert (emitter.stats().sent, emitter.stats().dropped) == (3, {})


def test_what_is_refused_for_good_does_not_take_its_neighbours_along() -> None:
    sink = FaultySink()
    emitter = Emitter(sink)
    with emitter.run() as run:
        for text in ("one", "poison", "two", "more poison", "three"):
            run.user(text)
    emitter.close()
    assert [event.seq for event in sink.events] == [0, 1, 3, 5, 6]
    assert (emitter.stats().sent, emitter.stats().failed) == (5, 2)


def test_the_log_hears_of_it_at_most_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    emitter = Emitter(FaultySink(outages=3))
    emitter.run()
    emitter.close()
    [record] = [record for record in caplog.records if record.name.startswith("stream_graders")]
    assert record.levelno == logging.WARNING
    assert "memory: broker away; 1 wait, 0 were dropped so far" in record.getMessage()


def test_the_log_hears_of_a_full_backlog(caplog: pytest.LogCaptureFixture) -> None:
    sink = HeldSink()
    emitter = Emitter(sink)
    run = emitter.run()
    for _ in range(MAX_EVENTS + 10):
        run.user("x")
    [record] = caplog.records
    assert f"more are enqueued than are sent; {MAX_EVENTS} wait, 1 were dropped so far" in record.getMessage()
    sink.release()
    emitter.close(timeout=60)


def test_a_sink_that_raises_is_a_sink_with_a_fault() -> None:
    class Raising(FaultySink):
        async def send(self, records):  # type: ignore[no-untyped-def]  # as somebody's own sink may be written
            if self.outages:
                self.outages -= 1
                raise RuntimeError("no such host")
            return await super().send(records)

    sink = Raising(outages=1)
    emitter = Emitter(sink)
    emitter.run()
    emitter.close()
    assert emitter.stats().sent == 1


def test_the_end_waits_for_what_can_be_sent() -> None:
    sink = HeldSink()
    emitter = Emitter(sink)
    emitter.run()
    closing = threading.Thread(target=emitter.close, kwargs={"timeout": 60})
    closing.start()
    sink.release()
    closing.join()
    assert emitter.stats().sent == 1


def test_after_its_deadline_the_rest_is_dropped_and_counted() -> None:
    emitter = Emitter(HeldSink())
    with emitter.run() as run:
        run.user("hello")
        assert not emitter.flush(timeout=0.1)
        run.assistant("there")
    emitter.close(timeout=0.1)
    run.outcome("too", "late")
    stats = emitter.stats()
    assert (stats.enqueued, stats.sent, stats.waiting) == (5, 0, 0)
    assert stats.dropped == {"run.start": 1, "message": 2, "run.end": 1, "run.outcome": 1}


def test_many_threads_share_a_run() -> None:
    sink = MemorySink()
    emitter = Emitter(sink)
    with emitter.run() as run:

        def talk() -> None:
            for _ in range(200):
                run.user("x")

        threads = [threading.Thread(target=talk) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    emitter.close()
    assert [event.seq for event in sink.events] == list(range(1_602))


def test_nothing_is_started_before_there_is_something_to_send() -> None:
    emitter = Emitter(MemorySink())
    emitter.close()
    assert emitter._outbox._sender is None
