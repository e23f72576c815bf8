"""``stream-graders replay``: a stretch of the journal graded again, under these suites, others, or beside what was published."""

import asyncio
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import typer
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from ..config import load_fleet
from ..events import compact, from_json, to_json
from ..security import from_environment
from ..stream.replay import Beginnings, Replay
from ..suites import Fleet
from ..verdicts import Reason, RunVerdict, Verdict, Violation
from .errors import Exit, UserError, leave
from .journal import Log, Record, opened
from .places import topic_of
from .report import Report, as_text, echo
from .sharing import with_key

EXAMPLES = 3
"""Runs that are named of each kind of flip and difference."""
BATCH = 2_000
"""Records that are graded together; no result depends on it."""

Key = tuple[str, str, str, str, int | None]
"""Run, when its segment opened, suite, check, turn."""


@dataclass(frozen=True)
class Asked:
    """The options of ``replay``."""

    place: Path
    suites: list[Path]
    bootstrap: str | None
    since: str | None = None
    until: str | None = None
    against: list[Path] = field(default_factory=list)
    published: list[str] = field(default_factory=list)
    write: str | None = None
    as_json: bool = False


@dataclass
class Said:
    """The last word on each check of each run, under one fleet."""

    outcomes: dict[Key, tuple[str, str]] = field(default_factory=dict)
    """Outcome and evidence."""
    ids: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    """Of final and amended verdicts and run verdicts, the run and the bytes by id; only where they are compared."""

    def add(self, record: Verdict | RunVerdict, *, keeps_bytes: bool) -> None:
        """Take in a record that is not early."""
        if keeps_bytes:
            self.ids[record.id] = (record.run_id, to_json(record))
        if isinstance(record, Verdict):
            key = (record.run_id, record.opened_at, record.suite, record.check, record.turn)
            self.outcomes[key] = (str(record.outcome), record.evidence)


@dataclass
class Again:
    """A stretch of the journal, graded again."""

    beginnings: Beginnings
    replays: list[Replay]
    """One for each fleet."""
    said: list[Said]
    report: Report
    """Of the first fleet."""


def graded_again(
    topic: tuple[str, str], fleets: Sequence[Fleet], since: int | None = None, until: int | None = None, *, keeps: bool
) -> Again:
    """Grade a stretch of a journal.

    Args:
        topic: Kafka's addresses, and the journal.
        fleets: what to grade it by; the first one is reported.
        since: the log time in milliseconds from which on, None for all there is.
        until: the log time before which, None for all there is.
        keeps: keep what the first one says to the byte, for `compare`.

    Raises:
        UserError: Kafka does not answer, or there is no such topic.
    """
    with opened(*topic, since, until) as log:
        beginnings = Beginnings({partition: first for partition, (first, _) in log.spans.items()})
        replays = [Replay(fleet, topic[1], len(log.spans)) for fleet in fleets]
        again = Again(beginnings, replays, [Said() for _ in fleets], Report())
        for partition, records in _batches(log, beginnings):
            for n, replay in enumerate(replays):
                for record in replay.take(partition, records):
                    if isinstance(record, Violation) or record.state == "early":
                        continue
                    again.said[n].add(record, keeps_bytes=keeps and n == 0)
                    if n == 0:
                        again.report.add(record)
    return again


