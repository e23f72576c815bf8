"""The worker on the embedded broker: the stream's shortest story, which needs no Java."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_graders.demo.broker import EmbeddedBroker
from tests.integration.harness import SHOP, Stage, WorkerProcess, expected, stories, until, verdicts, written


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(tmp_path / "broker") as running:
        yield running


def test_killed_in_the_middle_of_runs_it_goes_on_and_gives_the_verdicts_of_grade(
    broker: EmbeddedBroker, tmp_path: Path
) -> None:
    suite = written(tmp_path / "shop.yaml", SHOP)
    events = stories(0, 48)
    half = len(events) // 2
    stage = Stage(broker.bootstrap).set()
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(events[:half])
        until(lambda: stage.committed() == half, "a half being graded", worker)
        stage.tell(events[half:])
        worker.kill()
        worker.start()
        until(lambda: stage.committed() == len(events), "the journal being read to its end", worker)
        assert worker.stop() == 0
    assert verdicts(stage) == expected(suite, events)
