"""Which rights a worker has, asked before it starts: without one it would stop in the middle of a batch, and say less.

Kafka tells a client what it may do with a topic or a group (KIP-430). A cluster without an authorizer allows all; one
that does not know the question is not asked, and shows what is missing when it refuses.
"""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import (
    GroupAuthorizationFailedError,
    GroupCoordinatorNotAvailableError,
    TopicAuthorizationFailedError,
    for_code,
)
from aiokafka.protocol.admin import DescribeGroupsRequest_v3, DescribeGroupsResponse_v3
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Int16, Int32, Schema, String

from . import guards

READ, WRITE, DESCRIBE, DESCRIBE_CONFIGS = "Read", "Write", "Describe", "DescribeConfigs"
_BITS = {READ: 3, WRITE: 4, DESCRIBE: 8, DESCRIBE_CONFIGS: 10}
"""Kafka's AclOperation codes: the bits of what it answers."""
NOT_ASKED = -(2**31)
COORDINATED_WITHIN = 10.0
"""Seconds; the first group of a new cluster waits for Kafka to make the topic that it keeps offsets in."""

TOPICS = {
    "journal": (READ, WRITE, DESCRIBE_CONFIGS),  # Written to: a tick lets time pass where nobody writes.
    "verdicts": (WRITE, DESCRIBE_CONFIGS),
    "run_verdicts": (WRITE, DESCRIBE_CONFIGS),
    "violations": (WRITE, DESCRIBE_CONFIGS),
    "dead_letters": (WRITE, DESCRIBE_CONFIGS),
    "judge_requests": (WRITE, DESCRIBE_CONFIGS),
    "changelog": (READ, WRITE, DESCRIBE_CONFIGS),
    "leader": (READ,),
}
"""What a worker does with its topics. Read and Write each hold Describe."""


class RightsError(Exception):
    """Rights that are missing; the message names every one, a line a topic or group."""


async def check(admin: AIOKafkaAdminClient, names: Mapping[str, str], group: str) -> None:
    """Does this client have the rights that a worker needs?

    Raises:
        RightsError: it has not.
        KafkaError: the cluster cannot be asked.
    """
    try:
        problems = [*await _on_topics(admin, names), *await _on_group(admin, group)]
    except NotImplementedError:  # What aiokafka raises where a broker does not know a request.
        return
    if problems:
        raise RightsError("\n".join(problems))


def missing(kind: str, name: str, *operations: str) -> str:
    """That a client lacks rights, in a line."""
    wanted = " and ".join(operations)
    return f"the right {wanted} on {kind} {name} is missing: grant this client {wanted} (docs/security.md)"


def lost(error: TopicAuthorizationFailedError, *operations: str) -> NoReturn:
    """End a running worker that has lost a right: started again it would be refused."""
    guards.end(guards.WorkerExit.SETTINGS, missing("topic", str(error.args[0]), *operations))


async def _on_topics(admin: AIOKafkaAdminClient, names: Mapping[str, str]) -> list[str]:
    answer: Any = await admin._send_request(_Metadata(list(names.values())))
    # Of a topic that it hides Kafka tells nothing: what lets a client see it is missing, the configs may not be.
    refused, hidden = TopicAuthorizationFailedError.errno, 1 << _BITS[DESCRIBE_CONFIGS]
    allowed = {topic: hidden if code == refused else operations for code, topic, _, _, operations in answer.topics}
    return [
        missing("topic", name, *lacking)
        for role, name in names.items()
        if (lacking := list(_lacking(TOPICS[role], allowed.get(name, NOT_ASKED))))
    ]


async def _on_group(admin: AIOKafkaAdminClient, group: str) -> list[str]:
    try:
        code, allowed = await _described(admin, group)
    except GroupAuthorizationFailedError:
        return [missing("group", group, READ)]
    refused = code == GroupAuthorizationFailedError.errno
    return [missing("group", group, READ)] if refused or any(_lacking((READ,), allowed)) else []


async def _described(admin: AIOKafkaAdminClient, group: str) -> tuple[int, int]:
    """Kafka's error code, and what may be done with the group."""
    ends = time.monotonic() + COORDINATED_WITHIN
    while True:
        code = GroupCoordinatorNotAvailableError.errno
        with suppress(GroupCoordinatorNotAvailableError):
            node = await admin.find_coordinator(group)
            answer: Any = await admin._send_request(_Groups(group), node)
            [(code, *_, allowed)] = answer.groups
            if not for_code(code).retriable:
                return code, allowed
        if time.monotonic() > ends:
            raise for_code(code)(f"group {group} has no coordinator")
        await asyncio.sleep(0.1)


def _lacking(needed: tuple[str, ...], allowed: int) -> Iterator[str]:
    if allowed != NOT_ASKED:
        yield from (operation for operation in needed if not allowed >> _BITS[operation] & 1)


# -- the two requests: aiokafka knows the first up to version 5, and reads the answer to the second as an older one's -----


class _Metadata8Response(Response):
    API_KEY, API_VERSION = 3, 8
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("brokers", Array(("node_id", Int32), ("host", String()), ("port", Int32), ("rack", String()))),
        ("cluster_id", String()),
        ("controller_id", Int32),
        (
            "topics",
            Array(
                ("error_code", Int16),
                ("topic", String()),
                ("is_internal", Boolean),
                (
                    "partitions",
                    Array(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", Array(Int32)),
                        ("isr", Array(Int32)),
                        ("offline_replicas", Array(Int32)),
                    ),
                ),
                ("authorized_operations", Int32),
            ),
        ),
        ("cluster_authorized_operations", Int32),
    )


class _Metadata8(RequestStruct):
    API_KEY, API_VERSION = 3, 8
    RESPONSE_TYPE = _Metadata8Response
    SCHEMA = Schema(
        ("topics", Array(String())),
        ("allow_auto_topic_creation", Boolean),
        ("include_cluster_authorized_operations", Boolean),
        ("include_topic_authorized_operations", Boolean),
    )


class _Metadata(Request[_Metadata8]):
    API_KEY = 3

    def __init__(self, topics: list[str]) -> None:
        self._topics = topics

    def build(self, request_struct_class: type[_Metadata8]) -> _Metadata8:
        return request_struct_class(self._topics, False, False, True)


class _Groups3(DescribeGroupsRequest_v3):
    RESPONSE_TYPE = DescribeGroupsResponse_v3  # type: ignore[assignment]  # aiokafka says that of version 2


class _Groups(Request[_Groups3]):
    API_KEY = 15

    def __init__(self, group: str) -> None:
        self._group = group

    def build(self, request_struct_class: type[_Groups3]) -> _Groups3:
        return request_struct_class([self._group], True)
