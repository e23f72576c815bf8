"""What ends a worker rather than let it lose events without a word: offsets outside the log, topics that do not fit."""

import asyncio
import signal
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from stream_graders.events import from_json
from stream_graders.testing import Story, run
from tests.integration.harness import Stage, WorkerProcess, until
from tests.integration.topics import delete, grow, recreate
from tests.kafka.broker import KafkaBroker

SUITE = """
suite: shop
checks:
  - {check: polite, grader: vally.transcript_contains, severity: critical, settings: {substring: welcome}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(SUITE)
    return path


def stories(first: int, last: int) -> list[Story]:
    return [run(f"run-{n}").starts().asks("hello").says("welcome").ends() for n in range(first, last)]


def tell(stage: Stage, told: list[Story]) -> None:
    stage.tell(event for story in told for event in story)


def offsets(stage: Stage) -> dict[int, int]:
    ends: dict[int, int] = {}
    for record in stage.read("journal"):
        ends[record.partition] = max(ends.get(record.partition, 0), record.offset + 1)
    return ends


def test_retention_that_overtook_a_stopped_worker_ends_it_until_the_loss_is_accepted(
    kafka: KafkaBroker, suite: Path
) -> None:
    stage = Stage(kafka.bootstrap).set()
    tell(stage, stories(0, 20))
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: stage.committed() == 80, "the journal being read to its end", worker)
    tell(stage, stories(20, 40))
    stage.remove(offsets(stage))
    tell(stage, stories(40, 60))
    worker.start()
    assert worker.wait() == 78
    assert "retention removed" in worker.output()
    assert "--accept-loss" in worker.output()
    before = stage.committed()
    assert before == 80, "nothing was committed past the loss"
    with WorkerProcess(stage, [suite], "a", "--accept-loss", "--metrics-port", "0") as accepting:
        until(lambda: len(stage.read("run_verdicts")) == 40, "the rest being graded", accepting)
    assert any(dict(r.headers).get("dlq.error.reason") == b"loss_accepted" for r in stage.read("dead_letters"))


def overtaken(kafka: KafkaBroker, suite: Path) -> tuple[Stage, WorkerProcess]:
    """A worker that stood still for less than the stall guard allows while retention removed what it had not read, and ended."""
    for _ in range(3):
        stage = Stage(kafka.bootstrap).set()
        tell(stage, stories(0, 20))
        with WorkerProcess(stage, [suite]) as worker:
            until(lambda stage=stage: stage.committed() == 80, "the journal being read to its end", worker)  # type: ignore[misc]  # a lambda with a default
            worker.signal(signal.SIGSTOP)
            tell(stage, stories(20, 25))  # A fetch that was under way may still bring these.
            tell(stage, stories(25, 30))
            stage.remove(offsets(stage))
            tell(stage, stories(30, 40))
            worker.signal(signal.SIGCONT)
            code = worker.wait()
        if code == 3 and "stood still" in worker.output():
            continue  # A machine that is busy takes longer to tell all this than the guard allows.
        assert code == 78, worker.output()
        return stage, worker
    raise AssertionError("the machine is too busy: telling this took longer than the stall guard allows, three times")


def test_retention_that_overtakes_a_running_worker_ends_it(kafka: KafkaBroker, suite: Path) -> None:
    stage, worker = overtaken(kafka, suite)
    assert "before they were graded" in worker.output()
    rest = {
        f"run-{n}" for n in range(30, 40)
    }  # Of a partition that lost nothing some may have been graded before the end.
    with WorkerProcess(stage, [suite], "a", "--accept-loss", "--metrics-port", "0") as accepting:
        until(
            lambda: rest <= {from_json(record.value or b"")["run_id"] for record in stage.read("run_verdicts")},
            "the rest being graded",
            accepting,
        )
    assert any(dict(r.headers).get("dlq.error.reason") == b"loss_accepted" for r in stage.read("dead_letters"))


def test_a_journal_made_anew_ends_the_worker_instead_of_skipping_events_as_replays(
    kafka: KafkaBroker, suite: Path
) -> None:
    stage = Stage(kafka.bootstrap).set()
    tell(stage, stories(0, 20))
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: stage.committed() == 80, "the journal being read to its end", worker)
    recreate(stage, "journal")
    # Kafka 4 drops the group's offsets with the topic: what tells is a state that has read further than the log.
    tell(stage, [run("run-0").starts().asks("hello").says("welcome").ends()])
    worker.start()
    assert worker.wait() == 78
    assert "made anew" in worker.output()
    assert "start with a new --app" in worker.output()
    fresh = Stage(kafka.bootstrap, front=stage.app).set()
    with WorkerProcess(fresh, [suite]) as accepting:
        until(lambda: len(stage.read("run_verdicts")) == 21, "the run of the new journal being graded", accepting)


def test_a_journal_made_anew_under_a_running_worker_ends_it(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    tell(stage, stories(0, 20))
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: stage.committed() == 80, "the journal being read to its end", worker)
        worker.signal(signal.SIGSTOP)  # It does not see that the topic is away in between.
        recreate(stage, "journal")
        tell(stage, stories(20, 24))
        worker.signal(signal.SIGCONT)
        assert worker.wait() == 78
    assert "the topic was made anew" in worker.output().splitlines()[-1]


def test_a_journal_that_is_deleted_under_a_running_worker_ends_it(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    tell(stage, stories(0, 20))
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: stage.committed() == 80, "the journal being read to its end", worker)
        delete(stage, "journal")
        assert worker.wait() == 78
    assert f"{stage.topic('journal')}: not there" in worker.output().splitlines()[-1]


@pytest.mark.requires_kafka
def test_a_journal_that_lost_its_end_ends_the_worker_at_its_start(tmp_path: Path, suite: Path) -> None:
    with KafkaBroker(tmp_path / "kafka") as broker:
        stage = Stage(broker.bootstrap, partitions=1).set()
        tell(stage, stories(0, 20))
        with WorkerProcess(stage, [suite]) as worker:
            until(lambda: stage.committed() == 80, "the journal being read to its end", worker)
        broker.stop()
        for segment in (broker.directory / "data" / f"{stage.topic('journal')}-0").glob("0*"):
            segment.unlink()  # A disk that was replaced.
        broker.start()
        tell(stage, stories(20, 24))
        worker.start()
        assert worker.wait() == 78
    assert "committed 80, the log holds 0 to 16: the topic was made anew" in worker.output().splitlines()[-1]


def test_a_journal_that_has_grown_ends_the_worker_before_and_after_its_start(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    tell(stage, [run(f"run-{n}").starts().asks("hello") for n in range(20)])
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: stage.committed() == 40, "the journal being read to its end", worker)
        grow(stage, "journal", 6)
        tell(stage, stories(20, 40))  # Some lie where no state can be kept.
        assert worker.wait(90) == 78
        misfit = f"has 4 partitions, the journal {stage.topic('journal')} has 6"
        assert f"{stage.app}-runs-changelog: {misfit}" in worker.output().splitlines()[-1]
        worker.log.unlink()
        worker.start()
        assert worker.wait() == 78
    assert f"{stage.app}-runs-changelog: {misfit}" in worker.output().splitlines()[-1]
    found = [from_json(record.value or b"") for record in stage.read("run_verdicts")]
    assert {value["outcome"] for value in found} <= {"pass"}, "nothing was graded that lacks its beginning"


@pytest.mark.parametrize(
    ("role", "configs", "partitions", "told"),
    [
        ("journal", {"message.timestamp.type": "CreateTime"}, 4, "LogAppendTime"),
        ("verdicts", {}, 3, "3 partitions, the journal"),
        ("verdicts", {"max.message.bytes": "1000"}, 4, "max.message.bytes must be at least 262144"),
        ("journal", {"message.timestamp.type": "LogAppendTime", "retention.ms": "60000"}, 4, "retention.ms"),
    ],
)
def test_a_topic_that_does_not_fit_is_told_before_the_start(
    kafka: KafkaBroker, suite: Path, role: str, configs: dict[str, str], partitions: int, told: str
) -> None:
    stage = Stage(kafka.bootstrap)

    async def create() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=stage.bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic(stage.topic(role), partitions, 1, topic_configs=configs)])
        await admin.close()

    asyncio.run(create())
    stage.set()
    worker = WorkerProcess(stage, [suite]).start()
    assert worker.wait() == 78
    assert told in worker.output()


def test_without_its_topics_a_worker_says_how_to_make_them(kafka: KafkaBroker, suite: Path) -> None:
    worker = WorkerProcess(Stage(kafka.bootstrap), [suite]).start()
    assert worker.wait() == 78
    assert "stream-graders topics apply" in worker.output()


def test_settings_that_cannot_be_used_end_it_with_2(kafka: KafkaBroker, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("suite: x\nchecks: []\n")
    worker = WorkerProcess(Stage(kafka.bootstrap), [path]).start()
    assert worker.wait() == 2
    assert "bad.yaml:2: checks" in worker.output()


def test_a_state_written_by_a_newer_version_ends_it(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    tell(stage, [run("open").starts().asks("hello")])
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: len(stage.read("changelog")) > 0, "a state", worker)
    (record,) = stage.read("changelog")[-1:]
    newer = b"[99" + (record.value or b"")[2:]
    assert from_json(newer)[0] == 99
    asyncio.run(_write_state(stage, record.partition, record.key or b"", newer))
    tell(stage, [run("open", seq=9).says("more")])
    worker.start()
    assert worker.wait() == 78
    assert "run the version that wrote it" in worker.output()


async def _write_state(stage: Stage, partition: int, key: bytes, value: bytes) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=stage.bootstrap)
    await producer.start()
    await producer.send_and_wait(f"{stage.app}-runs-changelog", value, key, partition=partition)
    await producer.stop()
