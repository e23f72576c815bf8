"""The embedded broker does what the demo and other tests rely on.

What Kafka does and this broker does not is tested too: an upgrade that changes it should be noticed.
"""

import asyncio
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from stream_graders.demo import broker as module
from stream_graders.demo.broker import BrokerError, EmbeddedBroker

MEMBER = """
import asyncio, sys
from aiokafka import AIOKafkaConsumer

async def main(bootstrap, topic, instance):
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=topic, group_instance_id=instance or None,
        session_timeout_ms=10_000, heartbeat_interval_ms=1_000, enable_auto_commit=False, auto_offset_reset="earliest",
    )
    await consumer.start()
    record = await consumer.getone()
    await consumer.commit()
    print(record.value.decode(), flush=True)
    await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path) as running:
        yield running


async def create(broker: EmbeddedBroker, topic: str, partitions: int = 1, **configs: str) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await client.start()
    try:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        reply = await client.create_topics([NewTopic(topic, partitions, 1, topic_configs=named)])
    finally:
        await client.close()
    assert [error["error_code"] for error in reply.to_object()["topic_errors"]] == [0]


async def configs_of(broker: EmbeddedBroker, topic: str) -> dict[str, str]:
    client = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
    await client.start()
    try:
        [reply] = await client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    finally:
        await client.close()
    [resource] = reply.to_object()["resources"]
    return {entry["config_names"]: entry["config_value"] for entry in resource["config_entries"]}


async def send(broker: EmbeddedBroker, topic: str, *values: bytes, timestamp_ms: int | None = None) -> None:
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap, enable_idempotence=True) as producer:
        for sent in [await producer.send(topic, value, timestamp_ms=timestamp_ms) for value in values]:
            await sent


async def read(broker: EmbeddedBroker, topic: str, count: int) -> list[ConsumerRecord[bytes, bytes]]:
    async with AIOKafkaConsumer(topic, bootstrap_servers=broker.bootstrap, auto_offset_reset="earliest") as consumer:
        return [await asyncio.wait_for(consumer.getone(), timeout=20) for _ in range(count)]


async def first_of(broker: EmbeddedBroker, topic: str, instance: str) -> str:
    """What a member that joins the group reads first; it has a process of its own, and then is killed."""
    command = [sys.executable, "-c", MEMBER, broker.bootstrap, topic, instance]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE)
    assert process.stdout is not None
    try:
        return (await asyncio.wait_for(process.stdout.readline(), timeout=40)).decode().strip()
    finally:
        process.kill()
        await process.communicate()


async def succession(broker: EmbeddedBroker, topic: str, instance: str = "") -> tuple[list[str], float]:
    """What a member reads, then its successor after the kill, and how many seconds that took."""
    await create(broker, topic)
    await send(broker, topic, b"one")
    heard = [await first_of(broker, topic, instance)]
    started = time.monotonic()
    await send(broker, topic, b"two")
    heard.append(await first_of(broker, topic, instance))
    return heard, time.monotonic() - started


def test_it_stamps_the_append_time_where_the_topic_says_so(broker: EmbeddedBroker) -> None:
    async def stamps() -> list[tuple[int, int]]:
        await create(broker, "append", message_timestamp_type="LogAppendTime")
        await create(broker, "created")
        for topic in ("append", "created"):
            await send(broker, topic, b"x", timestamp_ms=1_000)
        return [
            (r.timestamp, r.timestamp_type) for topic in ("append", "created") for r in await read(broker, topic, 1)
        ]

    before = time.time_ns() // 1_000_000
    [(appended, kind), created] = asyncio.run(stamps())
    assert kind == 1
    assert before <= appended <= time.time_ns() // 1_000_000
    assert created == (1_000, 0)


def test_it_tells_a_topics_configuration_with_its_defaults(broker: EmbeddedBroker) -> None:
    async def told() -> dict[str, str]:
        await create(broker, "configured", cleanup_policy="compact", max_message_bytes="2097152")
        return await configs_of(broker, "configured")

    configs = asyncio.run(told())
    assert (configs["cleanup.policy"], configs["max.message.bytes"]) == ("compact", "2097152")
    assert (configs["message.timestamp.type"], configs["retention.ms"]) == ("CreateTime", "604800000")


def test_the_end_of_a_partition_counts_records_not_batches(broker: EmbeddedBroker) -> None:
    async def end() -> int:
        await create(broker, "ends")
        await send(broker, "ends", b"a", b"b", b"c")
        async with AIOKafkaConsumer(bootstrap_servers=broker.bootstrap) as consumer:
            place = TopicPartition("ends", 0)
            return int((await consumer.end_offsets([place]))[place])

    assert asyncio.run(end()) == 3


def test_a_static_member_that_was_killed_has_a_successor_at_once(broker: EmbeddedBroker) -> None:
    heard, seconds = asyncio.run(succession(broker, "static", "slot-1"))
    assert heard == ["one", "two"]
    assert seconds < module.STUCK_AFTER


def test_the_janitor_frees_a_group_from_a_member_that_was_killed(broker: EmbeddedBroker) -> None:
    heard, seconds = asyncio.run(succession(broker, "dynamic"))
    assert heard == ["one", "two"]
    # Should this fail because it was faster: the broker now evicts the dead by itself, and the janitor can go.
    assert seconds > module.STUCK_AFTER


def test_it_comes_back_on_its_port_with_its_data(own_broker: EmbeddedBroker) -> None:
    async def round_trip(topic: str, value: bytes, count: int) -> list[bytes | None]:
        await send(own_broker, topic, value)
        return [record.value for record in await read(own_broker, topic, count)]

    address, pid = own_broker.bootstrap, own_broker.pid
    asyncio.run(create(own_broker, "kept"))
    assert asyncio.run(round_trip("kept", b"first", 1)) == [b"first"]
    own_broker.stop()
    own_broker.start()
    assert (own_broker.bootstrap, own_broker.pid != pid) == (address, True)
    assert asyncio.run(round_trip("kept", b"second", 2)) == [b"first", b"second"]


def test_it_leaves_nothing_behind() -> None:
    with EmbeddedBroker() as broker:
        pid = broker.pid
        directory = Path(f"/proc/{pid}/fd/1").readlink().parent  # where its output goes
        assert directory.is_dir()
    assert not Path(f"/proc/{pid}").exists()
    assert not directory.exists()


def test_a_broker_that_ends_at_its_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the broker wants a folder")
    with pytest.raises(BrokerError, match=r"^the broker ended with \d+: ") as raised:
        EmbeddedBroker(tmp_path).start()
    assert "GLIBC" not in str(raised.value)


def test_a_missing_package_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(BrokerError, match=r"pip install 'stream-graders\[demo\]'"):
        EmbeddedBroker(tmp_path).start()


def test_it_cannot_be_asked_for_what_it_has_not_yet(tmp_path: Path) -> None:
    broker = EmbeddedBroker(tmp_path)
    with pytest.raises(BrokerError, match="not started"):
        _ = broker.bootstrap
    with pytest.raises(BrokerError, match="not running"):
        _ = broker.pid


def test_it_cannot_be_started_twice(broker: EmbeddedBroker) -> None:
    with pytest.raises(BrokerError, match="already running"):
        broker.start()
