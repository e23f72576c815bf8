"""`replay`: the journal graded again, beside what a worker published of it."""

import asyncio
import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from stream_graders.events import from_json, to_json
from stream_graders.testing import run
from tests.cli.commands import Done, command
from tests.integration.harness import SHOP, Stage, WorkerProcess, stories, until, written
from tests.kafka.broker import KafkaBroker


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "shop.yaml", SHOP)


@pytest.fixture
def stage(kafka: KafkaBroker) -> Stage:
    return Stage(kafka.bootstrap).set()


def replay(stage: Stage, suite: Path, *options: object) -> Done:
    place = f"kafka:{stage.topic('journal')}"
    return command("replay", place, "--bootstrap", stage.bootstrap, "-s", suite, *map(str, options))


def published(stage: Stage) -> list[str]:
    return ["--published", stage.topic("verdicts"), "--published", stage.topic("run_verdicts")]


async def put(stage: Stage, role: str, *values: bytes) -> None:
    async with AIOKafkaProducer(bootstrap_servers=stage.bootstrap) as producer:
        for value in values:
            await producer.send_and_wait(stage.topic(role), value)


def in_iso(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1_000, UTC).isoformat()


def is_past(millis: int) -> bool:
    """Is the broker's clock, which is ours, beyond a log time?"""
    return time.time() * 1_000 > millis


def grade(stage: Stage, suite: Path, count: int) -> None:
    """Let a worker grade the journal, killed once on the way."""
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: stage.committed() > 0, "progress", worker)
        worker.kill()
        worker.start()
        until(lambda: stage.committed() == count, "the journal being read to its end", worker)


def test_it_says_byte_for_byte_what_was_published_and_writes_nothing(stage: Stage, suite: Path) -> None:
    events = [*stories(0, 120), *run("rude").starts().asks("hello").says("bye").ends(last_seq=3).says("welcome")]
    stage.tell(events)
    grade(stage, suite, len(events))
    before = {role: len(stage.read(role)) for role in ("journal", "verdicts", "run_verdicts", "changelog")}
    done = replay(stage, suite, *published(stage), "--json")
    assert done.code == 0, done.err
    told = [json.loads(line) for line in done.out.splitlines()]
    assert told[0] == {"kind": "replay", "runs": 121, "began_before": 0, "go_on": 0, "run_verdicts": 121}
    for line in told[1:]:
        assert line["same"] >= (122 if "run_verdicts" in line["topic"] else 122 * 4 - 3)
        assert [line[kind] for kind in ("different", "not_given_again", "not_published", "of_another_suite")] == [0] * 4
    assert {role: len(stage.read(role)) for role in before} == before


def test_what_differs_from_the_journal_is_found(stage: Stage, suite: Path) -> None:
    events = stories(0, 48)
    stage.tell(events)
    grade(stage, suite, len(events))
    first = next(r for r in stage.read("verdicts") if r.value and from_json(r.value)["state"] == "final")
    forged = {**from_json(first.value or b""), "outcome": "pass", "evidence": "trust me"}
    stranger = {**forged, "id": "0" * 32}
    asyncio.run(put(stage, "verdicts", to_json(forged), to_json(stranger)))
    done = replay(stage, suite, *published(stage))
    assert done.code == 1
    assert "1 different, 1 not given again, 0 not published" in done.out
    assert f"run {forged['run_id']}: different" in done.out


def test_another_suite_shows_what_it_flips(stage: Stage, suite: Path, tmp_path: Path) -> None:
    stage.tell(stories(0, 48))
    kinder = written(tmp_path / "kinder.yaml", SHOP.replace("substring: welcome", "substring: bye"))
    done = replay(stage, kinder, "--against", suite)
    assert done.code == 0
    assert "flips  shop: polite: pass -> fail: 41" in done.out
    assert "flips  shop: polite: fail -> pass: 7" in done.out
    assert "48 of 192 verdicts flip" in done.out
    assert re.search(r"run-\d+: 'bye' found in transcript  \(before: 'welcome' NOT found in transcript\)", done.out)


def test_a_stretch_leaves_out_the_runs_that_reach_beyond_it(stage: Stage, suite: Path) -> None:
    early, crossing, late = (run(name).starts().asks("hello").says("welcome").ends().events for name in "abc")
    stage.tell([*early, *crossing[:2]])
    first = max(record.timestamp for record in stage.read("journal")) + 1
    until(lambda: is_past(first), "log time going on")
    stage.tell([*crossing[2:], *late[:2]])
    last = max(record.timestamp for record in stage.read("journal")) + 1
    until(lambda: is_past(last), "log time going on")
    stage.tell(late[2:])
    done = replay(stage, suite, "--to", in_iso(last), "--json")
    assert json.loads(done.out.splitlines()[0]) == {
        "kind": "replay", "runs": 3, "began_before": 0, "go_on": 1, "run_verdicts": 2,
    }  # fmt: skip
    done = replay(stage, suite, "--from", in_iso(first))
    assert (done.code, done.err) == (0, "1 runs are partial: they began before the stretch, and are not graded\n")
    assert "1 run verdicts" in done.out
    done = replay(stage, suite, "--from", in_iso(first), "--to", in_iso(last))
    assert done.code == 4


def test_what_it_says_can_be_written_to_a_topic_of_its_own(stage: Stage, suite: Path) -> None:
    events = stories(0, 24)
    stage.tell(events)
    done = replay(stage, suite, "--write", stage.topic("judge_requests"))
    assert done.code == 0, done.err
    records = stage.read("judge_requests")
    assert len(records) == 24 * 5
    assert all(("sg-origin", b"replay") in record.headers for record in records)
    assert {(record.key or b"").decode() for record in records} == {event.run_id for event in events}


def test_what_cannot_be_is_told_in_a_line(stage: Stage, suite: Path, tmp_path: Path) -> None:
    done = command("replay", tmp_path / "runs.jsonl", "-s", suite)
    assert (done.code, done.err) == (
        2, f"{tmp_path / 'runs.jsonl'}: name the journal as kafka:TOPIC; finished runs in files are for grade\n",
    )  # fmt: skip
    done = replay(stage, suite, "--from", "noon")
    assert (done.code, done.err) == (2, "--from noon: is no time; write it like 2026-11-29T10:00Z\n")
    assert replay(stage, suite).code == 4
