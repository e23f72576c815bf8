"""The metrics page: names that dashboards lean on, what is counted where, and what the probes answer."""

import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from stream_graders.events import Agent
from stream_graders.gradebook import Publish
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.metrics import AGENTS, ENVIRONMENTS, Metrics, Server
from stream_graders.settings import Settings
from stream_graders.stream.app import App, build
from stream_graders.stream.observer import Observer
from stream_graders.suites import Check, Fleet
from stream_graders.testing import Story, fed, run, session_of, suite_of
from stream_graders.verdicts import Identity, Outcome
from tests.integration.harness import free_port

SUITE = suite_of(
    Check("no-drop", ToolNotCalled("db.drop"), "critical", "page"),
    Check("polite", TranscriptContains("welcome"), "minor"),
)
RUN = ("agent", "environment")
CHECK = (*RUN, "suite", "check", "outcome")
NAMES = {
    "events_consumed": ("type",),
    "events": ("fate",),
    "events_held": (),
    "ledger_difference_events": (),
    "dlq_records": ("reason",),
    "events_replayed": (),
    "runs_misplaced": (),
    "producers_restarted": (),
    "runs_started": RUN,
    "runs_completed": (*RUN, "reason"),
    "verdicts": CHECK,
    "early_verdicts": CHECK,
    "amended_verdicts": CHECK,
    "run_verdicts": (*RUN, "suite", "outcome"),
    "runs_shed": (*RUN, "suite"),
    "violations": (*RUN, "suite", "check"),
    "verdict_latency_seconds": ("suite",),
    "consumer_lag_records": ("partition",),
    "consumer_lag_seconds": ("partition",),
    "shedding_lag_seconds": ("partition",),
    "state_keys": (),
    "state_bytes": (),
    "last_event_timestamp_seconds": (),
    "last_verdict_timestamp_seconds": (),
    "broker_unreachable_since_timestamp_seconds": (),
    "build_info": ("version",),
}
"""Every metric and its labels: a dashboard or an alert goes blind when one is renamed."""


def told(metrics: Metrics, name: str, **labels: str) -> float | None:
    """A sample; None where there is no such series."""
    return metrics.registry.get_sample_value(f"stream_graders_{name}", labels)


def published(metrics: Metrics, story: Story) -> None:
    """Grade a story under the suite above, and count what is said of it."""
    session = session_of(SUITE, story.run_id)
    effects = fed(session, story)
    for identity in session.ledger.opened:
        metrics.opened(identity, [SUITE])
    for effect in effects:
        if isinstance(effect, Publish):
            metrics.published(effect.record)


def of(check: str, outcome: str) -> dict[str, str]:
    return {"agent": "agent-1", "environment": "prod", "suite": "suite", "check": check, "outcome": outcome}


def test_names_and_labels_are_those_that_dashboards_know() -> None:
    metrics = Metrics()
    found = {family.name.removeprefix("stream_graders_") for family in metrics.registry.collect()}
    assert found == set(NAMES)
    by_name: dict[str, Any] = dict(metrics.registry._names_to_collectors)
    assert {name: by_name[f"stream_graders_{name}"]._labelnames for name in NAMES} == NAMES


def test_the_series_of_a_run_begin_at_0_when_it_opens() -> None:
    metrics = Metrics()
    metrics.opened(Identity(agent=Agent("agent-1"), environment="prod"), [SUITE])
    for outcome in Outcome:
        assert told(metrics, "verdicts_total", **of("polite", outcome)) == 0
        run_labels = {"agent": "agent-1", "environment": "prod", "suite": "suite", "outcome": str(outcome)}
        assert told(metrics, "run_verdicts_total", **run_labels) == 0
    violations = {"agent": "agent-1", "environment": "prod", "suite": "suite"}
    assert told(metrics, "violations_total", **violations, check="no-drop") == 0
    assert told(metrics, "violations_total", **violations, check="polite") is None, "nobody asked to hear of it"


def test_a_suite_that_selects_a_known_agents_run_later_begins_at_0_too() -> None:
    metrics, other = Metrics(), suite_of(ToolNotCalled("x"), name="other")
    identity = Identity(agent=Agent("agent-1"), environment="prod")
    metrics.opened(identity, [SUITE])
    labels = {"agent": "agent-1", "environment": "prod", "suite": "other", "outcome": "pass"}
    assert told(metrics, "run_verdicts_total", **labels) is None
    metrics.opened(identity, [other])
    assert told(metrics, "run_verdicts_total", **labels) == 0
    assert told(metrics, "runs_started_total", agent="agent-1", environment="prod") == 2


def test_early_and_amended_verdicts_are_counted_apart_from_the_rate() -> None:
    metrics = Metrics()
    early = run(environment="prod").starts().calls("db.drop").returns().says("welcome").ends()
    late = run("run-2", environment="prod").starts().says("bye").ends(last_seq=2).says("welcome")
    published(metrics, early)
    published(metrics, late)
    assert told(metrics, "early_verdicts_total", **of("no-drop", "fail")) == 1
    assert told(metrics, "verdicts_total", **of("no-drop", "fail")) == 1
    assert told(metrics, "verdicts_total", **of("polite", "fail")) == 1
    assert told(metrics, "amended_verdicts_total", **of("polite", "pass")) == 1
    assert told(metrics, "verdicts_total", **of("polite", "pass")) == 1, "of the first run"
    runs = {"agent": "agent-1", "environment": "prod", "suite": "suite"}
    counted = {str(o): told(metrics, "run_verdicts_total", **runs, outcome=str(o)) for o in Outcome}
    assert counted == {"pass": 1, "fail": 1, "skipped": 0, "error": 0, "not_graded": 0}, "a run counts once as well"
    assert told(metrics, "runs_completed_total", agent="agent-1", environment="prod", reason="run_end") == 2


