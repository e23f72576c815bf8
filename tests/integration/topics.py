"""What operators and accidents do to a story's topics, and a journal with a past."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.admin.new_partitions import NewPartitions

from stream_graders.events import Event, to_json
from stream_graders.stream.topics import Placement, load_topics, place
from tests.integration.harness import Stage, until


def configure(stage: Stage, role: str, **changes: str) -> None:
    """Set configs of the topic in this role (``_`` for ``.``); the others are as in its file."""
    wanted = place(load_topics(), Placement(app=stage.app, names=stage.names, replication=1))
    [configs] = [topic.configs for topic in wanted if topic.name == stage.topic(role)]
    told = {**configs, **{name.replace("_", "."): value for name, value in changes.items()}}
    resource = ConfigResource(ConfigResourceType.TOPIC, stage.topic(role), told)
    [reply] = _administer(stage, lambda admin: admin.alter_configs([resource]))
    [(code, why, *_)] = reply.resources
    assert code == 0, why


def grow(stage: Stage, role: str, partitions: int) -> None:
    """Add partitions to the topic in this role, up to this count."""
    wanted = {stage.topic(role): NewPartitions(partitions)}
    _administer(stage, lambda admin: admin.create_partitions(wanted))


def delete(stage: Stage, role: str) -> None:
    """Delete the topic in this role."""
    reply = _administer(stage, lambda admin: admin.delete_topics([stage.topic(role)]))
    assert [code for _, code in reply.topic_error_codes] == [0]


def recreate(stage: Stage, role: str) -> None:
    """Delete the topic in this role and make it anew, empty."""
    delete(stage, role)
    until(lambda: _is_made_anew(stage, role), f"the topic {role} being made anew")


def _is_made_anew(stage: Stage, role: str) -> bool:
    stage.set()
    return not stage.read(role)


def tell_at(stage: Stage, told: Iterable[tuple[Event, int]]) -> None:
    """Write events to the journal as if the broker had stamped them with these times, in milliseconds."""
    configure(stage, "journal", message_timestamp_type="CreateTime")
    asyncio.run(_tell_at(stage, told))
    configure(stage, "journal")


async def _tell_at(stage: Stage, told: Iterable[tuple[Event, int]]) -> None:
    journal = stage.topic("journal")
    async with AIOKafkaProducer(bootstrap_servers=stage.bootstrap, enable_idempotence=True, linger_ms=5) as producer:
        futures = [
            await producer.send(journal, to_json(event), event.run_id.encode(), timestamp_ms=at) for event, at in told
        ]
        await asyncio.gather(*futures)


def _administer(stage: Stage, act: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
    async def connected() -> Any:
        admin = AIOKafkaAdminClient(bootstrap_servers=stage.bootstrap)
        await admin.start()
        try:
            return await act(admin)
        finally:
            await admin.close()

    return asyncio.run(connected())
