"""``stream-graders doctor``: what is wrong with a deployment, and why a run has no verdict. Reads, and changes nothing.

Each look is a line: what was looked at, whether it is well, what was found, and for what is not well the next step.
"""

import asyncio
import platform
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import typer
from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from ..config import SuiteError, load_fleet
from ..events import compact
from ..security import from_environment, listening
from ..session import STATE_VERSION
from ..settings import Settings
from ..stream import rights, start
from ..stream.topics import Placement, State, TopicError, inspect, load_topics, place, plan
from ..suites import Fleet
from .errors import Exit, leave
from .groups import ANSWERS_WITHIN, committed, members, newest, oldest, reader, unread
from .judge_looks import look
from .sharing import names_of
from .why import Finding, Level, why_no_verdict

AHEAD = 5.0
"""Seconds by which a record may lie in the future before somebody's clock is called wrong."""
BEHIND = 60.0
"""Seconds that records may have waited before a worker is called slow."""
NAMED = 5
"""Partitions that a line names."""


class Asked(NamedTuple):
    """What the command was told."""

    bootstrap: str
    suites: list[Path]
    app: str
    topics: list[str]
    run: str | None
    json: bool


def examine(asked: Asked) -> None:
    """Print what was found; exit code 1 if anything is bad."""
    bad = False
    for finding in _findings(asked):
        bad = bad or finding.level == "bad"
        typer.echo(compact(finding._asdict()) if asked.json else str(finding))
    if bad:
        leave(Exit.GATE_MISSED)


def _findings(asked: Asked) -> Iterator[Finding]:
    yield _versions()
    fleet, told = _suites(asked.suites)
    yield from told
    settings = Settings(asked.bootstrap, app=asked.app, names=names_of(asked.topics), security=from_environment())
    with listening() as ear:
        try:
            found = asyncio.run(_cluster(settings, asks_judges=fleet is not None and fleet.asks_judges))
        except (KafkaError, OSError) as error:
            refusal = ear.refusal()
            what = refusal or f"no answer ({ear.said or error})"
            yield Finding(
                "kafka",
                "bad",
                f"{asked.bootstrap}: {what}",
                "" if refusal else "check --bootstrap and SG_SECURITY_PROTOCOL",
            )
            return
    yield Finding("kafka", "ok", f"{asked.bootstrap} answers")
    yield from found
    if asked.run is not None:
        if fleet is None:
            yield Finding(
                f"run {asked.run}", "warning", "not looked at", "mend the suites first, or name them with --suite"
            )
        elif any(finding.place == "topics" and finding.level == "bad" for finding in found):
            yield Finding(f"run {asked.run}", "warning", "not looked at", "mend the topics first")
        else:
            yield from why_no_verdict(asked.run, settings, fleet)


def _versions() -> Finding:
    names = ("stream-graders", "faust-streaming", "aiokafka", "msgspec")
    told = ", ".join(f"{name} {version(name)}" for name in names)
    told += f", Python {platform.python_version()}, state version {STATE_VERSION}"
    if not version("faust-streaming").startswith("0.15."):
        return Finding("versions", "bad", told, "the worker is made for faust-streaming 0.15: install that")
    return Finding("versions", "ok", told)


def _suites(paths: Sequence[Path]) -> tuple[Fleet | None, list[Finding]]:
    if not paths:
        return None, [Finding("suites", "warning", "not looked at", "name the workers' with --suite")]
    try:
        fleet = load_fleet(paths)
    except SuiteError as error:
        return None, [Finding("suites", "bad", line, "") for line in str(error).splitlines()]
    checks = sum(len(suite.checks) for suite in fleet)
    return fleet, [Finding("suites", "ok", f"{len(fleet.suites)} suites with {checks} checks")]


# -- the cluster -----------------------------------------------------------------------------------------------------------


async def _cluster(settings: Settings, *, asks_judges: bool) -> list[Finding]:
    client = settings.security.client()
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap, request_timeout_ms=ANSWERS_WITHIN, **client)
    try:
        await admin.start()
        found = [*await _rights(admin, settings), *await _topics(admin, settings)]
        if not any(finding.place == "topics" and finding.level == "bad" for finding in found):
            found += await _group(admin, settings, asks_judges=asks_judges)
        return found
    finally:
        await admin.close()


async def _rights(admin: AIOKafkaAdminClient, settings: Settings) -> list[Finding]:
    names = {**start.physical(settings), "changelog": start.changelog(settings), "leader": start.leader(settings)}
    try:
        await rights.check(admin, names, settings.app)
    except rights.RightsError as error:
        return [Finding("rights", "bad", line) for line in str(error).splitlines()]
    return [Finding("rights", "ok", "this client may do what a worker does")]


