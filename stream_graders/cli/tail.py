"""``stream-graders tail``: verdicts as they are published, and how the checks of open runs stand."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import typer
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from ..config import load_fleet
from ..events import compact, from_json
from ..session import Ledger, Session, StateError, watermark
from ..stream.topics import Placement, Topic, load_topics
from ..suites import Fleet
from .errors import Exit, UserError, leave
from .worker import names_of

VERDICTS = "agent.verdicts.v1"
STATES = "{app}-runs-changelog"
QUIET = ("new", "gone", "ended", "unselected")
"""Phases in which a run has no check that stands anywhere."""


def tail_verdicts(
    bootstrap: str, names: list[str], *, only_fails: bool, from_start: bool, count: int | None, as_json: bool
) -> None:
    """Print verdicts as they come, until interrupted or ``count`` are printed."""
    topic = Placement(names=names_of(names)).name(_topic(VERDICTS))

    async def follow() -> None:
        left = count
        async with aclosing(_records(bootstrap, topic, from_start=from_start)) as values:
            async for value in values:
                record = from_json(value)
                if only_fails and record["outcome"] not in ("fail", "error"):
                    continue
                typer.echo(value.decode() if as_json else _line(record))
                left = None if left is None else left - 1
                if left == 0:
                    return

    _ask(bootstrap, follow())


def list_open(bootstrap: str, names: list[str], app: str, suites: list[Path], *, as_json: bool) -> None:
    """Print how each check of each open run stands, from the states that the workers keep."""
    fleet = load_fleet(suites)
    topic = Placement(app=app, names=names_of(names)).name(_topic(STATES))
    states: dict[bytes, bytes] = {}

    async def read() -> None:
        async for key, value in _until_end(bootstrap, topic):
            known = states.get(key)
            if value is None:
                states.pop(key, None)
            elif known is None or watermark(value) >= watermark(known):
                states[key] = value

    _ask(bootstrap, read())
    lines = [line for key, value in sorted(states.items()) for line in _readings(fleet, key.decode(), value)]
    for line in lines:
        typer.echo(compact(line) if as_json else _reading(line))
    if not lines:
        typer.echo("no run is open", err=True)
        leave(Exit.NOTHING_GRADED)


def _topic(name: str) -> Topic:
    return next(topic for topic in load_topics() if topic.name == name)


def _ask(bootstrap: str, work: Any) -> None:
    try:
        asyncio.run(work)
    except (KafkaError, OSError) as error:
        raise UserError(f"{bootstrap}: Kafka does not answer ({error}); check --bootstrap and the topic") from error
    except KeyboardInterrupt:
        leave(Exit.OK)


async def _records(bootstrap: str, topic: str, *, from_start: bool) -> AsyncGenerator[bytes, None]:
    where = "earliest" if from_start else "latest"
    async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id=None, auto_offset_reset=where) as consumer:
        async for record in consumer:
            if record.value is not None:
                yield record.value


async def _until_end(bootstrap: str, topic: str) -> AsyncIterator[tuple[bytes, bytes | None]]:
    """The records of a topic that are there now."""
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest") as consumer:
        parts = [
            TopicPartition(topic, n)
            for n in sorted(consumer.partitions_for_topic(topic) or await _found(consumer, topic))
        ]
        consumer.assign(parts)
        await consumer.seek_to_beginning(*parts)
        ends = await consumer.end_offsets(parts)
        waiting = {part for part in parts if ends[part] > await consumer.position(part)}
        while waiting:
            for part, records in (await consumer.getmany(timeout_ms=500)).items():
                for record in records:
                    if record.key is not None:
                        yield record.key, record.value
                if await consumer.position(part) >= ends[part]:
                    waiting.discard(part)


async def _found(consumer: AIOKafkaConsumer, topic: str) -> set[int]:
    await consumer._client.force_metadata_update()
    topics = await consumer.topics()
    if topic not in topics:
        raise UserError(f"there is no topic {topic}; check --app and --topic, or run stream-graders topics apply")
    return set(consumer.partitions_for_topic(topic) or ())


def _readings(fleet: Fleet, run_id: str, state: bytes) -> Iterator[dict[str, Any]]:
    try:
        session = Session.resume(fleet, run_id, state, Ledger())
    except StateError as error:
        raise UserError(str(error)) from error
    if session.phase in QUIET or session.phase == "closed":
        return
    for one in session.readings():
        yield {"run_id": run_id, **one._asdict()}


def _line(record: dict[str, Any]) -> str:
    turn = "" if record.get("turn") is None else f" turn {record['turn']}"
    head = f"{record['outcome']:<10} {record['state']:<7} {record['run_id']}  {record['suite']}/{record['check']}{turn}"
    return f"{head}: {record['evidence']}"


def _reading(one: dict[str, Any]) -> str:
    state = str(one["outcome"]) if one["is_decided"] else f"{one['outcome']} so far"
    return f"{one['run_id']}  {one['suite']}/{one['check']}: {state} ({one['reason']}) {one['evidence']}"
