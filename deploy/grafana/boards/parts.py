"""What boards are made of, and the expressions that their panels share.

An expression reads as it would in Prometheus; ``$name`` is what somebody chose at the top of the page.
"""

from typing import NamedTuple


class Query(NamedTuple):
    """A line, or several, of a panel."""

    expr: str
    legend: str = ""
    exemplars: bool = False
    """Show the runs beside it that the worker names."""
    may_be_empty: bool = False
    """It shows what is rare, so that a healthy system has nothing to show."""


class Panel(NamedTuple):
    """One picture."""

    title: str
    told: str
    queries: tuple[Query, ...]
    unit: str = "short"
    is_number: bool = False
    """One number, not lines over time."""


class Row(NamedTuple):
    """Panels under a heading."""

    title: str
    panels: tuple[Panel, ...]


class Board(NamedTuple):
    """A dashboard."""

    name: str
    title: str
    told: str
    choices: dict[str, str]
    """What can be chosen, and the metric whose labels give the choices."""
    rows: tuple[Row, ...]


PREFIX = "stream_graders_"
RUNS = 'agent=~"$agent", environment=~"$environment", suite=~"$suite"'
OF_RUNS = {"environment": "runs_started_total", "suite": "runs_started_total", "agent": "runs_started_total"}
FAILED_RUNS = f'{RUNS}, outcome="fail"'
CHECKS = f'{RUNS}, check=~"$check"'
OF_CHECKS = {**OF_RUNS, "check": "verdicts_total"}
WORKER = 'instance=~"$instance"'
OF_WORKERS = {"instance": "state_keys"}


def rate(metric: str, of: str, by: str, window: str = "$__rate_interval") -> str:
    """How much a counter grows in a second."""
    return f"sum by ({by}) (rate({PREFIX}{metric}{{{of}}}[{window}]))"


def grown(metric: str, of: str, by: str) -> str:
    """How much a counter grew in the time that the page shows."""
    return f"sum by ({by}) (increase({PREFIX}{metric}{{{of}}}[$__range]))"


def share(metric: str, part: str, whole: str, of: str, by: str, window: str = "1h") -> str:
    """Of the outcomes that are ``whole``, the share of those that are ``part``; none where there were none."""
    some, all_ = (rate(metric, f'{of}, outcome=~"{outcomes}"', by, window) for outcomes in (part, whole))
    return f"{some} / ({all_} > 0)"


def quantile(at: float, metric: str, of: str, by: str = "") -> str:
    """A quantile of a histogram."""
    return f"histogram_quantile({at:g}, {rate(f'{metric}_bucket', of, f'{by}, le' if by else 'le')})"


def quantiles(metric: str, of: str, by: str = "", legend: str = "", *, exemplars: bool = False) -> tuple[Query, ...]:
    """Median and 99th percentile."""
    return tuple(
        Query(quantile(at, metric, of, by), f"{name} {legend}".strip(), exemplars)
        for at, name in ((0.5, "p50"), (0.99, "p99"))
    )


def gauge(metric: str, of: str = WORKER) -> str:
    """A level, by worker or partition."""
    return f"{PREFIX}{metric}{{{of}}}"
