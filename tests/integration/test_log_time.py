"""Clocks that are wrong, and runs that take days, on Apache Kafka: deadlines run on log time, which never goes back."""

import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from stream_graders.events import Event, from_json
from stream_graders.testing import run
from tests.integration.harness import SHOP, Stage, WorkerProcess, expected, stories, until, verdicts, written
from tests.integration.topics import tell_at
from tests.kafka.broker import KafkaBroker

MINUTE = 60_000
HOUR = 60 * MINUTE


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "shop.yaml", SHOP)


def now() -> int:
    return time.time_ns() // 1_000_000


def run_verdicts(stage: Stage) -> list[dict[str, Any]]:
    return [from_json(record.value or b"") for record in stage.read("run_verdicts")]


@pytest.mark.parametrize("hours", [1, -24], ids=["an hour ahead", "a day behind"])
def test_a_producers_clock_that_is_wrong_changes_no_outcome_and_ends_no_run(
    kafka: KafkaBroker, suite: Path, hours: int
) -> None:
    stage = Stage(kafka.bootstrap).set()
    events = [shifted(event, hours) for event in stories(0, 24)]
    goes_on = [shifted(event, hours) for event in run("goes-on").starts().asks("hello")]
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell([*goes_on, *events])
        until(lambda: stage.committed() == len(goes_on) + len(events), "the journal being read to its end", worker)
    told = verdicts(stage)
    assert told == expected(suite, events)
    right = expected(suite, stories(0, 24))
    assert sorted(map(outcome, told.values())) == sorted(map(outcome, right.values()))


def shifted(event: Event, hours: int) -> Event:
    """The event by a clock that is so far ahead."""
    assert isinstance(event.ts, int)
    return structs.replace(event, ts=event.ts + hours * 3_600 * 1_000_000_000)


def outcome(verdict: bytes) -> tuple[str, str, str, str]:
    value = from_json(verdict)
    return value["run_id"], value.get("check", ""), value["outcome"], value.get("evidence", "")


def test_a_brokers_clock_that_goes_back_changes_no_verdict_and_is_no_other_journal(
    kafka: KafkaBroker, suite: Path
) -> None:
    stage = Stage(kafka.bootstrap).set()
    events = stories(0, 24)
    half = len(events) // 2
    began = now() - HOUR
    stamps = [began + 5 * MINUTE + n for n in range(half)] + [began + n for n in range(half, len(events))]
    tell_at(stage, zip(events, stamps, strict=True))
    # It dies with states that have read both halves, and reads the first one again, which is stamped later.
    worker = WorkerProcess(stage, [suite], environment={"SG_DIE_AT": "states"})
    with worker:
        assert worker.wait() == -9
        assert stage.read("changelog")
        del worker.environment["SG_DIE_AT"]
        worker.start()
        until(lambda: stage.committed() >= len(events), "the journal being read to its end", worker)
    assert verdicts(stage) == expected(suite, events)


def test_a_run_whose_events_arrive_over_two_days_is_a_segment_a_day(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    told = run("slow").starts()
    for hour in range(48):  # A pause keeps it from falling silent.
        told.asks(f"hour {hour}").says("welcome").pauses()
    events = list(told.ends())
    began = now() - 49 * HOUR
    half = len(events) // 2
    stamped = [(event, began + max(0, n - 1) // 3 * HOUR) for n, event in enumerate(events)]
    tell_at(stage, stamped[:half])
    # It dies before it finds nothing more to read: then it would write a tick, and be in today.
    worker = WorkerProcess(stage, [suite], environment={"SG_DIE_AT": "acked"})
    with worker:
        assert worker.wait() == -9
        del worker.environment["SG_DIE_AT"]
        tell_at(stage, stamped[half:])
        worker.start()
        until(lambda: len(run_verdicts(stage)) == 2, "both days' verdicts", worker)
    assert [(day["completion"], "resumed" in day["flags"], day["events"]) for day in run_verdicts(stage)] == [
        ("max_age", False, 1 + 24 * 3),
        ("run_end", True, 23 * 3 + 1),  # What the 25th hour brings comes in the amend window of the first day.
    ]
