"""``stream-graders replay``: a stretch of the journal graded again, under these suites, others, or beside what was published."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

import typer
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from ..config import load_fleet
from ..events import compact, from_json, to_json
from ..stream.replay import Beginnings, Replay
from ..verdicts import RunVerdict, Verdict, Violation
from .errors import Exit, UserError, leave
from .journal import Log, Record, opened
from .places import topic_of
from .report import Report, as_text, echo

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


def replay_journal(asked: Asked) -> None:
    """Print what the journal gives; exit code 1 if what was published differs, 4 if nothing was graded."""
    topic = topic_of([asked.place], asked.bootstrap)
    if topic is None:
        raise UserError(f"{asked.place}: name the journal as kafka:TOPIC; finished runs in files are for grade")
    fleets = [load_fleet(paths) for paths in (asked.suites, asked.against) if paths]
    since, until = (_millis(name, text) for name, text in (("--from", asked.since), ("--to", asked.until)))
    report, said = Report(), [Said() for _ in fleets]
    keeps = bool(asked.published or asked.write)
    with opened(*topic, since, until) as log:
        beginnings = Beginnings({partition: first for partition, (first, _) in log.spans.items()})
        replays = [Replay(fleet, topic[1], len(log.spans)) for fleet in fleets]
        for partition, records in _batches(log, beginnings):
            for n, replay in enumerate(replays):
                for record in replay.take(partition, records):
                    if isinstance(record, Violation) or record.state == "early":
                        continue
                    said[n].add(record, keeps_bytes=keeps and n == 0)
                    if n == 0:
                        report.add(record)
    going_on = replays[0].going_on(amendable=False)
    if not asked.as_json:
        echo(as_text(report))
    _print_counts(beginnings, going_on, report, as_json=asked.as_json)
    if asked.against:
        _print_flips(said[1], said[0], as_json=asked.as_json)
    # Behind the stretch there may be events that amend a verdict.
    partial = going_on if asked.until is None else replays[0].going_on(amendable=True)
    versions = {suite.name: suite.version for suite in fleets[0]}
    same = [_compare(topic[0], name, said[0], partial, versions, as_json=asked.as_json) for name in asked.published]
    if asked.write is not None:
        asyncio.run(_write(topic[0], asked.write, said[0]))
    if not report.runs:
        leave(Exit.NOTHING_GRADED)
    leave(Exit.OK if all(same) else Exit.GATE_MISSED)


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


def _print_counts(beginnings: Beginnings, going_on: set[str], report: Report, *, as_json: bool) -> None:
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


def _compare(
    bootstrap: str, name: str, said: Said, partial: set[str], versions: Mapping[str, str], *, as_json: bool
) -> bool:
    """Hold what was published of the runs that lie wholly in the stretch against what the replay says; are they equal?"""
    runs = {run for run, _ in said.ids.values()} - partial
    kinds: set[str] = set()
    counts = dict.fromkeys(("same", "different", "not_given_again", "not_published", "of_another_suite"), 0)
    shown: list[str] = []
    found: set[str] = set()
    with opened(bootstrap, name) as log:
        for record in log.records():
            value = from_json(record.value or b"null")
            if not isinstance(value, dict) or value.get("state") == "early" or value.get("run_id") not in runs:
                continue
            kinds.add(value["schema"])
            mine = said.ids.get(value["id"])
            if mine is not None:
                found.add(value["id"])
                kind = "same" if mine[1] == record.value else "different"
            else:
                kind = (
                    "not_given_again" if versions.get(value["suite"]) == value["suite_version"] else "of_another_suite"
                )
            counts[kind] += 1
            if kind in ("different", "not_given_again") and len(shown) < EXAMPLES:
                shown.append(
                    f"{name}, partition {record.partition}, offset {record.offset}: run {value['run_id']}: {kind}"
                )
    missing = [
        run
        for key, (run, data) in said.ids.items()
        if run in runs and key not in found and from_json(data)["schema"] in kinds
    ]
    counts["not_published"] = len(missing)
    if as_json:
        typer.echo(compact({"kind": "published", "topic": name, **counts, "examples": shown}))
    else:
        told = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in counts.items())
        echo(iter([f"{name}: {told}", *(f"       {line}" for line in shown)]))
    return not (counts["different"] or counts["not_given_again"] or counts["not_published"])


async def _write(bootstrap: str, topic: str, said: Said) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
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
