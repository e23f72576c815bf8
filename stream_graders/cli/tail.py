"""``stream-graders tail``: verdicts as they are published, and how the checks of open runs stand."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import typer
from aiokafka.errors import KafkaError

from ..config import load_fleet
from ..events import compact, from_json
from ..session import Ledger, Session, StateError, watermark
from ..stream.topics import Placement, Topic, load_topics
from ..suites import Fleet
from .errors import Exit, UserError, leave
from .journal import opened, started
from .sharing import names_of

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

    try:
        asyncio.run(follow())
    except KafkaError as error:
        raise UserError(
            f"{bootstrap}: topic {topic} cannot be read ({error}); check --bootstrap and --topic"
        ) from error
    except KeyboardInterrupt:
        leave(Exit.OK)


def list_open(bootstrap: str, names: list[str], app: str, suites: list[Path], *, as_json: bool) -> None:
    """Print how each check of each open run stands, from the states that the workers keep."""
    fleet = load_fleet(suites)
    topic = Placement(app=app, names=names_of(names)).name(_topic(STATES))
    states: dict[bytes, bytes] = {}

    with opened(bootstrap, topic) as log:
        for key, value in ((record.key, record.value) for record in log.records() if record.key is not None):
            known = states.get(key)
            if value is None:
                states.pop(key, None)
            elif known is None or watermark(value) >= watermark(known):
                states[key] = value
    lines = [line for key, value in sorted(states.items()) for line in _readings(fleet, key.decode(), value)]
    for line in lines:
        typer.echo(compact(line) if as_json else _reading(line))
    if not lines:
        typer.echo("no run is open", err=True)
        leave(Exit.NOTHING_GRADED)


def _topic(name: str) -> Topic:
    return next(topic for topic in load_topics() if topic.name == name)


async def _records(bootstrap: str, topic: str, *, from_start: bool) -> AsyncGenerator[bytes, None]:
    consumer = await started(bootstrap, topic, where="earliest" if from_start else "latest")
    try:
        async for record in consumer:
            if record.value is not None:
                yield record.value
    finally:
        await consumer.stop()


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
