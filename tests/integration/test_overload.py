"""A worker that is behind, on Apache Kafka: its memory stays, and what a suite has it leave out is said and counted."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from stream_graders.events import Event, from_json
from stream_graders.testing import run
from tests.cli.commands import command
from tests.integration.harness import SHOP, Metrics, Stage, WorkerProcess, expected, free_port, stories, until, written
from tests.kafka.broker import KafkaBroker

pytestmark = pytest.mark.requires_kafka

SHEDDING = SHOP + "shed: {behind: 10s, keep: 0.25}\n"


def test_a_suite_sheds_runs_while_the_worker_is_behind_and_every_run_is_accounted_for(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    suite = written(tmp_path / "shop.yaml", SHEDDING)
    stage = Stage(kafka.bootstrap, partitions=1).set()
    events = stories(0, 4_000)
    stage.tell(events)
    old = max(record.timestamp for record in stage.read("journal")) + 10_000
    until(lambda: time.time() * 1000 > old, "the backlog being old enough")
    port = free_port()
    with WorkerProcess(stage, [suite], "a", "--metrics-port", str(port)) as worker:
        until(lambda: stage.committed() > 0, "a part of the backlog being graded", worker)
        worker.kill()
        worker.start()
        until(lambda: len(run_verdicts(stage)) == 4_000, "every run having its verdict", worker)
        fresh = stories(5_000, 5_024)
        stage.tell(fresh)
        until(lambda: stage.committed() == len(events) + len(fresh), "what came later being graded", worker)
        assert Metrics(port).of("ledger_difference_events") == 0
    told = run_verdicts(stage)
    shed = {run for run, value in told.items() if value["reason"] == "shed"}
    assert 600 < len(shed) < 2_300, (
        "three of four, but of the 10,000 records from where it was killed, which another worker may have graded"
    )
    assert not shed & {event.run_id for event in fresh}, "it has caught up"
    for name in shed:
        assert {check["reason"] for check in told[name]["checks"]} == {"shed"}
    graded = expected(suite, [event for event in [*events, *fresh] if event.run_id not in shed])
    published = {
        record.value
        for role in ("verdicts", "run_verdicts")
        for record in stage.read(role)
        if (value := from_json(record.value or b""))["state"] != "early" and value["run_id"] not in shed
    }
    assert published == set(graded.values()), "what was not shed is graded as ever"
    again = command("replay", f"kafka:{stage.topic('journal')}", "-s", suite, "--bootstrap", stage.bootstrap, "--json",
                    "--published", stage.topic("verdicts"), "--published", stage.topic("run_verdicts"))  # fmt: skip
    assert again.code == 0, again.out + again.err
    [verdicts, runs] = [line for line in map(json.loads, again.out.splitlines()) if line["kind"] == "published"]
    assert (verdicts["shed"], runs["shed"]) == (0, len(shed))


def test_a_backlog_larger_than_it_may_buffer_does_not_grow_a_worker(kafka: KafkaBroker, tmp_path: Path) -> None:
    suite = written(tmp_path / "shop.yaml", SHOP)
    stage = Stage(kafka.bootstrap).set()
    for wave in range(10):
        stage.tell(event for n in range(200) for event in wordy(f"{wave}-{n}"))
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: len(run_verdicts(stage)) == 2_000, "every run having its verdict", worker)
        assert worker.process is not None
        status = Path(f"/proc/{worker.process.pid}/status").read_text()
    peak = next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    assert peak < 450, f"{peak} MB for a backlog of 500 MB"


def wordy(name: str) -> list[Event]:
    story = run(name).starts()
    for n in range(15):
        story.asks(f"question {n} " + "and so on " * 1_600)
        story.says("welcome")
    return list(story.ends())


def run_verdicts(stage: Stage) -> dict[str, dict[str, Any]]:
    return {
        value["run_id"]: value for record in stage.read("run_verdicts") if (value := from_json(record.value or b""))
    }
