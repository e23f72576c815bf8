"""What docker-compose.yml starts, started by hand: healthy, graded, scraped, alerted, recovered."""

from pathlib import Path

import pytest

from tests.deploy.compose import SERVICES, broker_settings, system
from tests.deploy.servers import Receiver
from tests.integration.harness import until

pytestmark = [pytest.mark.requires_kafka, pytest.mark.requires_prometheus, pytest.mark.timeout(600)]


def test_the_order_of_starting_is_kafka_topics_and_then_the_rest() -> None:
    assert SERVICES["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}
    for name in ("worker-0", "worker-1", "sink", "agents"):
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


def test_the_whole_of_it_runs_sees_a_failure_and_recovers(tmp_path: Path) -> None:
    receiver = Receiver()
    with system(tmp_path) as running:
        running.configure(receiver.address)
        assert running.run("topics") == 0, running.output("topics")
        for service in ("worker-0", "worker-1", "sink", "prometheus", "alertmanager", "agents"):
            running.start(service)

        for service in ("worker-0", "worker-1", "sink"):
            until(lambda service=service: running.is_healthy(service), f"{service} being healthy")  # type: ignore[misc]
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
