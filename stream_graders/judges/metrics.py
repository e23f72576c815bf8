"""Prometheus metrics of a judge worker. No run id, no word of a run and none of a judge's becomes a label."""

from collections.abc import Iterable
from typing import Any, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics

from .calls import Kind, Usage
from .ledger import UNITS, Cost

PREFIX = "stream_graders_judge"


class JudgeMetrics:
    """What a judge worker counts."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this one out
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = self._counter(
            "requests", "Requests by grader and by what became of them.", "grader", "status", "code"
        )
        self.expired = self._counter("expired", "Requests whose run had gone on without an answer.")
        self.calls = self._counter("calls", "Calls of models, by how they ended.", "model", "outcome")
        self.tokens = self._counter("tokens", "Tokens that providers counted.", "model", "kind")
        self.cost = self._counter("cost_micro_usd", "Millionths of a dollar.", "model")
        self.cache = self._counter("cache", "Where answers came from: hit, shared, miss.", "how")
        self.refused = self._counter("budget_refusals", "Calls that a budget had no room for.", "unit")
        self.unreadable = self._counter("unreadable", "Replies that were asked for again.", "code")
        self.clamped = self._counter("clamped", "Scores off the scale that were taken as its end.", "grader")
        self.suspect = self._counter("suspect", "Answers flagged: a refusal, a planted answer.", "flag")
        self.escalated = self._counter("escalated", "Requests that a second judge was asked about.")
        self.looks = self._counter(
            "probe_looks", "Assertions that were looked at, by how that ended.", "target", "outcome"
        )
        self.bad = self._counter("bad_requests", "Records of the requests' topic that are no request.")
        self.under_way = self._gauge("calls_under_way", "Calls that wait for a reply.", "model")
        self.waiting = self._gauge("requests_waiting", "Requests that were read and have no answer yet.")
        self.oldest = self._gauge("oldest_request_timestamp_seconds", "When the oldest of them was asked; 0 for none.")
        self.breaker = self._gauge("breaker_open", "1 while a model is left alone because it fails.", "model")
        self.used = self._gauge("budget_used_ratio", "The used share of a limit of all judges.", "window")
        self.seconds = Histogram(
            "call_seconds", "From a call to its reply or fault.", ("model",), namespace=PREFIX, registry=self.registry,
            buckets=(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0),
        )  # fmt: skip

    def begin(self, models: Iterable[str]) -> None:
        """Show at 0 what an alert waits for: a counter that begins at 1 has not grown, as Prometheus sees it."""
        for model in models:
            for outcome in ("ok", *get_args(Kind)):
                self.calls.labels(model, outcome)
            self.breaker.labels(model)
        for unit in UNITS:
            self.refused.labels(unit)

    def answered(self, grader: str, answer: dict[str, Any]) -> None:
        """A request has an answer."""
        self.requests.labels(grader, answer["status"], answer.get("code", "")).inc()
        flags = answer.get("flags", [])
        clamped = self.clamped.labels(grader)  # There from its grader's first answer on, at 0.
        if "clamped" in flags:
            clamped.inc()
        for flag in ("refusal_suspect", "injection_suspected"):
            if flag in flags:
                self.suspect.labels(flag).inc()

    def spent(self, model: str, usage: Usage | None, cost: Cost) -> None:
        """A call was settled."""
        self.cost.labels(model).inc(cost.micro_usd)
        if usage is not None:
            for kind, count in (("input", usage.input), ("cached", usage.cached), ("output", usage.output)):
                self.tokens.labels(model, kind).inc(count)

    def _counter(self, name: str, told: str, *labels: str) -> Counter:
        return Counter(name, told, labels, namespace=PREFIX, registry=self.registry)

    def _gauge(self, name: str, told: str, *labels: str) -> Gauge:
        return Gauge(name, told, labels, namespace=PREFIX, registry=self.registry)