def test_a_violation_that_is_taken_back_was_one_all_the_same() -> None:
    metrics = Metrics()
    suite = suite_of(Check("polite", TranscriptContains("welcome"), "minor", "ticket"))
    session = session_of(suite)
    for effect in fed(session, run(environment="prod").starts().says("bye").ends(last_seq=2).says("welcome")):
        assert isinstance(effect, Publish)
        metrics.published(effect.record)
    labels = {"agent": "agent-1", "environment": "prod", "suite": "suite", "check": "polite"}
    assert told(metrics, "violations_total", **labels) == 1


def test_the_agent_and_the_environment_beyond_the_limit_are_other() -> None:
    metrics = Metrics()
    for n in range(AGENTS + 2):
        metrics.opened(Identity(agent=Agent(f"agent-{n}"), environment="prod"), [])
    for n in range(ENVIRONMENTS + 2):
        metrics.opened(Identity(agent=Agent("agent-0"), environment=f"env-{n}"), [])
    assert told(metrics, "runs_started_total", agent=f"agent-{AGENTS - 1}", environment="prod") == 1
    assert told(metrics, "runs_started_total", agent=f"agent-{AGENTS}", environment="prod") is None
    assert told(metrics, "runs_started_total", agent="other", environment="prod") == 2
    assert told(metrics, "runs_started_total", agent="agent-0", environment="other") == 3, "prod is one of the first"


def test_no_label_holds_what_is_new_with_every_run() -> None:
    metrics = Metrics()
    published(metrics, run("run-4711", environment="prod").starts().calls("db.drop", {"id": "secret"}).ends())
    told_labels = {value for f in metrics.registry.collect() for s in f.samples for value in s.labels.values()}
    assert not {value for value in told_labels if "4711" in value or "secret" in value}


# -- the server ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def served() -> Iterator[str]:
    server = Server(Metrics().registry, ("127.0.0.1", 0), healthy=lambda: True, ready=lambda: False)
    yield f"http://127.0.0.1:{server.port}"
    server.close()


def get(address: str, accept: str = "*/*") -> tuple[int, str, str]:
    """Status, content type and body of a page."""
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers={"Accept": accept})) as page:
            return page.status, page.headers["Content-Type"], page.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.headers["Content-Type"], error.read().decode()


def test_metrics_come_in_the_format_that_is_asked_for(served: str) -> None:
    status, kind, body = get(f"{served}/metrics")
    assert (status, kind.split(";")[0]) == (200, "text/plain")
    assert "stream_graders_build_info" in {family.name for family in text_string_to_metric_families(body)}
    status, kind, body = get(f"{served}/metrics", "application/openmetrics-text; version=1.0.0")
    assert (status, kind.split(";")[0]) == (200, "application/openmetrics-text")
    assert body.endswith("# EOF\n")


def test_a_probe_answers_with_its_status_and_another_path_with_what_there_is(served: str) -> None:
    assert get(f"{served}/healthz") == (200, "application/json", '{"health": true}')
    assert get(f"{served}/readyz?verbose")[0] == 503
    status, _, body = get(f"{served}/")
    assert (status, "/metrics" in body) == (404, True)


def test_a_port_that_is_taken_is_an_error_of_the_start(served: str) -> None:
    with pytest.raises(OSError, match="in use"):
        Server(Metrics().registry, ("127.0.0.1", int(served.rpartition(":")[2])), lambda: True, lambda: True)


@pytest.fixture
def worker() -> Iterator[tuple[App, Observer, str]]:
    """A worker that was built and not started, with its address."""
    settings = Settings(bootstrap="127.0.0.1:1", app="unstarted", metrics_port=free_port())
    app, observer = build(settings, Fleet((SUITE,)), partitions=4)
    yield app, observer, f"http://127.0.0.1:{settings.metrics_port}"
    observer.close()


def test_healthz_turns_503_when_the_loop_has_not_beaten_for_too_long(worker: tuple[App, Observer, str]) -> None:
    _, observer, address = worker
    stall = observer._worker.stall
    assert get(f"{address}/healthz")[0] == 200
    stall.last = time.monotonic() - stall.limit
    assert get(f"{address}/healthz")[0] == 503
    stall.last = time.monotonic()
    assert get(f"{address}/healthz")[0] == 200


def test_readyz_turns_200_when_the_partitions_are_read_and_503_in_a_rebalance(
    worker: tuple[App, Observer, str],
) -> None:
    app, observer, address = worker
    assert get(f"{address}/readyz")[0] == 503
    observer._table.recovered = True
    app.rebalancing = False
    assert get(f"{address}/readyz")[0] == 200
    app.rebalancing = True
    assert get(f"{address}/readyz")[0] == 503


def test_brokers_that_are_away_are_told_since_when(worker: tuple[App, Observer, str]) -> None:
    _, observer, _ = worker
    gauge = "broker_unreachable_since_timestamp_seconds"
    for now, is_connected, since in [(10.0, True, 0.0), (20.0, False, 20.0), (30.0, False, 20.0), (40.0, True, 0.0)]:
        observer.connected(now, is_connected)
        assert told(observer.metrics, gauge) == since
