"""The emitter on a broker: what arrives, and what a broker that goes away costs."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRecord
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.partitioner import DefaultPartitioner

from stream_graders.demo.broker import EmbeddedBroker
from stream_graders.emit import Emitter
from stream_graders.emit import kafka as sink_module
from stream_graders.emit.kafka import TOPIC, KafkaSink
from stream_graders.events import Event
from stream_graders.wire import decode
from tests.kafka.broker import KafkaBroker

PARTITIONS = 4


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path) as running:
        asyncio.run(make_topic(running.bootstrap))
        yield running


async def make_topic(bootstrap: str, topic: str = TOPIC) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    try:
        await client.create_topics([NewTopic(topic, PARTITIONS, 1)])
    finally:
        await client.close()


async def read(bootstrap: str, count: int) -> list[ConsumerRecord[bytes, bytes]]:
    async with AIOKafkaConsumer(TOPIC, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        return [await asyncio.wait_for(consumer.getone(), timeout=20) for _ in range(count)]


def events_of(records: list[ConsumerRecord[bytes, bytes]], run_id: str) -> list[Event]:
    events = [decode(record.value, record.key) for record in records]
    return [event for event in events if isinstance(event, Event) and event.run_id == run_id]


def test_events_lie_in_order_on_the_partition_of_their_run(broker: EmbeddedBroker) -> None:
    emitter = Emitter(KafkaSink(broker.bootstrap))
    for n in range(20):
        with emitter.run(f"r-{n}") as run:
            run.user("hello")
    emitter.close(timeout=30)
    assert emitter.stats().sent == 60
    records = asyncio.run(read(broker.bootstrap, 60))
    partitions = list(range(PARTITIONS))
    for record in records:
        assert record.key is not None
        assert record.partition == DefaultPartitioner()(record.key, partitions, partitions)
    for n in range(20):
        assert [event.seq for event in events_of(records, f"r-{n}")] == [0, 1, 2]


def test_a_broker_that_goes_and_comes_back_costs_nothing(
    broker: EmbeddedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    emitter = Emitter(KafkaSink(broker.bootstrap))
    run = emitter.run("r-1")
    assert emitter.flush(timeout=30)
    broker.stop()
    for n in range(2_000):
        run.user(f"said while the broker was away: {n}")
    run.end()
    assert not emitter.flush(timeout=1)
    broker.start()
    assert emitter.flush(timeout=60)
    emitter.close()
    records = asyncio.run(read(broker.bootstrap, 2_002))
    assert {event.seq for event in events_of(records, "r-1")} == set(range(2_002))
    assert emitter.stats().dropped == {}
    assert len([record for record in caplog.records if record.threadName == "stream-graders-emit"]) <= 1


def test_a_broker_that_comes_late_costs_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with EmbeddedBroker(tmp_path) as broker:
        asyncio.run(make_topic(broker.bootstrap))
        broker.stop()
        emitter = Emitter(KafkaSink(broker.bootstrap))
        with emitter.run("r-1") as run:
            run.user("hello")
        assert not emitter.flush(timeout=1)
        broker.start()
        assert emitter.flush(timeout=60)
        emitter.close()
        assert len(asyncio.run(read(broker.bootstrap, 3))) == 3
    [told] = [record for record in caplog.records if record.name == "stream_graders.emit"]
    assert told.levelno == logging.WARNING
    assert f"{TOPIC} on {broker.bootstrap}: KafkaConnectionError" in told.getMessage()


def test_a_record_the_broker_refuses_is_lost_alone(broker: EmbeddedBroker) -> None:
    emitter = Emitter(KafkaSink(broker.bootstrap, max_request_size=100_000))
    with emitter.run("r-1") as run:
        for size in (10, 200_000, 10):
            run.user("x" * size)
    emitter.close(timeout=30)
    assert [event.seq for event in events_of(asyncio.run(read(broker.bootstrap, 4)), "r-1")] == [0, 1, 3, 4]
    assert (emitter.stats().sent, emitter.stats().failed) == (4, 1)


def test_a_topic_that_nobody_made_is_named_and_waited_for(
    kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sink_module, "REQUEST_TIMEOUT_MS", 1_000)
    emitter = Emitter(KafkaSink(kafka.bootstrap, "made-late"))
    emitter.run("r-1")
    assert not emitter.flush(timeout=3)
    [told] = [record for record in caplog.records if record.name == "stream_graders.emit"]
    assert "the topic is not there; create it: stream-graders topics apply" in told.getMessage()
    asyncio.run(make_topic(kafka.bootstrap, "made-late"))
    assert emitter.flush(timeout=60)
    emitter.close()


def test_a_script_that_ends_at_once_is_connected_all_the_same(broker: EmbeddedBroker) -> None:
    script = """
import sys
from stream_graders.emit import Emitter
from stream_graders.emit.kafka import KafkaSink

# A host name, not an address: at exit Python refuses to look one up in a pool of threads.
with Emitter(KafkaSink(sys.argv[1].replace("127.0.0.1", "localhost"))).run("r-1") as run:
    run.user("hello")
"""
    done = subprocess.run(
        [sys.executable, "-c", script, broker.bootstrap], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(asyncio.run(read(broker.bootstrap, 3))) == 3


def test_a_child_forked_under_way_sends_its_own(broker: EmbeddedBroker) -> None:
    script = """
import os, sys, warnings
from stream_graders.emit import Emitter
from stream_graders.emit.kafka import KafkaSink

warnings.simplefilter("ignore", DeprecationWarning)
emitter = Emitter(KafkaSink(sys.argv[1]))
run = emitter.run("r-1")
assert emitter.flush(timeout=30)
child = os.fork()
run.user("child" if child == 0 else "parent")
emitter.close(timeout=30)
if child == 0:
    sys.exit(0 if emitter.stats().sent == 1 else 1)
assert os.waitpid(child, 0)[1] == 0
assert emitter.stats().sent == 2
"""
    done = subprocess.run(
        [sys.executable, "-c", script, broker.bootstrap], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    records = asyncio.run(read(broker.bootstrap, 3))
    assert len({event.producer for event in events_of(records, "r-1")}) == 2
