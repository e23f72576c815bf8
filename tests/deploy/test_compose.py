"""What docker-compose.yml starts, started by hand: healthy, graded, scraped, alerted, recovered."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from stream_graders.answers import is_genuine
from stream_graders.events import JudgeAnswer, from_json, to_json
from stream_graders.verdicts import JudgeRequest
from tests.deploy.compose import IMAGE, SERVICES, broker_settings, system
from tests.deploy.programs import DEPLOY
from tests.deploy.servers import Receiver
from tests.integration.harness import until
from tests.judges.flow import request
from tests.judges.server import ScriptedServer, always, scores

pytestmark = [pytest.mark.requires_kafka, pytest.mark.requires_prometheus, pytest.mark.timeout(600)]


def test_the_order_of_starting_is_kafka_topics_and_then_the_rest() -> None:
    assert SERVICES["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    for name in ("worker-0", "worker-1", "judge", "sink", "agents"):
        assert SERVICES[name]["depends_on"] == {"topics": {"condition": "service_completed_successfully"}}


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_locked_in_and_listens_here_only(name: str) -> None:
    service = SERVICES[name]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert name == "kafka" or (service["read_only"] and service["cap_drop"] == ["ALL"])
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert service["restart"] in ("on-failure", "no")
    assert not service["image"].endswith(":latest")


def test_one_node_keeps_one_copy_of_everything() -> None:
    settings = broker_settings()
    assert settings["auto.create.topics.enable"] == "false"
    copies = [value for name, value in settings.items() if name.endswith(("replication.factor", "min.isr"))]
    assert copies == ["1"] * 5


def test_nobody_needs_a_key_who_asks_no_judge_and_judge_and_workers_have_the_same() -> None:
    assert SERVICES["judge"]["profiles"] == ["judge"]
    assert all(told["file"].endswith(":-/dev/null}") for told in IMAGE["secrets"].values())
    for name in ("worker-0", "worker-1", "judge"):
        assert SERVICES[name]["environment"]["SG_JUDGE_KEY_FILE"] == "/run/secrets/judge-key"
        assert "judge-key" in SERVICES[name]["secrets"]
    assert not any("model-key" in told.get("secrets", []) for name, told in SERVICES.items() if name != "judge")


KEY = "what judge and worker share and nobody else"


async def asked(bootstrap: str, question: JudgeRequest) -> JudgeAnswer:
    """The answer that comes into the journal."""
    journal = AIOKafkaConsumer("agent.events.v1", bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await journal.start()
    await producer.start()
    try:
        await producer.send_and_wait("agent.judge.requests.v1", to_json(question), question.run_id.encode())
        told: Any = await asyncio.wait_for(journal.getone(), 60)
    finally:
        await producer.stop()
        await journal.stop()
    event = from_json(told.value)
    return JudgeAnswer(
        **{name: event[name] for name in ("schema", "id", "run_id", "ts", "request_id", "answer", "mac")}
    )


def test_the_judge_service_answers_a_question_by_the_shipped_file(tmp_path: Path) -> None:
    file = (DEPLOY / "judges.yaml").read_text(encoding="utf-8")
    with system(tmp_path) as running, ScriptedServer(always(scores(4))) as model:
        for before, after in ((r"https://\S+/v1", model.url), (r"/var/lib/stream-graders", str(tmp_path))):
            file, count = re.subn(before, after, file)
            assert count == 1
        (tmp_path / "judges.yaml").write_text(file, encoding="utf-8")
        assert running.run("topics") == 0, running.output("topics")

        assert running.run("judge") == 2, "what it is without keys"
        assert "SG_JUDGE_KEY or SG_JUDGE_KEY_FILE: not set" in running.output("judge")
        running.secret("judge-key", f"{KEY}\n")
        assert running.run("judge") == 2
        assert f"OPENAI_API_KEY_FILE: {tmp_path}/secret-model-key is empty" in running.output("judge")
        running.secret("model-key", "sk-1\n")

        running.start("judge")
        until(lambda: running.is_healthy("judge"), "the judge being healthy")
        answer = asyncio.run(asked(running.broker.bootstrap, request()))
        assert answer.answer["score"] == 4
        assert is_genuine(KEY.encode(), answer)
        assert not is_genuine(b"another key that is as long", answer)
        assert (tmp_path / "judges" / "ledger.sqlite").exists()
        assert running.stop("judge") == 0, running.output("judge")


def test_the_whole_of_it_runs_sees_a_failure_and_recovers(tmp_path: Path) -> None:
    receiver = Receiver()
    with system(tmp_path) as running:
        running.configure(receiver.address)
        assert running.run("topics") == 0, running.output("topics")
        for service in ("worker-0", "worker-1", "sink", "prometheus", "alertmanager", "agents"):
            running.start(service)

        for service in ("worker-0", "worker-1", "sink"):
            until(lambda service=service: running.is_healthy(service), f"{service} being healthy")  # type: ignore[misc]  # a lambda with a default
        until(lambda: sum(value for _, value in running.query('up{job="stream-graders"}')) == 2, "both being scraped")
        graded = 'sum by (suite) (stream_graders_verdicts_total{outcome=~"pass|fail"})'
        until(
            lambda: {labels["suite"] for labels, value in running.query(graded) if value > 0} == {"shop", "starter"},
            "both suites giving verdicts",
        )
        assert [value for _, value in running.query("sum(stream_graders_ledger_difference_events)")] == [0]

        until(lambda: "AgentViolation" in running.alerts(), "a violation of the agents reaching Alertmanager")
        labels = running.alerts()["AgentViolation"][0]
        assert {"agent", "version", "suite", "check", "notify", "severity"} <= labels.keys()
        until(lambda: "Watchdog" in running.alerts(), "the heartbeat")

        assert running.kill("worker-1") == 137, "what makes Docker start it again"
        until(lambda: "WorkerDown" in running.alerts(), "the alert that a worker is down")
        until(lambda: bool(receiver.heard("WorkerDown")), "its being told")
        running.start("worker-1")
        until(lambda: bool(receiver.heard("WorkerDown", "resolved")), "its recovery being told")
        until(lambda: running.is_healthy("worker-1"), "the worker being healthy again")

        for service in ("agents", "sink", "worker-0", "worker-1"):
            assert running.stop(service) == 0, running.output(service)
    receiver.close()
