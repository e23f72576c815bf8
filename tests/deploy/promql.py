"""What an expression of a rule or dashboard asks for, held against what the code tells."""

import re
from collections.abc import Iterator

import promql_parser
from promql_parser import Expr, MatrixSelector, VectorSelector

from stream_graders.judges import canary
from stream_graders.judges.metrics import JudgeMetrics
from stream_graders.metrics import Family, Metrics, families
from stream_graders.sinks.process import SinkMetrics

TARGET = {"job", "instance"}
"""Labels that Prometheus adds to whatever it scrapes."""
FOREIGN = {
    "up": set[str](),
    "ALERTS": {"alertname", "alertstate", "severity"},
    "process_start_time_seconds": set[str](),
    "process_cpu_seconds_total": set[str](),
    "process_resident_memory_bytes": set[str](),
}
"""Metrics that are not ours, with their labels."""


def ours() -> list[Family]:
    """The metrics of all our processes."""
    registries = (Metrics([]).registry, SinkMetrics().registry, JudgeMetrics().registry)
    return [told for registry in registries for told in families(registry)]


def known() -> dict[str, set[str]]:
    """Every series that there may be, with its labels."""
    found = dict(FOREIGN)
    nothing = canary.drift([canary.Item([1.0, 1.0], [1.0, 1.0], 1.0)], 0.01)
    for told in [*ours(), *families(canary.metrics(nothing, "", 0.0))]:
        if told.kind == "histogram":
            found |= {f"{told.name}_{part}": {*told.labels} for part in ("sum", "count")}
            found[f"{told.name}_bucket"] = {*told.labels, "le"}
        else:
            found[told.name] = {*told.labels}
    return found


def problems(expression: str, recorded: frozenset[str] = frozenset()) -> Iterator[str]:
    """What an expression asks for that nobody tells; ``recorded`` are the names that rules record.

    Raises:
        ValueError: it cannot be parsed.
    """
    names = known()
    for selector in selectors(expression):
        name = selector.name or ""
        if name not in names and name not in recorded:
            yield f"nobody tells {name!r}"
        elif name in names:
            for matcher in selector.matchers.matchers:
                if matcher.name not in names[name] | TARGET:
                    yield f"{name} has no label {matcher.name!r}"


def selectors(expression: str) -> list[VectorSelector]:
    """The series that an expression selects."""
    found: dict[str, VectorSelector] = {}

    def visit(expr: Expr) -> None:
        selector = expr.vector_selector if isinstance(expr, MatrixSelector) else expr
        if isinstance(selector, VectorSelector):
            found[str(selector)] = selector

    promql_parser.walk(promql_parser.parse(expression), visit)
    return list(found.values())


def chosen(expression: str, everything: str = ".*", interval: str = "1m", span: str = "1h") -> str:
    """A dashboard's expression as Grafana sends it when everything is chosen."""
    told = expression.replace("$__rate_interval", interval).replace("$__range", span)
    return re.sub(r"\$\w+", everything, told)
