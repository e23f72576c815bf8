"""What befalls the broker while workers grade: it is away, its disk is full, it takes no more, a topic is gone."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.integration.harness import (
    SHOP,
    Feed,
    Stage,
    WorkerProcess,
    differing,
    expected,
    free_port,
    graded_by,
    hold,
    is_ready,
    stories,
    unreachable_since,
    until,
    verdicts,
    written,
)
from tests.integration.topics import configure, delete
from tests.kafka.broker import KafkaBroker

DISK = 64 * 1024 * 1024
ROOM = 100_000
"""Bytes that a full disk has left: less than a few batches take."""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "shop.yaml", SHOP)


@pytest.mark.requires_kafka
def test_a_worker_at_work_outlasts_a_broker_that_is_away_for_5_seconds(tmp_path: Path, suite: Path) -> None:
    events = stories(0, 3_000)
    port = free_port()
    with KafkaBroker(tmp_path / "kafka") as broker:
        stage = Stage(broker.bootstrap).set()
        stage.tell(events)
        with WorkerProcess(stage, [suite], "a", "--metrics-port", str(port)) as worker:
            until(lambda: is_ready(port) and graded_by(port) > 0, "the first batch", worker)
            broker.kill()
            hold(5, lambda: unreachable_since(port) > 0, "the worker missing the broker", worker)
            broker.start()
            until(lambda: stage.committed() == len(events), "the journal being read to its end", worker)
        assert not differing(verdicts(stage), expected(suite, events))


@pytest.mark.requires_kafka
@pytest.mark.timeout(600)
def test_a_broker_that_is_away_for_60_seconds_ends_the_workers_that_wait_for_a_write_and_no_other(
    tmp_path: Path, suite: Path
) -> None:
    events = stories(0, 3_000)
    half = len(events) // 2
    ports = free_port(), free_port()
    with KafkaBroker(tmp_path / "kafka") as broker:
        calm, pressed = Stage(broker.bootstrap).set(), Stage(broker.bootstrap).set()
        calm.tell(events[:half])
        pressed.tell(events)
        idle = WorkerProcess(calm, [suite], "a", "--metrics-port", str(ports[0]))
        busy = WorkerProcess(pressed, [suite], "a", "--metrics-port", str(ports[1]))
        with idle:
            until(lambda: calm.committed() == half, "a half being graded", idle)
            with busy:
                until(lambda: is_ready(ports[1]) and graded_by(ports[1]) > 0, "the first batch", busy)
                broker.kill()
                hold(55, lambda: unreachable_since(ports[1]) > 0, "the worker missing the broker", busy)
                assert busy.wait(30) == 3
                assert "a write was not acknowledged within 60 s; start it again" in busy.output()
                hold(5, lambda: unreachable_since(ports[0]) > 0, "the other one missing the broker", idle)
                broker.start()
                busy.start()
                until(lambda: pressed.committed() == len(events), "the journal being read to its end", busy)
            calm.tell(events[half:])
            until(lambda: calm.committed() == len(events), "the idle one going on", idle)
        wanted = expected(suite, events)
        assert not differing(verdicts(calm), wanted)
        assert not differing(verdicts(pressed), wanted)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder for a broker whose data directory is a file system of its own."""
    folder = tmp_path / "kafka"
    data = folder / "data"
    data.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(data)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        # In CI too: containers without the right to mount are common, and nothing can be installed against that.
        pytest.skip(f"a full disk needs a file system of its own, which takes root: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(data)], check=True)


@pytest.mark.skipif(
    "SG_FULL_DISK" not in os.environ, reason="fills a disk, and what Kafka answers then varies: SG_FULL_DISK=1"
)
@pytest.mark.requires_kafka
def test_a_broker_whose_disk_is_full_halts_and_loses_nothing_once_there_is_room(small_disk: Path, suite: Path) -> None:
    events = stories(0, 2_000)
    ballast = small_disk / "data" / "ballast"
    with KafkaBroker(small_disk) as broker:
        stage = Stage(broker.bootstrap).set()
        with WorkerProcess(stage, [suite]) as worker, Feed(stage, events) as feed:
            until(lambda: stage.committed() > 0, "progress", worker)
            with suppress(OSError):  # No space left on device.
                ballast.write_bytes(bytes(DISK))
            os.truncate(ballast, ballast.stat().st_size - ROOM)
            until(broker.has_ended, "the broker halting")
            ballast.unlink()
            broker.kill()
            broker.start()
            assert worker.process is not None
            if worker.process.poll() is not None:  # It was answered by an error that no client knows.
                assert worker.wait() == 3
                worker.start()
            feed.finish(worker)
        assert not differing(verdicts(stage), expected(suite, events))


def test_a_topic_that_takes_no_verdict_of_that_size_ends_the_worker_until_it_takes_more(
    kafka: KafkaBroker, suite: Path
) -> None:
    stage = Stage(kafka.bootstrap).set()
    events = stories(0, 48)
    half = len(events) // 2
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(events[:half])
        until(lambda: stage.committed() == half, "a half being graded", worker)
        configure(stage, "verdicts", max_message_bytes="1000")
        stage.tell(events[half:])
        assert worker.wait() == 78
        assert "a record was refused for its size" in worker.output().splitlines()[-1]
        assert stage.topic("verdicts") in worker.output().splitlines()[-1]
        worker.start()
        assert worker.wait() == 78
        assert f"{stage.topic('verdicts')}: max.message.bytes must be at least" in worker.output().splitlines()[-1]
        assert stage.committed() == half, "nothing was committed past the refused verdict"
        configure(stage, "verdicts")
        worker.start()
        until(lambda: stage.committed() == len(events), "the journal being read to its end", worker)
    assert not differing(verdicts(stage), expected(suite, events))


def test_a_topic_that_is_deleted_under_a_worker_ends_it_until_it_is_there_again(
    kafka: KafkaBroker, suite: Path
) -> None:
    stage = Stage(kafka.bootstrap).set()
    events, later = stories(0, 24), stories(24, 48)
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(events)
        until(lambda: stage.committed() == len(events), "the first runs being graded", worker)
        delete(stage, "verdicts")
        delete(stage, "run_verdicts")
        stage.tell(later)
        assert worker.wait(90) == 3
        assert "a write was not acknowledged within 60 s" in worker.output().splitlines()[-1]
        worker.start()
        assert worker.wait() == 78
        assert "not there; run `stream-graders topics apply`" in worker.output().splitlines()[-1]
        stage.set()
        worker.start()
        until(lambda: stage.committed() == len(events) + len(later), "the journal being read to its end", worker)
    assert not differing(verdicts(stage), expected(suite, later)), (
        "what was in the deleted topics is gone, and nothing else"
    )
