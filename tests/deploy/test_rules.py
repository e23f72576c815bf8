"""The alerts: each fires when it should and only then, is known to the runbook, and asks for what the code tells."""

import re
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.programs import DEPLOY, ROOT, told_by
from tests.deploy.promql import problems

RULES = DEPLOY / "prometheus" / "rules.yml"
STORIES = DEPLOY / "prometheus" / "rules.test.yml"
RUNBOOK = ROOT / "docs" / "runbook.md"

Rules = dict[str, Any]


def loaded(path: Path) -> Rules:
    found: Rules = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


def rules_of(file: Rules) -> list[dict[str, Any]]:
    return [rule for group in file["groups"] for rule in group["rules"]]


ALL = rules_of(loaded(RULES))
ALERTS = {rule["alert"]: rule for rule in ALL if "alert" in rule}
RECORDED = frozenset(rule["record"] for rule in ALL if "record" in rule)
TESTS: list[dict[str, Any]] = loaded(STORIES)["tests"]


def firing(story: dict[str, Any]) -> set[str]:
    """The alerts that a story expects at any time."""
    return {
        found[1]
        for asked in story["promql_expr_test"]
        for sample in asked["exp_samples"]
        if (found := re.search(r'alertname="(\w+)"', sample["labels"]))
    }


def tell(folder: Path, rules: Rules, stories: list[dict[str, Any]]) -> tuple[int, str]:
    """What promtool says of rules and stories."""
    (folder / "rules.yml").write_text(yaml.safe_dump(rules), encoding="utf-8")
    tests = {"rule_files": ["rules.yml"], "evaluation_interval": "1m", "tests": stories}
    (folder / "tests.yml").write_text(yaml.safe_dump(tests), encoding="utf-8")
    return told_by("promtool", "test", "rules", folder / "tests.yml")


def with_expr(alert: str, expr: str) -> Rules:
    """The rules with another expression for an alert, which fires at once."""
    rules = deepcopy(loaded(RULES))
    rule = next(rule for rule in rules_of(rules) if rule.get("alert") == alert)
    rule["expr"] = expr
    rule.pop("for", None)
    return rules


# -- rules ---------------------------------------------------------------------------------------------------------------