async def _topics(admin: AIOKafkaAdminClient, settings: Settings) -> list[Finding]:
    """What a worker would refuse is bad; what merely is not as the files say is a warning."""
    names = {**start.physical(settings), "changelog": start.changelog(settings)}
    placement = Placement(app=settings.app, names=settings.names)
    try:
        found = await inspect(admin, names.values())
        results = await plan(admin, place(load_topics(), placement))
    except TopicError as error:
        return [Finding("topics", "bad", line) for line in str(error).splitlines()]
    misfits = [Finding("topics", "bad", line) for line in start.misfits(names, found)]
    if misfits:
        return misfits
    other = [
        Finding("topics", "warning", str(result))
        for result in results
        if result.state is State.DIFFERS and not _is_chosen(result.detail)
    ]
    journal = found[names["journal"]]
    return [
        *other,
        Finding("topics", "ok", f"{len(found)} fit a worker; the journal has {journal.partitions} partitions"),
    ]


def _is_chosen(detail: str) -> bool:
    """Counts are a cluster's own choice; a worker has asked already whether they agree with each other."""
    return detail.startswith(("partitions are", "copies are", "min.insync.replicas"))


async def _group(admin: AIOKafkaAdminClient, settings: Settings, *, asks_judges: bool) -> list[Finding]:
    journal = start.physical(settings)["journal"]
    async with reader(settings) as consumer:
        places = [
            TopicPartition(journal, partition)
            for partition in sorted((await consumer._client.fetch_all_metadata()).partitions_for_topic(journal) or ())
        ]
        consumer.assign(places)
        begins, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
        done = await committed(admin, settings.app, begins)
        present, state = await members(admin, settings.app)
        lagging = unread(done, begins, ends)
        age = await oldest(consumer, {place: max(done.get(place, 0), begins[place]) for place in lagging})
        last = await newest(consumer, begins, ends)
        judges = await look(admin, consumer, settings, begins, ends) if asks_judges else []
    found = [_lost(place, done[place], begins[place], ends[place]) for place in done]
    return [
        *(finding for finding in found if finding is not None),
        _workers(present, state, settings.app, sum(lagging.values()), len(places)),
        _lag(lagging, age, present),
        _clock(last),
        *judges,
    ]


def _workers(members: Sequence[str], state: str, app: str, lag: int, partitions: int) -> Finding:
    if not members:
        level: Level = "bad" if lag else "warning"
        return Finding(
            "workers",
            level,
            f"group {app} has no member: nobody grades",
            "start stream-graders worker, or name its --app",
        )
    if state != "Stable":
        return Finding(
            "workers", "warning", f"group {app} is sharing out its partitions ({state})", "ask again in half a minute"
        )
    told = f"{len(members)} in group {app}"
    if len(members) > partitions:
        return Finding(
            "workers",
            "warning",
            f"{told}, and the journal has {partitions} partitions",
            "the others have nothing to do",
        )
    return Finding("workers", "ok", told)


def _lag(lagging: dict[TopicPartition, int], oldest: float | None, members: Sequence[str]) -> Finding:
    if not lagging:
        return Finding("lag", "ok", "every record is read")
    most = sorted(lagging.items(), key=lambda each: -each[1])[:NAMED]
    where = ", ".join(f"partition {place.partition}: {count}" for place, count in most)
    age = "" if oldest is None else f", the oldest for {oldest:.0f} s"
    told = f"{sum(lagging.values())} records wait{age} ({where})"
    if members and (oldest is None or oldest < BEHIND):
        return Finding("lag", "ok", told)
    return Finding(
        "lag", "warning", told, "start more workers, up to one a partition; docs/runbook.md" if members else ""
    )


def _lost(place: TopicPartition, committed: int, first: int, end: int) -> Finding | None:
    if first <= committed <= end:
        return None
    told = f"partition {place.partition}: committed {committed}, the log holds {first} to {end}"
    if committed > end:
        return Finding("offsets", "bad", told, "the topic was made anew: start the workers with a new --app")
    lost = f"retention removed {first - committed} records that were never graded"
    return Finding("offsets", "bad", told, f"{lost}: stream-graders worker --accept-loss goes on, and writes it down")


def _clock(newest: float | None) -> Finding:
    ahead = 0.0 if newest is None else newest - time.time()
    if ahead > AHEAD:
        told = f"the journal's newest record is {ahead:.0f} s in the future of this machine"
        return Finding(
            "clock",
            "bad",
            told,
            "set the clock of this machine or of the brokers by NTP: deadlines run on the brokers'",
        )
    return Finding("clock", "ok", "no record of the journal lies in the future")