def replay_journal(asked: Asked) -> None:
    """Print what the journal gives; exit code 1 if what was published differs, 4 if nothing was graded."""
    topic = topic_of([asked.place], asked.bootstrap)
    if topic is None:
        raise UserError(f"{asked.place}: name the journal as kafka:TOPIC; finished runs in files are for grade")
    fleets = [with_key(load_fleet(paths)) for paths in (asked.suites, asked.against) if paths]
    since, until = _millis("--from", asked.since), _millis("--to", asked.until)
    again = graded_again(topic, fleets, since, until, keeps=bool(asked.published or asked.write))
    going_on = again.replays[0].going_on(amendable=False)
    if not asked.as_json:
        echo(as_text(again.report))
    _print_counts(again, going_on, as_json=asked.as_json)
    if asked.against:
        _print_flips(again.said[1], again.said[0], as_json=asked.as_json)
    # Behind the stretch there may be events that amend a verdict.
    partial = going_on if until is None else again.replays[0].going_on(amendable=True)
    versions = {suite.name: suite.version for suite in fleets[0]}
    same = True
    # Which runs were shed is the worker's to say: the journal does not tell how far behind it was.
    sheds = bool(fleets[0].sheds_from)
    shed = {of for name in asked.published for of in _shed(topic[0], name)} if sheds else set[tuple[str, str]]()
    for name in asked.published:
        found = compare(topic[0], name, again.said[0], partial, versions, shed)
        found.print(as_json=asked.as_json)
        same = same and found.is_same
    if asked.write is not None:
        asyncio.run(_write(topic[0], asked.write, again.said[0]))
    if not again.report.runs:
        leave(Exit.NOTHING_GRADED)
    leave(Exit.OK if same else Exit.GATE_MISSED)


def _millis(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"{option} {text}: is no time; write it like 2026-11-29T10:00Z") from error
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1_000)


def _batches(log: Log, beginnings: Beginnings) -> Iterator[tuple[int, list[Record]]]:
    for partition, found in groupby(log.records(), lambda record: record.partition):
        batch: list[Record] = []
        for record in found:
            if beginnings.holds(partition, record):
                batch.append(record)
            if len(batch) >= BATCH:
                yield partition, batch
                batch = []
        yield partition, batch


def _print_counts(again: Again, going_on: set[str], *, as_json: bool) -> None:
    beginnings, report = again.beginnings, again.report
    counts = {"runs": len(beginnings.whole), "began_before": len(beginnings.cut), "go_on": len(going_on)}
    if as_json:
        typer.echo(compact({"kind": "replay", **counts, "run_verdicts": len(report.runs)}))
        return
    if beginnings.cut:
        typer.echo(
            f"{len(beginnings.cut)} runs are partial: they began before the stretch, and are not graded", err=True
        )
    if going_on:
        typer.echo(f"{len(going_on)} runs are partial: they go on after it", err=True)


def _print_flips(old: Said, new: Said, *, as_json: bool) -> None:
    """What the suites say otherwise than those they are held against."""
    counts: Counter[tuple[str, str, str, str]] = Counter()
    examples: dict[tuple[str, str, str, str], list[dict[str, str]]] = {}
    for key, (outcome, evidence) in new.outcomes.items():
        before = old.outcomes.get(key)
        if before is not None and before[0] != outcome:
            kind = (key[2], key[3], before[0], outcome)
            counts[kind] += 1
            if len(shown := examples.setdefault(kind, [])) < EXAMPLES:
                shown.append({"run_id": key[0], "before": before[1], "now": evidence})
    both = new.outcomes.keys() & old.outcomes.keys()
    only = {"only_now": len(new.outcomes) - len(both), "only_before": len(old.outcomes) - len(both)}
    for kind, count in counts.most_common():
        suite, check, was, now = kind
        if as_json:
            told = {"kind": "flip", "suite": suite, "check": check, "before": was, "now": now, "count": count}
            typer.echo(compact({**told, "examples": examples[kind]}))
            continue
        typer.echo(f"flips  {suite}: {check}: {was} -> {now}: {count}")
        for one in examples[kind]:
            typer.echo(f"       {one['run_id']}: {one['now']}  (before: {one['before']})")
    if as_json:
        typer.echo(compact({"kind": "flips", "verdicts": len(both), "flipped": counts.total(), **only}))
        return
    typer.echo(f"{counts.total()} of {len(both)} verdicts flip")
    if any(only.values()):
        typer.echo(
            f"{only['only_now']} verdicts are of checks that only these suites have, {only['only_before']} of others"
        )


