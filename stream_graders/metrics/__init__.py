"""Prometheus metrics of a worker, on a registry of their own; docs/metrics.md is made from what stands here.

Labels are the agent, the environment and what a suite names; a run id, an argument or a piece of evidence never
becomes one, and a version does not either: agents have a new one every day. A check counts once, at its first final
verdict: early and amended verdicts have counters of their own, so that pass / (pass + fail) over ``verdicts_total`` is
the pass rate. What counts only what is rare begins when it first happens; the rest begins at 0 when a run opens, since a
counter born at 1 is invisible to ``increase``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.metrics import MetricWrapperBase

from ..events import DeadLetter
from ..suites import Suite
from ..verdicts import Identity, Outcome, Reason, RunVerdict, Verdict, Violation
from .groups import Labels, Room
from .server import Server

__all__ = ["LABELS", "PREFIX", "Family", "Metrics", "Server", "families"]

PREFIX = "stream_graders"
LATENCY = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
WORK = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
LOOP = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
RECOVERY = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
SHARES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
EXEMPLAR = 128 - len("run_id")
"""Characters of a run id beside a sample: OpenMetrics allows 128 with the label's name, and the client raises beyond."""
TROUBLE = (Outcome.FAIL, Outcome.ERROR)
"""Outcomes that somebody follows up: their counters carry a run id as exemplar."""

LABELS = {
    "agent": "the run's agent; `other` where there was no room for a series of its own, empty where no event named one",
    "environment": "the run's environment, likewise",
    "suite": "the suite's name",
    "suite_version": "the hash of the resolved suite",
    "check": "the check's name in its suite",
    "outcome": "`pass`, `fail`, `skipped`, `error`, `not_graded`",
    "reason": "one of the closed list of reasons: of outcomes, of completion, or of dead letters",
    "type": "an event's type, `tick`, or `unreadable` for a record that is no event",
    "fate": "`graded`, `duplicate`, `dead_lettered`, `skipped`, `unselected`",
    "use": "`settled`, `ignored`",
    "partition": "the journal's partition; only of those that the worker owns",
    "stage": "`grade` or `write`",
    "version": "the program's version",
}
"""What the labels hold, for the manual."""


class Family(NamedTuple):
    """A metric, as the manual tells of it."""

    name: str
    """As it is asked for: a counter's ends in ``_total``."""
    kind: str
    told: str
    labels: tuple[str, ...]


def families(registry: CollectorRegistry) -> list[Family]:
    """What a registry tells, in the order in which it was made; what every process has is left out."""
    made = [collector for collector in registry._collector_to_names if isinstance(collector, MetricWrapperBase)]
    told = [(collector._labelnames, *collector.describe()) for collector in made]
    return [
        Family(
            f"{family.name}_total" if family.type == "counter" else family.name,
            family.type,
            family.documentation,
            labels,
        )
        for labels, family in told
    ]


@dataclass(slots=True, frozen=True)
class _Group:
    """The series of the runs of one agent, environment and suite, looked up once."""

    labels: Labels
    started: Counter
    opened: Counter
    verdicts: dict[tuple[str, str], Counter]
    runs: dict[str, Counter]
    rare: set[tuple[MetricWrapperBase, tuple[str, ...]]]
    """What began later than the group."""


