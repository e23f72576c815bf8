"""`stream-graders doctor` names what was planted in judges: a key that is none or another's, and questions that nobody answers."""

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from stream_graders.events import to_json
from tests.integration.harness import Stage, until, written
from tests.integration.test_doctor import JUDGED, doctor, lines
from tests.integration.test_judges import KEY, JudgeProcess
from tests.judges.flow import request
from tests.judges.server import ScriptedServer, always, scores
from tests.kafka.broker import KafkaBroker

pytestmark = pytest.mark.requires_kafka


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    return written(tmp_path / "judged.yaml", JUDGED)


async def asked(stage: Stage, *questions: int) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=stage.bootstrap)
    await producer.start()
    try:
        for n in questions:
            question = request(n)
            await producer.send_and_wait(stage.topic("judge_requests"), to_json(question), question.run_id.encode())
    finally:
        await producer.stop()


def said(stage: Stage, suite: Path, place: str) -> str:
    """What it says of one thing, in one line."""
    [line] = lines(doctor(stage, "--suite", suite), place)
    return line


@pytest.mark.parametrize(
    ("key", "of_file", "told"),
    [
        ("", "", "SG_JUDGE_KEY or SG_JUDGE_KEY_FILE: not set; a worker with these suites does not start without"),
        ("short", "", "SG_JUDGE_KEY: has fewer than 16 characters; make one with: openssl rand -hex 32"),
        ("", "/nowhere", "SG_JUDGE_KEY_FILE: /nowhere cannot be read (FileNotFoundError)"),
    ],
)
def test_a_key_that_is_none(
    kafka: KafkaBroker, judged: Path, monkeypatch: pytest.MonkeyPatch, key: str, of_file: str, told: str
) -> None:
    monkeypatch.setenv("SG_JUDGE_KEY", key)
    monkeypatch.setenv("SG_JUDGE_KEY_FILE", of_file)
    line = said(Stage(kafka.bootstrap).set(), judged, "judge key")
    assert line.startswith("bad")
    assert told in line


def test_nobody_answers_then_somebody_with_another_key_and_then_with_the_right_one(
    kafka: KafkaBroker, judged: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SG_JUDGE_KEY", KEY)
    stage = Stage(kafka.bootstrap).set()
    assert "hold no answer" in said(stage, judged, "judge key")
    line = said(stage, judged, "judges")
    assert line.startswith("warning")
    assert f"group {stage.app}-judges has no member, and never had one: 0 questions wait" in line
    asyncio.run(asked(stage, 1, 2))
    line = said(stage, judged, "judges")
    assert line.startswith("bad")
    assert "2 questions wait, and nobody answers; start stream-graders judge" in line

    def answers() -> int:
        return len(stage.read("journal"))

    with ScriptedServer(always(scores(4))) as server:
        judge = JudgeProcess(stage, tmp_path, server.url)
        judge.environment["SG_JUDGE_KEY"] = "a key of somebody else"
        judge.start()
        until(lambda: answers() == 2, "both answers", judge)
        line = said(stage, judged, "judge key")
        assert line.startswith("bad")
        assert "0 of the newest 2 answers are signed with it; give workers and judge workers the same key" in line
        until(lambda: "0 questions wait" in said(stage, judged, "judges"), "the offsets being committed", judge)
        line = said(stage, judged, "judges")
        assert line.startswith("ok")
        assert f"1 in group {stage.app}-judges, 0 questions wait" in line
        assert judge.stop() == 0

        judge.environment["SG_JUDGE_KEY"] = KEY
        judge.start()
        asyncio.run(asked(stage, 3))
        until(lambda: answers() == 3, "the third answer", judge)
        line = said(stage, judged, "judge key")
        assert line.startswith("warning")
        assert "1 of the newest 3 answers are signed with it; the others are of before a change of the key" in line
        assert judge.stop() == 0
    asyncio.run(asked(stage, 4))
    assert f"group {stage.app}-judges has no member: 1 questions wait" in said(stage, judged, "judges")


def test_who_asks_no_judge_is_told_of_none(kafka: KafkaBroker, tmp_path: Path) -> None:
    suite = "suite: s\nchecks:\n  - {check: c, grader: vally.transcript_contains, severity: minor, settings: {substring: a}}\n"
    done = doctor(Stage(kafka.bootstrap).set(), "--suite", written(tmp_path / "s.yaml", suite))
    assert "judge" not in done.out