@dataclass
class Compared:
    """What was published in a topic, beside what the journal gives."""

    topic: str
    same: int = 0
    repeated: int = 0
    """Of the same, those that were there before, byte for byte: a crash may repeat a verdict."""
    different: int = 0
    not_given_again: int = 0
    not_published: int = 0
    of_another_suite: int = 0
    shed: int = 0
    """Of runs that the worker shed: graded here, and not there."""
    shown: list[str] = field(default_factory=list)
    """The places of the first ones that differ."""

    @property
    def is_same(self) -> bool:
        """Is what was published what the journal gives?"""
        return not (self.different or self.not_given_again or self.not_published)

    def note(self, kind: str, place: str) -> None:
        """Count a record that is not the same."""
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.shown) < EXAMPLES:
            self.shown.append(f"{place}: {kind.replace('_', ' ')}")

    def print(self, *, as_json: bool) -> None:
        """Print it in a line, and the first ones that differ."""
        counts = {name: value for name, value in vars(self).items() if isinstance(value, int)}
        if as_json:
            typer.echo(compact({"kind": "published", "topic": self.topic, **counts, "examples": self.shown}))
            return
        told = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in counts.items())
        echo(iter([f"{self.topic}: {told}", *(f"       {line}" for line in self.shown)]))


def _shed(bootstrap: str, topic: str) -> Iterator[tuple[str, str]]:
    """Run and suite of each run verdict that says that the run was shed."""
    with opened(bootstrap, topic) as log:
        for record in log.records():
            value = from_json(record.value or b"null")
            if isinstance(value, dict) and value.get("reason") == Reason.SHED and "checks" in value:
                yield value["run_id"], value["suite"]


def compare(
    bootstrap: str,
    topic: str,
    said: Said,
    partial: set[str],
    versions: Mapping[str, str],
    shed: Container[tuple[str, str]] = (),
) -> Compared:
    """Hold a topic of verdicts against what the journal gives, for the runs that lie wholly in what was graded.

    Args:
        bootstrap: Kafka's addresses.
        topic: the topic of verdicts, or of run verdicts.
        said: what the journal gives.
        partial: runs of which the journal may have more.
        versions: of each suite, the version that it was graded by: what another one said is only counted.
        shed: run and suite of what the worker shed: only counted too.

    Raises:
        UserError: Kafka does not answer, or there is no such topic.
    """
    result = Compared(topic)
    runs = {run for run, _ in said.ids.values()} - partial
    schemas: set[str] = set()
    found: set[str] = set()
    with opened(bootstrap, topic) as log:
        for record in log.records():
            value = from_json(record.value or b"null")
            if not isinstance(value, dict) or value.get("state") == "early" or value.get("run_id") not in runs:
                continue
            place = f"{topic}, partition {record.partition}, offset {record.offset}: run {value['run_id']}"
            schemas.add(value["schema"])
            mine = said.ids.get(value["id"])
            if (value["run_id"], value["suite"]) in shed:
                result.shed += 1
            elif mine is None:
                is_ours = versions.get(value["suite"]) == value["suite_version"]
                if is_ours:
                    result.note("not_given_again", place)
                else:
                    result.of_another_suite += 1
            elif mine[1] != record.value:
                result.note("different", place)
            else:
                result.same += 1
                result.repeated += value["id"] in found
                found.add(value["id"])
    for key, (run, data) in said.ids.items():
        # A topic holds one kind of record: of the other one nothing is missing in it.
        if run not in runs or key in found:
            continue
        value = from_json(data)
        if (not schemas or value["schema"] in schemas) and (run, value["suite"]) not in shed:
            result.note("not_published", f"run {run}")
    return result


async def _write(bootstrap: str, topic: str, said: Said) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, **from_environment().client())
    try:
        await producer.start()
        futures = [await producer.send(topic, data, run.encode(), headers=_headers(data)) for run, data in _sent(said)]
        await asyncio.gather(*futures)
    except KafkaError as error:
        raise UserError(
            f"{topic} cannot be written to ({error}); make the topic, or name another with --write"
        ) from error
    finally:
        await producer.stop()


def _sent(said: Said) -> Iterable[tuple[str, bytes]]:
    return said.ids.values()


def _headers(data: bytes) -> list[tuple[str, bytes]]:
    return [("sg-schema", from_json(data)["schema"].encode()), ("sg-origin", b"replay")]
