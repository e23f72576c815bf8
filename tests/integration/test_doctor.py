"""`stream-graders doctor` names what was planted: what is wrong with a deployment, and why a run has no verdict.

A missing right is planted in test_security.py.
"""

import asyncio
import socket
import time
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from stream_graders.cli.doctor import _clock
from stream_graders.events import Agent
from stream_graders.testing import run
from tests.cli.commands import Done, command
from tests.integration.harness import SHOP, Stage, WorkerProcess, until, written
from tests.kafka.broker import KafkaBroker

BOT = Agent("shop-bot")
pytestmark = pytest.mark.requires_kafka


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "shop.yaml", SHOP.replace("suite: shop", "suite: shop\nselect: {agent: 'shop-*'}"))


def doctor(stage: Stage, *options: str | Path) -> Done:
    names = [word for name, physical in stage.names.items() for word in ("--topic", f"{name}={physical}")]
    return command("doctor", "--bootstrap", stage.bootstrap, "--app", stage.app, *names, *options)


def lines(done: Done, place: str) -> list[str]:
    """What it says of one thing."""
    return [line for line in done.out.splitlines() if f" {place}: " in line]


def test_a_deployment_that_is_well_is_called_so(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(run("r").starts(agent=BOT).asks("hi").says("welcome").ends())
        until(lambda: stage.committed() >= 4, "the run being graded", worker)
        done = doctor(stage, "--suite", suite, "--run", "r")
    assert done.code == 0, done.out
    assert {line.split()[0] for line in done.out.splitlines()} == {"ok"}
    places = ("versions", "suites", "kafka", "rights", "topics", "workers", "lag", "clock", "run r")
    assert [line[9:].split(":")[0] for line in done.out.splitlines()] == list(places)
    assert "4 events; shop: fail" in lines(done, "run r")[0] or "4 events; shop: pass" in lines(done, "run r")[0]


def test_1_a_suite_that_cannot_be_read(kafka: KafkaBroker, tmp_path: Path) -> None:
    bad = written(tmp_path / "bad.yaml", SHOP.replace("agentlasso.tool_not_called", "agentlasso.tool_not_caled"))
    done = doctor(Stage(kafka.bootstrap).set(), "--suite", bad)
    assert done.code == 1
    assert "tool_not_called" in lines(done, "suites")[0]


def test_2_a_kafka_that_does_not_answer(suite: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        done = command("doctor", "--bootstrap", f"127.0.0.1:{closed.getsockname()[1]}", "--suite", suite)
    assert done.code == 1
    assert "check --bootstrap" in lines(done, "kafka")[0]


def test_3_a_topic_that_is_missing_and_4_one_that_does_not_fit(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap)
    assert "not there; run `stream-graders topics apply`" in lines(doctor(stage), "topics")[0]
    own = {"message.timestamp.type": "CreateTime"}
    asyncio.run(made(kafka, NewTopic(stage.topic("journal"), 4, 1, topic_configs=own)))
    stage.set()
    done = doctor(stage, "--suite", suite, "--run", "r")
    assert done.code == 1
    assert [line for line in lines(done, "topics") if "message.timestamp.type must be LogAppendTime" in line]
    assert "mend the topics first" in lines(done, "run r")[0]


async def made(kafka: KafkaBroker, topic: NewTopic) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await admin.start()
    try:
        await admin.create_topics([topic])
    finally:
        await admin.close()


def test_5_no_worker_and_records_that_wait(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    assert "warning  workers" in doctor(stage).out
    stage.tell(run("r").starts(agent=BOT).asks("hi"))
    done = doctor(stage, "--suite", suite)
    assert done.code == 1
    assert f"group {stage.app} has no member: nobody grades" in lines(done, "workers")[0]
    assert "2 records wait, the oldest for" in lines(done, "lag")[0]


def test_6_records_that_retention_removed_ungraded(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap, partitions=1).set()
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(run("r").starts(agent=BOT).asks("hi").says("welcome").ends())
        until(lambda: stage.committed() >= 4, "the run being graded", worker)
        worker.stop()
    stage.tell(run("late").starts(agent=BOT).asks("hi").says("welcome").ends())
    stage.remove({0: stage.committed() + 3})
    done = doctor(stage, "--suite", suite)
    assert done.code == 1
    assert "retention removed 3 records that were never graded" in lines(done, "offsets")[0]
    assert "--accept-loss" in lines(done, "offsets")[0]


def test_7_a_clock_that_is_wrong() -> None:
    assert _clock(time.time()).level == "ok"
    assert _clock(None).level == "ok"
    told = _clock(time.time() + 3_600)
    assert told.level == "bad"
    assert "3600 s in the future" in told.told


JUDGED = """
suite: judged
select: {agent: 'judged-*'}
judge: {sample: 1, budget: {calls: 100}}
checks:
  - {check: kind, grader: agentlasso.llm_judge, severity: minor, settings: {criterion: Stays kind.}}
"""
RUNS = {
    "judged": ("it is complete and waits for judges, until", "warning"),
    "unselected": (
        "no suite grades it: shop: agent is other, the suite selects shop-*; judged: agent is other, the suite selects judged-*",
        "bad",
    ),
    "user": ("it is open, and the next move is the user's", "warning"),
    "agent": ("it is open, and the next move is the agent's", "warning"),
    "tool": ("it is open, and the next move is a tool's", "warning"),
    "gap": ("events wait for one before them that has not come", "warning"),
    "unnamed": ("no event has named its agent", "warning"),
    "nowhere": ("no event of run nowhere is in", "bad"),
    "buried": ("1 of its records were dead-lettered: no_run_id (1)", "warning"),
}


def test_8_why_a_run_has_no_verdict(kafka: KafkaBroker, suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(kafka.bootstrap).set()
    gap = list(run("gap").starts(agent=BOT).asks("hi").says("wait").says("here"))
    monkeypatch.setenv("SG_JUDGE_KEY", "0123456789abcdef" * 4)
    judged = written(suite.parent / "judged.yaml", JUDGED)
    with WorkerProcess(stage, [suite, judged]) as worker:
        stage.tell(run("judged").starts(agent=Agent("judged-bot")).asks("hi").says("hello").ends())
        stage.tell(run("unselected").starts(agent=Agent("other")).asks("hi").ends())
        stage.tell(run("user").starts(agent=BOT).asks("hi").says("hello"))
        stage.tell(run("agent").starts(agent=BOT).asks("hi"))
        stage.tell(run("tool").starts(agent=BOT).asks("hi").calls("find"))
        stage.tell([*gap[:2], gap[3]])
        stage.tell(run("unnamed", agent=None).asks("hi"))
        stage.send([(b"buried", b'{"schema": "stream_graders.event/1", "type": "message"}')])
        until(lambda: len(stage.read("dead_letters")) == 1, "the dead letter", worker)
        for name, (told, level) in RUNS.items():
            done = doctor(stage, "--suite", suite, "--suite", judged, "--run", name)
            said = [line for line in done.out.splitlines() if f" run {name}: " in line]
            assert [line for line in said if told in line and line.startswith(level)], f"{name}\n{done.out}"
