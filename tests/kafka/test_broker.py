"""The broker that other tests rely on does what they rely on."""

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.kafka.broker import BrokerError, KafkaBroker

LOG_APPEND_TIME = 1
pytestmark = pytest.mark.requires_kafka


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[KafkaBroker]:
    with KafkaBroker(tmp_path) as broker:
        yield broker


async def create(bootstrap: str, topic: str, **configs: str) -> None:
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    try:
        topic_configs = {name.replace("_", "."): value for name, value in configs.items()}
        reply = await client.create_topics([NewTopic(topic, 1, 1, topic_configs=topic_configs)])
    finally:
        await client.close()
    assert [error["error_code"] for error in reply.to_object()["topic_errors"]] == [0]


async def send(bootstrap: str, topic: str, value: bytes, timestamp_ms: int | None = None) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True) as producer:
        await producer.send_and_wait(topic, value, timestamp_ms=timestamp_ms)


async def read(bootstrap: str, topic: str, count: int) -> list[ConsumerRecord[bytes, bytes]]:
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        return [await asyncio.wait_for(consumer.getone(), timeout=20) for _ in range(count)]


def test_it_stamps_the_append_time_over_the_producers(kafka: KafkaBroker) -> None:
    async def round_trip() -> ConsumerRecord[bytes, bytes]:
        await create(kafka.bootstrap, "append-time", message_timestamp_type="LogAppendTime")
        await send(kafka.bootstrap, "append-time", b"hello", timestamp_ms=1_000)
        [record] = await read(kafka.bootstrap, "append-time", 1)
        return record

    before = time.time_ns() // 1_000_000
    record = asyncio.run(round_trip())
    assert record.value == b"hello"
    assert record.timestamp_type == LOG_APPEND_TIME
    assert before <= record.timestamp <= time.time_ns() // 1_000_000


@pytest.mark.parametrize("end", [KafkaBroker.stop, KafkaBroker.kill], ids=["stopped", "killed"])
def test_it_comes_back_on_its_port_with_its_data(own_kafka: KafkaBroker, end: Callable[[KafkaBroker], None]) -> None:
    async def fill() -> None:
        await create(own_kafka.bootstrap, "kept")
        await send(own_kafka.bootstrap, "kept", b"first")

    async def go_on() -> list[bytes | None]:
        await send(own_kafka.bootstrap, "kept", b"second")
        return [record.value for record in await read(own_kafka.bootstrap, "kept", 2)]

    asyncio.run(fill())
    address, pid = own_kafka.bootstrap, own_kafka.pid
    end(own_kafka)
    own_kafka.start()
    assert (own_kafka.bootstrap, own_kafka.pid != pid) == (address, True)
    assert asyncio.run(go_on()) == [b"first", b"second"]


def test_a_broker_that_ends_at_its_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(BrokerError, match=r"log\.retention\.hours"):
        KafkaBroker(tmp_path, {"log.retention.hours": "soon"}).start()


def test_it_cannot_be_started_twice(kafka: KafkaBroker) -> None:
    with pytest.raises(BrokerError, match="already running"):
        kafka.start()
