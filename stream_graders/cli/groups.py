"""Groups and records of Kafka, as `stream-graders doctor` looks at them."""

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import for_code

from ..settings import Settings

ANSWERS_WITHIN = 20_000
"""Milliseconds that Kafka may take."""


async def members(admin: AIOKafkaAdminClient, group: str) -> tuple[list[str], str]:
    """The members of a group, and its state.

    Raises:
        KafkaError: this client may not look at it.
    """
    reply: Any
    [reply] = await admin.describe_consumer_groups([group])
    [(code, _, state, _, _, present, *_)] = reply.groups
    if code:
        raise for_code(code)(group)
    return [member[0] for member in present], state


@asynccontextmanager
async def reader(settings: Settings) -> AsyncIterator[AIOKafkaConsumer]:
    """A consumer without a group."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=settings.bootstrap, group_id=None, enable_auto_commit=False, **settings.security.client()
    )
    await consumer.start()
    try:
        yield consumer
    finally:
        await consumer.stop()


async def oldest(consumer: AIOKafkaConsumer, at: dict[TopicPartition, int]) -> float | None:
    """Seconds for which the oldest unread record has waited."""
    ages = [time.time() - record.timestamp / 1000 for record in await records(consumer, at)]
    return max(ages, default=None)


async def newest(
    consumer: AIOKafkaConsumer, begins: dict[TopicPartition, int], ends: dict[TopicPartition, int]
) -> float | None:
    """When the newest record was appended, in seconds since the epoch."""
    last = {place: end - 1 for place, end in ends.items() if end > begins[place]}
    return max((record.timestamp / 1000 for record in await records(consumer, last)), default=None)


async def records(consumer: AIOKafkaConsumer, at: dict[TopicPartition, int]) -> list[Any]:
    """The records at these offsets, as far as they come in good time."""
    waiting, found = set(at), list[Any]()
    for partition, offset in at.items():
        consumer.seek(partition, offset)
    ends = time.monotonic() + ANSWERS_WITHIN / 1000
    while waiting and time.monotonic() < ends:
        for partition, batch in (await consumer.getmany(*waiting, timeout_ms=500)).items():
            found.append(batch[0])
            waiting.discard(partition)
    return found


async def committed(
    admin: AIOKafkaAdminClient, group: str, begins: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Up to where a group has committed, of the partitions in which it has."""
    offsets: Any = await admin.list_consumer_group_offsets(group)
    return {place: offsets[place].offset for place in begins if place in offsets and offsets[place].offset >= 0}


def unread(
    done: Mapping[TopicPartition, int], begins: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """How many records wait behind what is committed, of the partitions in which some do."""
    counts = {place: ends[place] - max(done.get(place, begins[place]), begins[place]) for place in begins}
    return {place: count for place, count in counts.items() if count > 0}
