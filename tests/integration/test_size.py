"""Much of one thing, or nothing at all, on Apache Kafka: a run without end, silence everywhere, partitions without work."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest

from stream_graders.events import Event, from_json
from stream_graders.stream.topics import partition_of
from stream_graders.testing import run
from tests.integration.harness import (
    SHOP,
    Metrics,
    Stage,
    WorkerProcess,
    expected,
    free_port,
    is_ready,
    stories,
    until,
    verdicts,
    written,
)
from tests.kafka.broker import KafkaBroker

MANY = 100_000
CURT = """
suite: curt
completion: {idle_agent: 10s}
publish: fails
checks:
  - {check: no-drop, grader: agentlasso.tool_not_called, severity: critical, settings: {tool: db.drop}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "shop.yaml", SHOP)


def test_a_run_of_a_hundred_thousand_events_gets_the_verdicts_of_grade(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap, partitions=1).set()
    told = run("long").starts()
    while len(told.events) < MANY - 1:
        n = len(told.events)
        told.asks(f"where is {n}?").calls("find", {"n": n}).returns({"id": f"A-{n}"}).says(f"it is A-{n}")
    events = list(told.ends())
    stage.tell(events)
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: stage.committed() == len(events), "the journal being read to its end", worker)
        assert worker.stop() == 0
    assert verdicts(stage) == expected(suite, events)
    assert max(len(record.value or b"") for record in stage.read("changelog")) < 64 * 1024


@pytest.mark.timeout(600)
def test_a_hundred_thousand_runs_that_fall_silent_at_once_all_get_their_verdict(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    suite = written(tmp_path / "curt.yaml", CURT)
    stage = Stage(kafka.bootstrap).set()
    stage.tell(run(f"run-{n}").asks("hello").events[0] for n in range(MANY))
    port = free_port()
    with WorkerProcess(stage, [suite], "a", "--metrics-port", str(port)) as worker:
        until(lambda: is_ready(port) and completed(port) == MANY, "a verdict on each run", worker, patience=500)
        assert Metrics(port).of("ledger_difference_events") == 0
        assert worker.stop() == 0
    found = [from_json(record.value or b"") for record in stage.read("run_verdicts")]
    assert {(value["completion"], tuple(value["flags"])) for value in found} == {("silence", ("incomplete",))}
    assert len({value["run_id"] for value in found}) == len(found) == MANY


def completed(port: int) -> float:
    return Metrics(port).of("runs_completed_total", reason="silence")


def test_a_partition_with_nothing_to_do_costs_nothing_and_holds_up_nobody(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    events = list(islice(in_partition(0, stage.partitions), 9 * 24))
    third = len(events) // 3
    ports = free_port(), free_port()
    one, two = (
        WorkerProcess(stage, [suite], slot, "--metrics-port", str(p)) for slot, p in zip("ab", ports, strict=True)
    )
    with one, two:
        until(lambda: is_ready(ports[0]) and is_ready(ports[1]), "both being ready", one)
        stage.tell(events[:third])
        until(lambda: stage.committed() == third, "a third being graded", one)
        two.kill()
        two.start()
        stage.tell(events[third : 2 * third])
        until(lambda: is_ready(ports[1]) and stage.committed() == 2 * third, "two thirds being graded", two)
        one.kill()
        one.start()
        stage.tell(events[2 * third :])
        until(lambda: is_ready(ports[0]) and stage.committed() == len(events), "the rest being graded", one)
        assert sum(Metrics(port).of("consumer_lag_records") for port in ports) == 0
    assert verdicts(stage) == expected(suite, events)
    assert {record.partition for record in stage.read("journal")} == {0}, "no tick is written where nothing is due"


def in_partition(partition: int, count: int) -> Iterator[Event]:
    """Stories whose runs lie in this partition."""
    mine = {event.run_id for event in stories(0, 200) if partition_of(event.run_id.encode(), count) == partition}
    return (event for event in stories(0, 200) if event.run_id in mine)
