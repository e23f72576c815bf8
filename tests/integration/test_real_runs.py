"""The recorded runs, through Apache Kafka and the worker, get the bytes that `grade` gives them."""

import gzip
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_graders.adapters import chat_transcript
from stream_graders.config import load_fleet
from stream_graders.events import Event, from_json
from tests.integration.harness import (
    HERE,
    Metrics,
    Stage,
    WorkerProcess,
    free_port,
    graded_offline,
    is_ready,
    until,
    verdicts,
)
from tests.kafka.broker import KafkaBroker

SUITE = HERE / "tau.yaml"


def files(real_data: Path) -> list[Path]:
    found = sorted(real_data.glob("tau_bench/*.jsonl.gz")) + sorted(real_data.glob("tau2_bench/*.jsonl.gz"))
    assert len(found) == 13
    return found


def runs_of(path: Path) -> Iterator[list[Event]]:
    with gzip.open(path, "rb") as lines:
        for number, line in enumerate(lines):
            yield chat_transcript.events(from_json(line), path.name.split(".")[0], number)


def interleaved(runs: list[list[Event]], opened: int = 50, seed: int = 7) -> Iterator[Event]:
    """The events of all runs, fifty of them under way at a time."""
    draw = random.Random(seed)
    waiting = list(reversed(runs))
    live: list[Iterator[Event]] = []
    while waiting or live:
        while waiting and len(live) < opened:
            live.append(iter(waiting.pop()))
        n = draw.randrange(len(live))
        event = next(live[n], None)
        if event is None:
            live[n] = live[-1]
            live.pop()
        else:
            yield event


@pytest.fixture(scope="module")
def expected(real_data: Path) -> dict[str, bytes]:
    return graded_offline(load_fleet([SUITE]), files(real_data))


def test_656_runs_get_the_verdicts_that_grade_gives(
    kafka: KafkaBroker, real_data: Path, expected: dict[str, bytes]
) -> None:
    runs = [run for path in files(real_data) for run in runs_of(path)]
    assert len(runs) == 656
    stage = Stage(kafka.bootstrap).set()
    stage.tell(interleaved(runs))
    with WorkerProcess(stage, [SUITE]) as worker:
        total = sum(len(run) for run in runs)
        until(lambda: stage.committed() == total, "the journal being read to its end", worker)
    assert verdicts(stage) == expected
    finals = [from_json(value) for value in expected.values() if b'"stream_graders.verdict/1"' in value]
    assert (
        len({(v["run_id"], v["check"]) for v in finals}) == 656 * 12 == len([v for v in finals if v["revision"] == 1])
    )


def test_killed_five_times_it_repeats_verdicts_and_changes_none(
    kafka: KafkaBroker, real_data: Path, expected: dict[str, bytes]
) -> None:
    runs = [run for path in files(real_data) for run in runs_of(path)]
    total = sum(len(run) for run in runs)
    events = list(interleaved(runs, seed=11))
    stage = Stage(kafka.bootstrap).set()
    draw = random.Random(3)
    told = 0
    with WorkerProcess(stage, [SUITE]) as worker:
        for cut in sorted(draw.sample(range(total // 10, total), 5)):
            # Told in pieces and killed at once: it dies in the middle of work, wherever that is.
            before = stage.committed()
            stage.tell(events[told:cut])
            told = cut
            until(lambda before=before: stage.committed() > before, "progress", worker)  # type: ignore[misc]  # a default keeps the loop's value
            worker.kill()
            worker.start()
        stage.tell(events[told:])
        until(lambda: stage.committed() == total, "the journal being read to its end", worker)
    assert verdicts(stage) == expected


def test_a_worker_that_stood_still_for_15_seconds_changes_no_verdict(
    kafka: KafkaBroker, real_data: Path, expected: dict[str, bytes]
) -> None:
    runs = [run for path in files(real_data) for run in runs_of(path)]
    total = sum(len(run) for run in runs)
    events = list(interleaved(runs, seed=13))
    stage = Stage(kafka.bootstrap).set()
    port = free_port()
    first = WorkerProcess(stage, [SUITE], "a", "--metrics-port", str(port))
    with first as one, WorkerProcess(stage, [SUITE], "b") as two:
        # One that has not joined the group yet owns nothing: it would not stand still, but start late.
        until(lambda: is_ready(port), "the first worker being ready", one)
        stage.tell(events[: total // 3])
        until(lambda: Metrics(port).of("last_event_timestamp_seconds") > 0, "the first worker's progress", one)
        one.signal(signal.SIGSTOP)
        stopped = time.monotonic()
        stage.tell(events[total // 3 :])
        # The other worker takes over once the group has missed the stopped one for its session timeout.
        until(
            lambda: stage.committed() == total and time.monotonic() - stopped > 15, "the other worker taking over", two
        )
        one.signal(signal.SIGCONT)
        assert one.wait() == 3, "it finds out that it stood still, and ends to be started again"
        one.start()
        until(lambda: stage.committed() == total, "the journal being read to its end", two)
    assert verdicts(stage) == expected
