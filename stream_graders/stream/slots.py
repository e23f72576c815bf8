"""Knows whether another worker took this one's slot.

A slot is a static membership of the consumer group: a worker that starts with the slot of one that died takes its place
at once. Should that one be alive, it finds at its next heartbeat that the group does not know it, joins again, and the
two take each other's place for ever. So whoever is not known asks first who stands in its place.
"""

import asyncio
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from ..settings import Settings

ASKS_FOR = 10.0
"""Seconds; whoever gets no answer joins again, as a worker does that was silent for too long."""
_UUID = 36


def member_name(app: str, slot: str) -> str:
    """What a slot is called in the consumer group."""
    return f"{app}-{slot}"


async def is_taken(settings: Settings) -> bool:
    """Is there a member in this slot? To be asked by one that the group does not know."""
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap, **settings.security.client())
    try:
        async with asyncio.timeout(ASKS_FOR):
            await admin.start()
            reply: Any
            [reply] = await admin.describe_consumer_groups([settings.app])
    except (KafkaError, OSError, TimeoutError):
        return False
    finally:
        await admin.close()
    name = member_name(settings.app, settings.slot)
    [group] = reply.groups
    _, _, _, _, _, members, *_ = group
    # Kafka calls a static member by its name, a dash and a UUID; the name of another slot may begin with ours.
    return any(member.startswith(f"{name}-") and len(member) == len(name) + 1 + _UUID for member, *_ in members)
