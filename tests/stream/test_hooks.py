"""The private names of Faust and aiokafka that `batching` and `table` lean on, as of the pinned version.

An upgrade that renames one, or gives it other parameters, fails here and not in production.
"""

import asyncio
import inspect
from importlib.metadata import version

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.conn import AIOKafkaConnection
from aiokafka.consumer import AIOKafkaConsumer
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.producer.message_accumulator import BatchBuilder
from aiokafka.producer.producer import AIOKafkaProducer
from aiokafka.protocol.api import Request
from aiokafka.protocol.group import JoinGroupRequest
from faust import Table
from faust.app import App
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.transport.consumer import Consumer
from faust.transport.drivers import aiokafka as driver


def test_the_version_is_the_one_that_was_read() -> None:
    assert version("faust-streaming").startswith("0.15.")


@pytest.mark.parametrize(
    ("owner", "name", "parameters"),
    [
        (driver.Consumer, "_getmany", ["self", "active_partitions", "timeout"]),
        (driver.Consumer, "_to_message", ["self", "tp", "record"]),
        (driver.Consumer, "_new_consumer_thread", ["self"]),
        (Consumer, "_add_gap", ["self", "tp", "offset_from", "offset_to"]),
        (Consumer, "_new_offset", ["self", "tp"]),
        (Consumer, "perform_seek", ["self"]),
        (Consumer, "resume_partitions", ["self", "tps"]),
        (Consumer, "resume_flow", ["self"]),
        (Consumer, "on_partitions_revoked", ["self", "revoked"]),
        (Consumer, "on_partitions_assigned", ["self", "assigned", "generation_id"]),
        (driver.Consumer, "seek_to_committed", ["self"]),
        (driver.AIOKafkaConsumerThread, "_create_worker_consumer", ["self", "transport"]),
        (driver.Producer, "_settings_extra", ["self"]),
        (App, "_new_transport", ["self"]),
        (App, "_new_producer_transport", ["self"]),
        (App, "on_stop", ["self"]),
        (Table, "apply_changelog_batch", ["self", "batch"]),
        (Table, "persisted_offset", ["self", "tp"]),
        (Table, "on_rebalance", ["self", "assigned", "revoked", "newly_assigned", "generation_id"]),
        (Table, "on_recovery_completed", ["self", "active_tps", "standby_tps"]),
        (TableManager, "on_start", ["self"]),
        (TableManager, "_update_channels", ["self"]),
        (AIOKafkaAdminClient, "_send_request", ["self", "request", "node_id"]),
        (Request, "prepare", ["self", "versions"]),
        (AIOKafkaProducer, "send_batch", ["self", "batch", "topic", "partition"]),
        (BatchBuilder, "append", ["self", "timestamp", "key", "value", "headers"]),
    ],
)
def test_a_hook_has_the_parameters_it_is_called_with(owner: type, name: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(owner, name)).parameters) == parameters


def test_the_attributes_that_are_read_and_set_are_there() -> None:
    source = inspect.getsource(AIOKafkaConsumer.__init__) + inspect.getsource(AIOKafkaConsumer.start)
    assert "fetch_max_wait_ms" in source
    assert "self._fetcher = Fetcher(" in source
    assert "self._fetch_min_bytes," in inspect.getsource(Fetcher._get_actions_per_node), "read at each fetch"
    consumer = inspect.getsource(Consumer)
    for name in ("_acked_index", "_acked", "_committed_offset", "_unacked_messages"):
        assert f"self.{name}" in consumer
    coordinator = inspect.getsource(GroupCoordinator.reset_generation)
    assert "self.member_id = JoinGroupRequest.UNKNOWN_MEMBER_ID" in coordinator
    assert JoinGroupRequest.UNKNOWN_MEMBER_ID == ""
    assert "self._conns = {}" in inspect.getsource(AIOKafkaClient)
    assert "self._client" in inspect.getsource(AIOKafkaConsumer.__init__)
    assert list(inspect.signature(AIOKafkaConnection.connected).parameters) == ["self"]
    assert "self._coordinator" in inspect.getsource(AIOKafkaConsumer.start)
    assert "self._consumer" in inspect.getsource(driver.AIOKafkaConsumerThread)
    assert "self._producer" in inspect.getsource(driver.Producer)
    assert "table.persisted_offset(tp)" in inspect.getsource(Recovery)


def test_asking_for_the_end_of_a_partition_that_was_given_up_fails_as_expected() -> None:
    async def ask() -> None:
        consumer = AIOKafkaConsumer(bootstrap_servers="127.0.0.1:1")
        try:
            consumer.highwater(TopicPartition("journal", 0))
        finally:
            await consumer.stop()

    with pytest.raises(AssertionError, match="not assigned"):
        asyncio.run(ask())
