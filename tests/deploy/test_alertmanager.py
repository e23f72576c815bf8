"""Who hears of an alert, and of which alerts nobody does because their cause is told."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.programs import DEPLOY, told_by
from tests.deploy.test_rules import ALERTS

CONFIG = DEPLOY / "alertmanager" / "alertmanager.yml"
RECEIVERS = {"page": "page", "ticket": "ticket", "none": "deadman"}


@pytest.mark.requires_prometheus
def test_alertmanager_takes_its_configuration() -> None:
    code, said = told_by("amtool", "check-config", CONFIG)
    assert code == 0, said


@pytest.mark.requires_prometheus
def test_a_route_to_nobody_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "alertmanager.yml"
    broken.write_text(
        CONFIG.read_text(encoding="utf-8").replace("receiver: deadman", "receiver: deadmen"), encoding="utf-8"
    )
    code, said = told_by("amtool", "check-config", broken)
    assert code != 0
    assert 'undefined receiver "deadmen"' in said


def receiver(alert: str, severity: str, config: Path = CONFIG, *more: str) -> str:
    labels = [f"alertname={alert}", f"severity={severity}", "job=stream-graders", *more]
    code, said = told_by("amtool", "config", "routes", "test", f"--config.file={config}", *labels)
    assert code == 0, said
    return said.splitlines()[-1]


@pytest.mark.requires_prometheus
@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_goes_to_whom_its_severity_says(alert: str) -> None:
    severity = ALERTS[alert]["labels"]["severity"]
    assert receiver(alert, severity) == RECEIVERS[severity]


@pytest.mark.requires_prometheus
def test_a_page_that_goes_to_nobody_in_particular_is_noticed(tmp_path: Path) -> None:
    broken = tmp_path / "alertmanager.yml"
    broken.write_text(
        CONFIG.read_text(encoding="utf-8").replace('severity="page"', 'severity="pages"'), encoding="utf-8"
    )
    assert receiver("LagGrowing", "page", broken) == "ticket"


def inhibited(config: dict[str, Any]) -> dict[str, set[str]]:
    """By alert, those that are not told while it is."""
    return {
        rule["source_matchers"][0].split('"')[1]: set(rule["target_matchers"][0].split('"')[1].split("|"))
        for rule in config["inhibit_rules"]
    }


def test_only_alerts_that_exist_silence_alerts_that_exist_and_no_page_is_silenced_by_a_ticket() -> None:
    for source, targets in inhibited(yaml.safe_load(CONFIG.read_text(encoding="utf-8"))).items():
        assert {source, *targets} <= ALERTS.keys()
        assert source not in targets
        if any(ALERTS[target]["labels"]["severity"] == "page" for target in targets):
            assert ALERTS[source]["labels"]["severity"] == "page"


def test_the_heartbeat_is_steady() -> None:
    config = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))
    route = next(route for route in config["route"]["routes"] if route["receiver"] == "deadman")
    assert route["group_interval"] == route["repeat_interval"] == "1m"


@pytest.mark.requires_prometheus
@pytest.mark.parametrize(("notify", "told"), [("page", "page"), ("ticket", "ticket")])
def test_a_violation_goes_to_whom_its_suite_says_whatever_its_severity(notify: str, told: str) -> None:
    assert receiver("AgentViolation", "critical", CONFIG, f"notify={notify}") == told
    assert receiver("AgentViolation", "page", CONFIG, f"notify={notify}") == told
