"""Prometheus metrics of a worker, on a registry of their own, and the server that shows them.

Labels are the agent, the environment and what a suite names; a run id, an argument or a piece of evidence never
becomes one. A check counts once, at its first final verdict: early and amended verdicts have counters of their own, so
that pass / (pass + fail) over ``verdicts_total`` is the pass rate.
"""

import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics
from prometheus_client.exposition import choose_encoder

from .suites import Suite
from .verdicts import Identity, Outcome, Reason, RunVerdict, Verdict, Violation

AGENTS = 100
"""Agents with series of their own; the next ones are counted together as ``other``."""
ENVIRONMENTS = 20
"""The same of environments: whoever writes to the journal chooses both."""
LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
PREFIX = "stream_graders"


class Metrics:
    """What a worker counts, under the names that dashboards and alerts use."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this one out
        self.registry = CollectorRegistry()
        run, check = ("agent", "environment"), ("agent", "environment", "suite", "check", "outcome")
        self.consumed = self._counter("events_consumed", "Journal records read, by event type.", "type")
        self.events = self._counter(
            "events",
            "What became of the journal's records: graded, dead_lettered, duplicate, skipped, unselected.",
            "fate",
        )
        self.held = self._gauge(
            "events_held", "Events of runs in memory held back behind a gap or until their agent is known."
        )
        self.difference = self._gauge("ledger_difference_events", "Events that the ledger does not account for: 0.")
        self.dead = self._counter("dlq_records", "Dead-lettered records, by reason.", "reason")
        self.replayed = self._counter("events_replayed", "Records read again and skipped by their run's watermark.")
        self.misplaced = self._counter("runs_misplaced", "Runs that lie on another partition than their id belongs to.")
        self.restarted = self._counter(
            "producers_restarted", "Producers that began again at number 0 under their old name."
        )
        self.started = self._counter("runs_started", "Runs that a suite selected.", *run)
        self.completed = self._counter(
            "runs_completed", "Run verdicts at completion, by what completed the run.", *run, "reason"
        )
        self.verdicts = self._counter("verdicts", "Checks by their first final outcome.", *check)
        self.early = self._counter("early_verdicts", "Verdicts before the run's end.", *check)
        self.amended = self._counter("amended_verdicts", "Verdicts changed by a late event.", *check)
        self.runs = self._counter("run_verdicts", "Runs by their first final outcome.", *run, "suite", "outcome")
        self.shed = self._counter("runs_shed", "Runs left ungraded because the worker was behind.", *run, "suite")
        self.violations = self._counter("violations", "Violations told of.", *run, "suite", "check")
        self.latency = Histogram(
            "verdict_latency_seconds",
            "From the append of the last record read to the acknowledgement of the run verdict.",
            ("suite",),
            namespace=PREFIX,
            buckets=LATENCY,
            registry=self.registry,
        )
        self.lag = self._gauge("consumer_lag_records", "Records not read yet, of owned partitions.", "partition")
        self.lag_seconds = self._gauge(
            "consumer_lag_seconds", "Age of the last record read while records wait, else 0.", "partition"
        )
        self.shedding = self._gauge(
            "shedding_lag_seconds", "The lag that suites shed runs by, 0 while they shed none.", "partition"
        )
        self.state_keys = self._gauge("state_keys", "Runs remembered.")
        self.state_bytes = self._gauge("state_bytes", "Bytes of the states of remembered runs.")
        self.last_event = self._gauge("last_event_timestamp_seconds", "Append time of the last record read.")
        self.last_verdict = self._gauge("last_verdict_timestamp_seconds", "When a verdict was last acknowledged.")
        self.unreachable = self._gauge(
            "broker_unreachable_since_timestamp_seconds",
            "Since when there is no connection to any broker; 0 if there is one.",
        )
        info = self._gauge("build_info", "The program.", "version")
        info.labels(_version()).set(1)
        self._agents: set[str] = set()
        self._environments: set[str] = set()
        self._known: set[tuple[tuple[str, str], str]] = set()
        """Of which agents, environments and suites the series were begun."""

    def opened(self, identity: Identity, suites: Iterable[Suite]) -> None:
        """A run was selected by these suites. Its series begin at 0: a counter born at 1 is invisible to ``increase``."""
        run = self._run(identity.agent.name if identity.agent else None, identity.environment)
        self.started.labels(*run).inc()
        for suite in suites:
            if (run, suite.name) in self._known:
                continue
            self._known.add((run, suite.name))
            if suite.shed is not None:
                self.shed.labels(*run, suite.name)
            for outcome in Outcome:
                self.runs.labels(*run, suite.name, outcome)
                for check in suite.checks:
                    self.verdicts.labels(*run, suite.name, check.name, outcome)
            for check in suite.checks:
                if check.notify != "none":
                    self.violations.labels(*run, suite.name, check.name)

    def published(self, record: Verdict | RunVerdict | Violation) -> None:
        """A record was acknowledged."""
        of = record.verdict if isinstance(record, Violation) else record
        run = self._run(of.agent.name if of.agent else None, of.environment)
        if isinstance(record, Violation):
            if not record.resolved:
                self.violations.labels(*run, of.suite, record.verdict.check).inc()
        elif isinstance(record, Verdict):
            # A first final one is counted by its run verdict: it may not be published, and a check on each turn has many.
            if record.revision != 1:
                counter = self.early if record.revision == 0 else self.amended
                counter.labels(*run, record.suite, record.check, record.outcome).inc()
        elif record.revision == 1:
            for line in record.checks:
                self.verdicts.labels(*run, record.suite, line.check, line.outcome).inc()
            self.runs.labels(*run, record.suite, record.outcome).inc()
            if record.reason is Reason.SHED:
                self.shed.labels(*run, record.suite).inc()
            self.completed.labels(*run, record.completion).inc()

    def _run(self, agent: str | None, environment: str | None) -> tuple[str, str]:
        return (_among(self._agents, agent or "", AGENTS), _among(self._environments, environment or "", ENVIRONMENTS))

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, namespace=PREFIX, registry=self.registry)

    def _gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(name, told, labels, namespace=PREFIX, registry=self.registry)


class Server:
    """Serves /metrics, /healthz and /readyz from a thread, so that they answer while the event loop is busy or stuck."""

    def __init__(
        self,
        registry: CollectorRegistry,
        address: tuple[str, int],
        healthy: Callable[[], bool],
        ready: Callable[[], bool],
    ):
        """Start serving.

        Args:
            registry: what to show.
            address: host and port; port 0 takes a free one.
            healthy: is the event loop alive? Asked from another thread.
            ready: are the partitions recovered? Asked from another thread.

        Raises:
            OSError: the port is taken.
        """
        pages = {"/healthz": healthy, "/readyz": ready}

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # (the base class's own name)
                path = self.path.partition("?")[0]
                if path == "/metrics":
                    encode, kind = choose_encoder(self.headers.get("Accept", ""))
                    self._answer(200, kind, encode(registry))
                elif path in pages:
                    good = pages[path]()
                    body = json.dumps({path[1:-1]: good}).encode()
                    self._answer(200 if good else 503, "application/json", body)
                else:
                    self._answer(404, "text/plain", b"try /metrics, /healthz or /readyz\n")

            def _answer(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                """Probes every few seconds are not worth a line each."""

        self._server = ThreadingHTTPServer(address, Handler)
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()


def _among(known: set[str], name: str, limit: int) -> str:
    """The name as a label: itself, if it was among the first ones."""
    if name not in known:
        if len(known) >= limit:
            return "other"
        known.add(name)
    return name


def _version() -> str:
    try:
        return version("stream-graders")
    except PackageNotFoundError:
        return "unknown"