class Metrics:
    """What a worker counts, under the names that dashboards and alerts use."""

    def __init__(self, suites: Iterable[Suite]) -> None:
        """Nothing has happened; ``suites`` are those that are loaded."""
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this one out
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        run = ("agent", "environment", "suite")
        check = (*run, "check", "outcome")
        self.consumed = self._counter("events_consumed", "Journal records read, by event type.", "type")
        self.events = self._counter("events", "What became of the journal's records, each once.", "fate")
        self.held = self._gauge(
            "events_held", "Events of runs in memory held back behind a gap or until their agent is known."
        )
        self.replayed = self._counter("events_replayed", "Records read again and skipped by their run's watermark.")
        self.difference = self._gauge("ledger_difference_events", "Events that the ledger does not account for: 0.")
        self.dead = self._counter("dlq_records", "Dead-lettered records, by reason.", "reason")
        self.misplaced = self._counter("runs_misplaced", "Runs that lie on another partition than their id belongs to.")
        self.restarted = self._counter(
            "producers_restarted", "Producers that began again at number 0 under their old name."
        )
        self.questions = self._counter("questions", "Questions that checks asked judges.")
        self.answers = self._counter(
            "answers",
            "Answers of judges: those that settled a check, and those that nothing waited for or nobody signed.",
            "use",
        )
        self.started = self._counter("runs_started", "Runs that a suite selected.", *run)
        self.completed = self._counter(
            "runs_completed", "Run verdicts at completion, by what completed the run.", *run, "reason"
        )
        self.opened_checks = self._counter(
            "checks_opened", "Checks of the runs that a suite selected; each ends once in verdicts_total.", *run
        )
        self.verdicts = self._counter("verdicts", "Checks by their first final outcome.", *check)
        self.ungraded = self._counter(
            "checks_ungraded", "Checks whose first final outcome is error or not_graded, by reason.",
            "suite", "check", "outcome", "reason",
        )  # fmt: skip
        self.early = self._counter("early_verdicts", "Verdicts before the run's end.", *check)
        self.amended = self._counter("amended_verdicts", "Verdicts changed by a late event.", *check)
        self.runs = self._counter("run_verdicts", "Runs by their first final outcome.", *run, "outcome")
        self.shed = self._counter("runs_shed", "Runs left ungraded because the worker was behind.", *run)
        self.violations = self._counter("violations", "Violations told of.", *run, "check")
        self.score = self._histogram(
            "score_ratio", "Scores of checks that have more to say than pass or fail, as a share of their scale.",
            SHARES, "suite", "check",
        )  # fmt: skip
        self.folded = self._counter(
            "labels_folded", "Runs whose agent and environment count as other, for want of room.", "suite"
        )
        self.latency = self._histogram(
            "verdict_latency_seconds",
            "From the append of the record that settled a run to the acknowledgement of its run verdict.",
            LATENCY, "suite",
        )  # fmt: skip
        self.batch = self._histogram(
            "batch_duration_seconds", "What a batch took to be graded, and to be written.", WORK, "stage"
        )
        self.loop = self._histogram(
            "event_loop_lag_seconds", "The longest that the event loop kept others waiting in each second.", LOOP
        )
        self.lag = self._gauge("consumer_lag_records", "Records not read yet, of owned partitions.", "partition")
        self.lag_seconds = self._gauge(
            "consumer_lag_seconds", "Age of the last record read while records wait, else 0.", "partition"
        )
        self.shedding = self._gauge(
            "shedding_lag_seconds", "The lag that suites shed runs by, 0 while they shed none.", "partition"
        )
        self.committed = self._gauge("committed_offset", "Up to where the group has committed.", "partition")
        self.overdue = self._gauge(
            "deadline_overdue_seconds", "For how long a run's deadline has passed that nobody has acted on, else 0."
        )
        self.rebalances = self._counter("rebalances", "Rebalances of the group that this worker took part in.")
        self.recovery = self._histogram(
            "recovery_duration_seconds",
            "From the start of a rebalance until the states of owned runs are read.",
            RECOVERY,
        )
        self.recovering = self._gauge("recovering", "1 while states are being read, so that nothing is graded; else 0.")
        self.state_keys = self._gauge("state_keys", "Runs remembered.")
        self.state_bytes = self._gauge("state_bytes", "Bytes of the states of remembered runs.")
        self.last_event = self._gauge("last_event_timestamp_seconds", "Append time of the last record read.")
        self.last_verdict = self._gauge("last_verdict_timestamp_seconds", "When a verdict was last acknowledged.")
        self.unreachable = self._gauge(
            "broker_unreachable_since_timestamp_seconds",
            "Since when there is no connection to any broker; 0 if there is one.",
        )
        self._gauge("build_info", "The program: always 1.", "version").labels(_version()).set(1)
        checks = self._gauge(
            "suite_checks", "Checks of a loaded suite; all workers should load the same.", "suite", "suite_version"
        )
        for reason in DeadLetter:
            self.dead.labels(reason)
        self._suites = {suite.name: suite for suite in suites}
        self._scored: set[tuple[str, str]] = set()
        for suite in self._suites.values():
            checks.labels(suite.name, suite.version).set(len(suite.checks))
            self.folded.labels(suite.name)
            self._scored |= {(suite.name, c.name) for c in suite.checks if c.grader.pass_at is not None}
        self._room: Room[_Group] = Room(self._begin, self._drop)

    def opened(self, identity: Identity, suites: Iterable[Suite]) -> None:
        """A run was selected by these suites."""
        for suite in suites:
            group, is_own = self._group(identity, suite.name)
            group.started.inc()
            group.opened.inc(len(suite.checks))
            if not is_own:
                self.folded.labels(suite.name).inc()

    def published(self, record: Verdict | RunVerdict | Violation, waited: float = 0.0) -> None:
        """A record was acknowledged, so many seconds after what settled it was appended."""
        of = record.verdict if isinstance(record, Violation) else record
        group, _ = self._group(of, of.suite)
        if isinstance(record, Violation):
            if not record.resolved:
                self._rarely(group, self.violations, record.verdict.check)
        elif isinstance(record, Verdict):
            # A first final one is counted by its run verdict: it may not be published, and a check on each turn has many.
            if record.revision != 1:
                counter = self.early if record.revision == 0 else self.amended
                self._rarely(group, counter, record.check, record.outcome)
        elif record.revision == 1:
            exemplar = {"run_id": record.run_id[:EXEMPLAR]}
            self._count(group, record, exemplar)
            self.latency.labels(record.suite).observe(waited, exemplar)

    def _count(self, group: _Group, record: RunVerdict, exemplar: dict[str, str]) -> None:
        for line in record.checks:
            counter = group.verdicts.get((line.check, line.outcome))
            if counter is None:  # Of a suite as it was when the run began.
                self._rarely(group, self.verdicts, line.check, line.outcome)
            elif line.outcome in TROUBLE:
                counter.inc(1, exemplar)
            else:
                counter.inc()
            if line.outcome in (Outcome.ERROR, Outcome.NOT_GRADED):
                self.ungraded.labels(record.suite, line.check, line.outcome, line.reason).inc()
            if line.score is not None and (record.suite, line.check) in self._scored:
                low, high = line.scale
                self.score.labels(record.suite, line.check).observe((line.score - low) / (high - low))
        group.runs[record.outcome].inc(1, exemplar if record.outcome in TROUBLE else None)
        if record.reason is Reason.SHED:
            self._rarely(group, self.shed)
        self._rarely(group, self.completed, record.completion)

    # -- series ------------------------------------------------------------------------------------------------------

    def _group(self, of: Identity | Verdict | RunVerdict, suite: str) -> tuple[_Group, bool]:
        loaded = self._suites.get(suite)
        size = (1 + (0 if loaded is None else len(loaded.checks))) * len(Outcome)
        return self._room.of(of.agent.name if of.agent else "", of.environment or "", suite, size)

    def _begin(self, labels: Labels) -> _Group:
        suite = self._suites.get(labels[2])
        checks = () if suite is None else suite.checks
        group = _Group(
            labels,
            self.started.labels(*labels),
            self.opened_checks.labels(*labels),
            {(c.name, o): self.verdicts.labels(*labels, c.name, o) for c in checks for o in Outcome},
            {outcome: self.runs.labels(*labels, outcome) for outcome in Outcome},
            set(),
        )
        for check in checks:
            if check.notify != "none":
                self._rarely(group, self.violations, check.name, times=0)
        if suite is not None and suite.shed is not None:
            self._rarely(group, self.shed, times=0)
        return group

    def _rarely(self, group: _Group, counter: Counter, *labels: str, times: int = 1) -> None:
        counter.labels(*group.labels, *labels).inc(times)
        group.rare.add((counter, labels))

    def _drop(self, group: _Group) -> None:
        for counter in (self.started, self.opened_checks):
            counter.remove(*group.labels)
        for check, outcome in group.verdicts:
            self.verdicts.remove(*group.labels, check, outcome)
        for outcome in group.runs:
            self.runs.remove(*group.labels, outcome)
        for rare, labels in group.rare:
            rare.remove(*group.labels, *labels)

    # -- families ----------------------------------------------------------------------------------------------------

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, namespace=PREFIX, registry=self.registry)

    def _gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(name, told, labels, namespace=PREFIX, registry=self.registry)

    def _histogram(self, name: str, told: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(name, told, labels, namespace=PREFIX, registry=self.registry, buckets=buckets)


def _version() -> str:
    try:
        return version("stream-graders")
    except PackageNotFoundError:
        return "unknown"