@pytest.mark.requires_prometheus
def test_prometheus_takes_its_configuration_and_every_rule_and_story() -> None:
    assert told_by("promtool", "check", "config", "--lint=all", DEPLOY / "prometheus" / "prometheus.yml")[0] == 0
    code, said = told_by("promtool", "check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert code == 0, said
    code, said = told_by("promtool", "test", "rules", STORIES)
    assert code == 0, said


@pytest.mark.requires_prometheus
def test_an_expression_that_is_not_closed_is_told_with_its_line(tmp_path: Path) -> None:
    broken = tmp_path / "rules.yml"
    broken.write_text(RULES.read_text(encoding="utf-8").replace("vector(1)", "vector(1"), encoding="utf-8")
    code, said = told_by("promtool", "check", "rules", broken)
    assert code != 0
    assert re.search(r"rules\.yml: (\d+:\d+: )?.*Watchdog", said), said


@pytest.mark.requires_prometheus
@pytest.mark.parametrize("alert", ALERTS)
def test_a_story_notices_an_alert_that_never_fires(alert: str, tmp_path: Path) -> None:
    stories = [story for story in TESTS if alert in firing(story)]
    assert stories, f"no story in which {alert} fires"
    shortest = min(stories, key=lambda story: len(str(story)))
    assert tell(tmp_path, with_expr(alert, "vector(1) > 2"), [shortest])[0] != 0


QUIET = ["low traffic", "a restart", "nothing was ever there"]
"""Stories in which next to nothing fires: each names every other alert by not naming it."""


@pytest.mark.requires_prometheus
@pytest.mark.parametrize("alert", sorted(ALERTS.keys() - {"Watchdog", "WorkersAbsent"}))
def test_a_story_notices_an_alert_that_always_fires(alert: str, tmp_path: Path) -> None:
    story = next(story for story in TESTS if story["name"] == "nothing was ever there")
    assert tell(tmp_path, with_expr(alert, "vector(1)"), [story])[0] != 0


def test_the_stories_that_every_alert_is_held_to_are_there() -> None:
    told = [story["name"] for story in TESTS]
    assert all(
        any(name.startswith(begins) for name in told) for begins in [*QUIET, "a busy fleet", "all workers are gone"]
    )
    wordings = {asked["alertname"] for story in TESTS for asked in story.get("alert_rule_test", [])}
    assert wordings == ALERTS.keys() - {"Watchdog"}, "the words of each are told once"


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_asks_for_what_the_code_tells(rule: dict[str, Any]) -> None:
    assert list(problems(rule["expr"], RECORDED)) == []


@pytest.mark.parametrize(
    ("expr", "told"),
    [
        ("rate(stream_graders_verdict_total[5m])", ["nobody tells 'stream_graders_verdict_total'"]),
        ('stream_graders_verdicts_total{result="fail"}', ["stream_graders_verdicts_total has no label 'result'"]),
        ('sum(up{job="x"}) / stream_graders_state_bytes', []),
    ],
)
def test_a_name_that_nobody_tells_is_noticed(expr: str, told: list[str]) -> None:
    assert list(problems(expr)) == told


def test_an_expression_that_cannot_be_read_is_noticed() -> None:
    with pytest.raises(ValueError, match="unclosed"):
        list(problems("sum(rate(up[5m])"))


# -- the runbook ---------------------------------------------------------------------------------------------------------


def untold(alerts: dict[str, dict[str, Any]], runbook: str) -> list[str]:
    """What the alerts and the runbook do not agree about."""
    headings = re.findall(r"^## (\w+)$", runbook, re.M)
    found = [f"{alert}: no entry" for alert in alerts if alert not in headings]
    found += [f"{heading}: no alert" for heading in headings if heading not in alerts]
    for alert, rule in alerts.items():
        if rule["annotations"].get("runbook_url") != f"docs/runbook.md#{alert.lower()}":
            found.append(f"{alert}: runbook_url")
        entry = re.search(rf"^## {alert}\n\n\*{rule['labels']['severity']}\.\* .*?(?=^## |\Z)", runbook, re.M | re.S)
        if entry is None or not all(f"- **{step}** " in entry[0] for step in ("Look at", "Do")):
            found.append(f"{alert}: severity, what to look at, what to do")
    return found


def test_every_alert_has_its_entry_in_the_runbook_and_every_entry_its_alert() -> None:
    assert untold(ALERTS, RUNBOOK.read_text(encoding="utf-8")) == []


def _renamed(alerts: dict[str, dict[str, Any]]) -> None:
    alerts["Renamed"] = alerts.pop("LagGrowing")


def _elsewhere(alerts: dict[str, dict[str, Any]]) -> None:
    alerts["LagGrowing"]["annotations"]["runbook_url"] = "docs/runbook.md#lag"


def _other_severity(alerts: dict[str, dict[str, Any]]) -> None:
    alerts["LagGrowing"]["labels"]["severity"] = "ticket"


def test_the_readme_and_the_changelog_count_them_right() -> None:
    for name in ("README.md", "CHANGELOG.md"):
        told = re.findall(r"(\d+) (?:Prometheus )?alerts", (ROOT / name).read_text(encoding="utf-8"))
        assert told == [str(len(ALERTS))], name


@pytest.mark.parametrize(
    ("bend", "told"),
    [
        (_renamed, ["Renamed: no entry", "LagGrowing: no alert"]),
        (_elsewhere, ["LagGrowing: runbook_url"]),
        (_other_severity, ["LagGrowing: severity, what to look at, what to do"]),
    ],
)
def test_an_alert_that_the_runbook_does_not_know_is_noticed(
    bend: Callable[[dict[str, dict[str, Any]]], None], told: list[str]
) -> None:
    alerts = deepcopy(ALERTS)
    bend(alerts)
    assert untold(alerts, RUNBOOK.read_text(encoding="utf-8"))[: len(told)] == told


def test_an_alert_says_what_is_wrong_and_how_bad_it_is() -> None:
    for alert, rule in ALERTS.items():
        assert rule["labels"]["severity"] in {"page", "ticket", "none"}, alert
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}, alert
