"""Topics on a real cluster: made once, left alone afterwards, and every difference told."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from stream_graders.stream.topics import (
    Placement,
    State,
    Wanted,
    apply,
    inspect,
    load_topics,
    place,
    plan,
)
from tests.kafka.broker import KafkaBroker

T = TypeVar("T")
pytestmark = pytest.mark.requires_kafka


def on(broker: KafkaBroker, work: Callable[[AIOKafkaAdminClient], Awaitable[T]]) -> T:
    async def connected() -> T:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        try:
            return await work(admin)
        finally:
            await admin.close()

    return asyncio.run(connected())


def ours(front: str) -> list[Wanted]:
    """Our topics for one node, under names that only this test uses."""
    topics = load_topics()
    names = {topic.name: f"{front}.{topic.name}" for topic in topics if "{app}" not in topic.name}
    return place(topics, Placement(app=front, names=names, partitions=3, replication=1))


def test_they_are_planned_made_and_then_the_same(kafka: KafkaBroker) -> None:
    wanted = ours("made")

    async def story(admin: AIOKafkaAdminClient) -> list[list[State]]:
        steps = [await plan(admin, wanted), await apply(admin, wanted), await plan(admin, wanted)]
        return [[result.state for result in step] for step in [*steps, await apply(admin, wanted)]]

    each = len(wanted)
    planned, applied, planned_again, applied_again = on(kafka, story)
    assert planned == [State.MISSING] * each
    assert applied == [State.CREATED] * each
    assert planned_again == [State.SAME] * each
    assert applied_again == [State.SAME] * each


def test_they_can_be_written_to_at_once_with_all_copies_acknowledging(kafka: KafkaBroker) -> None:
    wanted = ours("written")

    async def story(admin: AIOKafkaAdminClient) -> None:
        await apply(admin, wanted)
        async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, enable_idempotence=True) as producer:
            for topic in wanted:
                await producer.send_and_wait(topic.name, b"{}", key=b"r-7")

    on(kafka, story)


def test_inspect_gives_partitions_and_effective_configs(kafka: KafkaBroker) -> None:
    wanted = ours("seen")

    async def story(admin: AIOKafkaAdminClient) -> None:
        await apply(admin, wanted)
        found = await inspect(admin, [*(topic.name for topic in wanted), "seen.not-there"])
        assert set(found) == {topic.name for topic in wanted}
        journal, changelog = found["seen.agent.events.v1"], found["seen-runs-changelog"]
        assert (journal.partitions, journal.replication) == (3, 1)
        assert journal.configs["message.timestamp.type"] == "LogAppendTime"
        assert changelog.configs["cleanup.policy"] == "compact"
        assert changelog.configs["retention.ms"], "a broker's default is an effective config too"
        assert found["seen-__assignor-__leader"].partitions == 1

    on(kafka, story)


def test_inspecting_makes_no_topic(tmp_path_factory: pytest.TempPathFactory) -> None:
    broker = KafkaBroker(tmp_path_factory.mktemp("eager"), {"auto.create.topics.enable": "true"})

    async def story(admin: AIOKafkaAdminClient) -> list[str]:
        await inspect(admin, ["agent.events.v1"])
        await plan(admin, ours("eager"))
        return await admin.list_topics()

    with broker:
        assert on(broker, story) == []


def test_what_is_there_is_left_as_it_is_and_every_difference_told(kafka: KafkaBroker) -> None:
    wanted = ours("other")
    own = {"message.timestamp.type": "CreateTime", "retention.ms": "60000"}

    async def story(admin: AIOKafkaAdminClient) -> None:
        await admin.create_topics([NewTopic("other.agent.events.v1", 5, 1, topic_configs=own)])
        before = await inspect(admin, ["other.agent.events.v1"])
        results = await apply(admin, wanted)
        assert await inspect(admin, ["other.agent.events.v1"]) == before

        told = [str(result) for result in results if result.state is State.DIFFERS]
        assert [line.split(";")[0] for line in told] == [
            "other.agent.events.v1: differs: partitions are 5, wanted 3",
            "other.agent.events.v1: differs: message.timestamp.type is CreateTime, wanted LogAppendTime",
            "other.agent.events.v1: differs: max.message.bytes is 1048588, wanted 1048576",
            "other.agent.events.v1: differs: retention.ms is 60000, wanted 604800000",
        ]
        assert sum(result.state is State.CREATED for result in results) == len(wanted) - 1

    on(kafka, story)


def test_a_refused_topic_says_why_and_does_not_stop_the_others(kafka: KafkaBroker) -> None:
    good = Wanted("refusal.good", 1, 1, {})
    many = Wanted("refusal.copies", 1, 3, {})
    bad = Wanted("refusal.config", 1, 1, {"retention.ms": "soon"})

    async def story(admin: AIOKafkaAdminClient) -> None:
        results = {result.topic: result for result in await apply(admin, [many, good, bad])}
        assert results["refusal.good"].state is State.CREATED
        assert results["refusal.copies"].state is State.REFUSED
        assert "replication factor" in results["refusal.copies"].detail
        assert "retention.ms" in results["refusal.config"].detail
        assert set(await inspect(admin, results)) == {"refusal.good"}

    on(kafka, story)
