"""A suite: which runs it is for, its checks, and what ends a run. Plain values; `config` makes them from files."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

from .events import Event, canonical_json
from .grading import Grader, setting_fields
from .matching.tools import fits
from .verdicts import Identity, Notify, Severity

MINUTE = 60_000
HOUR = 60 * MINUTE


@dataclass(frozen=True)
class Select:
    """Which runs a suite grades. An empty clause lets every run through; patterns may hold ``*``."""

    agent: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    tenant: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    variant: str = "live"

    def refusal(self, run: Identity, *, but_agent: bool = False) -> str | None:
        """The clause that keeps a run out, as one sentence; None if the suite is for it.

        ``but_agent`` leaves the clauses on the agent out, for a run whose agent nobody named.
        """
        if run.variant != self.variant:
            return f"variant is {run.variant}, the suite selects {self.variant}"
        clauses = [("environment", self.environment, run.environment), ("tenant", self.tenant, run.tenant)]
        if not but_agent:
            clauses[:0] = [
                ("agent", self.agent, None if run.agent is None else run.agent.name),
                ("version", self.version, None if run.agent is None else run.agent.version),
            ]
        for name, patterns, value in clauses:
            if patterns and not any(fits(value or "", pattern) for pattern in patterns):
                return f"{name} is {value or 'not known'}, the suite selects {', '.join(patterns)}"
        for name, pattern in self.labels.items():
            value = (run.labels or {}).get(name)
            if value is None or not fits(value, pattern):
                return f"label {name} is {value or 'not set'}, the suite selects {pattern}"
        return None

    @property
    def asks_agent(self) -> bool:
        """Does it depend on the agent?"""
        return bool(self.agent or self.version)


@dataclass(frozen=True)
class When:
    """When a check applies. Every clause given must come true; a check whose clause never does is skipped."""

    called: str | None = None
    said: str | None = None
    status: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    check: str | None = None
    outcome: tuple[str, ...] = ("pass",)

    @cached_property
    def clauses(self) -> dict[str, Any]:
        """The clauses that were given, as a suite file writes them."""
        given = {name: value for name, value in asdict(self).items() if value}
        if self.check is None:
            given.pop("outcome", None)
        return given


@dataclass(frozen=True)
class Completion:
    """What ends a run, in milliseconds of log time."""

    idle_user: int = 15 * MINUTE
    idle_agent: int = 10 * MINUTE
    idle_tool: int = HOUR
    max_age: int = 24 * HOUR
    amend_window: int = 10 * MINUTE
    remember: int = HOUR

    def longest(self, other: "Completion") -> "Completion":
        """Of each time the longer, for a run that two suites grade."""
        mine, theirs = asdict(self), asdict(other)
        return Completion(**{name: max(value, theirs[name]) for name, value in mine.items()})


@dataclass(frozen=True)
class Check:
    """A grader in a suite."""

    name: str
    grader: Grader
    severity: Severity
    notify: Notify = "none"
    when: When | None = None
    turn: int | None = None
    early: Literal["fail", "always", "never"] = "fail"
    weight: float = 1.0
    """What its score counts under the policy ``weighted``."""
    pass_at: float | None = None
    """The score from which it passes; None leaves that to its grader."""

    @cached_property
    def version(self) -> str:
        """Changes when, and only when, a verdict of the check may come to mean something else."""
        identity = {
            "grader": self.grader.name,
            "code": self.grader.version,
            "settings": plain_settings(self.grader),
            "when": None if self.when is None else self.when.clauses,
            "turn": self.turn,
        }
        return _hashed(identity if self.pass_at is None else {**identity, "pass_at": self.pass_at})

    @cached_property
    def key(self) -> str:
        """What tells it from every other check of its suite: part of the ids of its verdicts."""
        return f"{self.turn}/{self.name}/{self.version}"

    @cached_property
    def wants(self) -> tuple[type[Event], ...]:
        """The event types its grader reads."""
        return self.grader.wants()

    @cached_property
    def needs(self) -> frozenset[str]:
        """The records its grader depends on."""
        return self.grader.needs()


@dataclass(frozen=True)
class Suite:
    """Checks that belong together, and how their outcomes become the run's."""

    name: str
    checks: tuple[Check, ...]
    owner: str | None = None
    select: Select = Select()
    completion: Completion = Completion()
    scoring: Literal["severity"] = "severity"
    missing_input: Literal["not_graded", "source"] = "not_graded"
    evidence: Literal["excerpts", "full", "none"] = "excerpts"
    publish: Literal["all", "fails"] = "all"

    @cached_property
    def version(self) -> str:
        """The hash of the whole suite with its defaults filled in."""
        checks = [
            {
                "check": check.name,
                "version": check.version,
                "severity": check.severity,
                "notify": check.notify,
                "early": check.early,
            }
            for check in self.checks
        ]
        rest = {
            name: getattr(self, name) for name in ("name", "owner", "scoring", "missing_input", "evidence", "publish")
        }
        return _hashed({**rest, "select": asdict(self.select), "completion": asdict(self.completion), "checks": checks})

    @cached_property
    def readers(self) -> dict[type[Event], tuple[int, ...]]:
        """For each event type the places of the checks that read it."""
        kinds = {kind for check in self.checks for kind in check.wants}
        return {kind: tuple(n for n, check in enumerate(self.checks) if kind in check.wants) for kind in kinds}

    @cached_property
    def by_key(self) -> dict[tuple[str, str], Check]:
        """Its checks by name and version."""
        return {(check.name, check.version): check for check in self.checks}


@dataclass(frozen=True)
class Fleet:
    """The suites that are loaded, by name."""

    suites: tuple[Suite, ...]

    def __iter__(self) -> Iterator[Suite]:
        return iter(self.suites)

    @cached_property
    def by_name(self) -> dict[str, Suite]:
        """The suites by name."""
        return {suite.name: suite for suite in self.suites}


def plain_settings(grader: Grader) -> dict[str, Any]:
    """A grader's settings without those that stand at their default."""
    return {f.name: value for f in setting_fields(type(grader)) if (value := getattr(grader, f.name)) != f.default}


def _hashed(value: Any) -> str:
    return "sha256:" + sha256(canonical_json(value)).hexdigest()[:16]
