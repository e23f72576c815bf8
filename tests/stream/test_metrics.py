"""The metrics page: names that dashboards lean on, what is counted where, and what the probes answer."""

import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from stream_graders.events import Agent
from stream_graders.gradebook import Publish
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.ai_eval.format_grader import FormatGrader
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.metrics import LABELS, Metrics, Server, families
from stream_graders.settings import Settings
from stream_graders.stream.app import App, build
from stream_graders.stream.observer import Observer
from stream_graders.suites import Check, Fleet
from stream_graders.testing import Story, fed, run, session_of, suite_of
from stream_graders.verdicts import Identity, Outcome, Verdict
from tests.integration.harness import free_port

SUITE = suite_of(
    Check("no-drop", ToolNotCalled("db.drop"), "critical", "page"),
    Check("polite", TranscriptContains("welcome"), "minor"),
)
RUN = ("agent", "environment", "suite")
CHECK = (*RUN, "check", "outcome")
NAMES = {
    "events_consumed_total": ("type",),
    "events_total": ("fate",),
    "events_held": (),
    "events_replayed_total": (),
    "ledger_difference_events": (),
    "dlq_records_total": ("reason",),
    "runs_misplaced_total": (),
    "producers_restarted_total": (),
    "questions_total": (),
    "answers_total": ("use",),
    "runs_started_total": RUN,
    "runs_completed_total": (*RUN, "reason"),
    "checks_opened_total": RUN,
    "verdicts_total": CHECK,
    "checks_ungraded_total": ("suite", "check", "outcome", "reason"),
    "early_verdicts_total": CHECK,
    "amended_verdicts_total": CHECK,
    "run_verdicts_total": (*RUN, "outcome"),
    "runs_shed_total": RUN,
    "violations_total": (*RUN, "check"),
    "score_ratio": ("suite", "check"),
    "labels_folded_total": ("suite",),
    "verdict_latency_seconds": ("suite",),
    "batch_duration_seconds": ("stage",),
    "event_loop_lag_seconds": (),
    "consumer_lag_records": ("partition",),
    "consumer_lag_seconds": ("partition",),
    "shedding_lag_seconds": ("partition",),
    "committed_offset": ("partition",),
    "deadline_overdue_seconds": (),
    "rebalances_total": (),
    "recovery_duration_seconds": (),
    "recovering": (),
    "state_keys": (),
    "state_bytes": (),
    "last_event_timestamp_seconds": (),
    "last_verdict_timestamp_seconds": (),
    "broker_unreachable_since_timestamp_seconds": (),
    "build_info": ("version",),
    "suite_checks": ("suite", "suite_version"),
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
    found = families(Metrics([SUITE]).registry)
    assert {told.name: told.labels for told in found} == {f"stream_graders_{name}": of for name, of in NAMES.items()}
    assert {label for told in found for label in told.labels} == set(LABELS), "each is explained"


def test_a_process_tells_of_itself_under_the_names_that_every_process_does() -> None:
    assert Metrics([]).registry.get_sample_value("process_resident_memory_bytes")
    assert Metrics([]).registry.get_sample_value("process_start_time_seconds")


def test_the_series_of_a_run_begin_at_0_when_it_opens() -> None:
    metrics = Metrics([SUITE])
    metrics.opened(Identity(agent=Agent("agent-1"), environment="prod"), [SUITE])
    for outcome in Outcome:
        assert told(metrics, "verdicts_total", **of("polite", outcome)) == 0
        run_labels = {"agent": "agent-1", "environment": "prod", "suite": "suite", "outcome": str(outcome)}
        assert told(metrics, "run_verdicts_total", **run_labels) == 0
    violations = {"agent": "agent-1", "environment": "prod", "suite": "suite"}
    assert told(metrics, "violations_total", **violations, check="no-drop") == 0
    assert told(metrics, "violations_total", **violations, check="polite") is None, "nobody asked to hear of it"


def test_a_suite_that_selects_a_known_agents_run_later_begins_at_0_too() -> None:
    other = suite_of(ToolNotCalled("x"), name="other")
    metrics = Metrics([SUITE, other])
    identity = Identity(agent=Agent("agent-1"), environment="prod")
    metrics.opened(identity, [SUITE])
    labels = {"agent": "agent-1", "environment": "prod", "suite": "other", "outcome": "pass"}
    assert told(metrics, "run_verdicts_total", **labels) is None
    metrics.opened(identity, [other])
    assert told(metrics, "run_verdicts_total", **labels) == 0
    for suite in ("suite", "other"):
        assert told(metrics, "runs_started_total", agent="agent-1", environment="prod", suite=suite) == 1


def test_early_and_amended_verdicts_are_counted_apart_from_the_rate() -> None:
    metrics = Metrics([SUITE])
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
    run_labels = {"agent": "agent-1", "environment": "prod", "suite": "suite"}
    assert told(metrics, "runs_completed_total", **run_labels, reason="run_end") == 2
    assert told(metrics, "checks_opened_total", **run_labels) == 4
    outcomes = sum(told(metrics, "verdicts_total", **of(c.name, o)) or 0 for c in SUITE.checks for o in Outcome)
    assert outcomes == 4, "selected runs times checks are the outcomes, none being open"


def test_a_violation_that_is_taken_back_was_one_all_the_same() -> None:
    suite = suite_of(Check("polite", TranscriptContains("welcome"), "minor", "ticket"))
    metrics = Metrics([suite])
    session = session_of(suite)
    for effect in fed(session, run(environment="prod").starts().says("bye").ends(last_seq=2).says("welcome")):
        assert isinstance(effect, Publish)
        metrics.published(effect.record)
    labels = {"agent": "agent-1", "environment": "prod", "suite": "suite", "check": "polite"}
    assert told(metrics, "violations_total", **labels) == 1


def test_a_check_without_a_verdict_is_counted_with_its_reason() -> None:
    metrics = Metrics([SUITE])
    published(metrics, run(environment="prod").starts(reports=["messages", "end"]).says("welcome").ends())
    labels = {"suite": "suite", "check": "no-drop", "outcome": "not_graded", "reason": "record_unknown"}
    assert told(metrics, "checks_ungraded_total", **labels) == 1
    assert told(metrics, "verdicts_total", **of("no-drop", "not_graded")) == 1


def test_scores_are_told_of_checks_that_have_more_to_say_than_pass_or_fail() -> None:
    suite = suite_of(Check("form", FormatGrader(), "minor"), Check("polite", TranscriptContains("welcome"), "minor"))
    metrics = Metrics([suite])
    session = session_of(suite)
    scores = []
    for effect in fed(session, run().starts().says("welcome").ends()):
        assert isinstance(effect, Publish)
        metrics.published(effect.record)
        scores += [effect.record.score] if isinstance(effect.record, Verdict) else []
    assert scores[0] is not None
    assert scores[0] > 1, "of 5, where the other's is of 1"
    assert told(metrics, "score_ratio_sum", suite="suite", check="form") == scores[0] / 5
    assert told(metrics, "score_ratio_count", suite="suite", check="form") == 1
    assert told(metrics, "score_ratio_count", suite="suite", check="polite") is None


def test_the_time_to_a_verdict_is_what_its_own_run_waited() -> None:
    metrics = Metrics([SUITE])
    for effect in fed(session_of(SUITE), run().starts().says("welcome").ends()):
        assert isinstance(effect, Publish)
        metrics.published(effect.record, 7.0)
    assert told(metrics, "verdict_latency_seconds_sum", suite="suite") == 7.0
    assert told(metrics, "verdict_latency_seconds_count", suite="suite") == 1


def test_a_run_whose_suite_was_edited_since_is_counted_under_the_checks_it_had() -> None:
    metrics = Metrics([suite_of(SUITE.checks[0])])
    published(metrics, run(environment="prod").starts().says("welcome").ends())
    assert told(metrics, "verdicts_total", **of("no-drop", "pass")) == 1
    assert told(metrics, "verdicts_total", **of("polite", "pass")) == 1


@pytest.mark.parametrize("run_id", ["run-7", "r" * 512, "走" * 200])
def test_a_failure_shows_the_run_it_was_seen_in_whatever_its_id(run_id: str) -> None:
    metrics = Metrics([SUITE])
    published(metrics, run(run_id, environment="prod").starts().calls("db.drop").returns().says("bye").ends())
    page = generate_latest(metrics.registry).decode()  # type: ignore[no-untyped-call]  # the library leaves both out
    families = openmetrics(page)  # type: ignore[no-untyped-call]  # the library leaves this one out
    samples = [sample for family in families for sample in family.samples if sample.exemplar is not None]
    assert {s.exemplar.labels["run_id"] for s in samples} == {run_id[:122]}
    assert {s.name for s in samples} == {
        "stream_graders_verdicts_total", "stream_graders_run_verdicts_total", "stream_graders_verdict_latency_seconds_bucket",
    }  # fmt: skip
    outcomes = {s.labels["outcome"] for s in samples if s.name == "stream_graders_verdicts_total"}
    assert outcomes == {"fail"}, "a pass is nothing that somebody follows up"


def test_no_label_holds_what_is_new_with_every_run() -> None:
    metrics = Metrics([SUITE])
    published(metrics, run("run-4711", environment="prod").starts().calls("db.drop", {"id": "secret"}).ends())
    told_labels = {value for f in metrics.registry.collect() for s in f.samples for value in s.labels.values()}
    assert not {value for value in told_labels if "4711" in value or "secret" in value}


# -- the server ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def served() -> Iterator[str]:
    server = Server(Metrics([SUITE]), ("127.0.0.1", 0), healthy=lambda: True, ready=lambda: False)
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
        Server(Metrics([SUITE]), ("127.0.0.1", int(served.rpartition(":")[2])), lambda: True, lambda: True)


@pytest.fixture
def worker() -> Iterator[tuple[App, Observer, str]]:
    """A worker that was built and not started, with its address."""
    settings = Settings(bootstrap="127.0.0.1:1", app="unstarted", metrics_port=free_port())
    app, observer = build(settings, Fleet((SUITE,)), partitions=4)
    yield app, observer, f"http://127.0.0.1:{settings.metrics_port}"
    observer.close()


def test_what_an_alert_waits_for_is_0_before_it_happens(worker: tuple[App, Observer, str]) -> None:
    metrics = worker[1].metrics
    for fate in ("graded", "duplicate", "dead_lettered", "skipped", "unselected"):
        assert told(metrics, "events_total", fate=fate) == 0
    for kind in ("run.start", "run.end", "message", "unknown", "tick", "unreadable"):
        assert told(metrics, "events_consumed_total", type=kind) == 0
    assert told(metrics, "dlq_records_total", reason="session_failed") == 0
    assert told(metrics, "labels_folded_total", suite="suite") == 0
    assert told(metrics, "runs_misplaced_total") == 0
    assert told(metrics, "suite_checks", suite="suite", suite_version=SUITE.version) == 2


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
