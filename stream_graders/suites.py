"""A suite: which runs it is for, its checks, and what ends a run. Plain values; `config` makes them from files."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import blake2b, sha256
from typing import Any, Literal
from urllib.parse import quote

from .events import Event, canonical_json
from .grading import Grader, setting_fields
from .matching.tools import fits, fits_any
from .verdicts import Identity, Notify, Severity

MINUTE = 60_000
HOUR = 60 * MINUTE


@dataclass(frozen=True)
class Unless:
    """Which runs a suite leaves out although it selects them: those that fit one of these clauses."""

    agent: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    tenant: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Select:
    """Which runs a suite grades. An empty clause lets every run through; patterns may hold ``*``."""

    agent: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    tenant: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    variant: str = "live"
    unless: Unless = Unless()

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
            if patterns and not fits_any(value or "", patterns):
                return f"{name} is {value or 'not known'}, the suite selects {', '.join(patterns)}"
        for name, pattern in self.labels.items():
            value = (run.labels or {}).get(name)
            if value is None or not fits(value, pattern):
                return f"label {name} is {value or 'not set'}, the suite selects {pattern}"
        return self._left_out(run, but_agent=but_agent)

    def _left_out(self, run: Identity, *, but_agent: bool) -> str | None:
        unless, agent = self.unless, run.agent
        clauses = [("environment", unless.environment, run.environment), ("tenant", unless.tenant, run.tenant)]
        if not but_agent:
            clauses += [
                ("agent", unless.agent, None if agent is None else agent.name),
                ("version", unless.version, None if agent is None else agent.version),
            ]
        clauses += [
            (f"label {name}", (pattern,), (run.labels or {}).get(name)) for name, pattern in unless.labels.items()
        ]
        for name, patterns, value in clauses:
            if value is not None and fits_any(value, patterns):
                return f"{name} is {value}, and the suite leaves out {', '.join(patterns)}"
        return None

    @property
    def asks_agent(self) -> bool:
        """Does it depend on the agent?"""
        return bool(self.agent or self.version or self.unless.agent or self.unless.version)


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
class Scoring:
    """How the checks' outcomes become the run's: a policy of `stream_graders.scoring`."""

    policy: Literal["severity", "weighted", "composite"] = "severity"
    threshold: float | None = None
    """The score from which a run passes: of ``weighted`` 0 to 1, of ``composite`` 0 to 5; ``severity`` has none."""


@dataclass(frozen=True)
class Shed:
    """Which runs a suite does without while its worker is behind."""

    behind: int
    """Milliseconds of lag from which on a run that begins may be left out."""
    keep: float
    """The share of runs that is graded all the same, 0 to 1."""

    def leaves_out(self, run_id: str, behind: int) -> bool:
        """Is a run left out that began this far behind? Always the same ones: who keeps more keeps all of who keeps less."""
        if behind < self.behind:
            return False
        return _draw(run_id, b"") >= self.keep * 2**64


@dataclass(frozen=True)
class Judging:
    """Whom a check asks, of how many runs, and what that may cost."""

    model: str = "default"
    """The judge, by its name in the judge worker's settings."""
    sample: float = 1.0
    """The share of runs that is judged, 0 to 1."""
    always: tuple[str, ...] = ()
    """Runs that are judged whatever the share: ``failed`` (a check of the suite failed), ``injection`` (somebody may have
    planted an answer)."""
    versions: tuple[str, ...] = ()
    """Versions of the agent, as patterns, of which each run is judged."""
    budget: dict[str, int] = field(default_factory=dict)
    """What it may use a day: ``micro_usd``, ``tokens``, ``calls``."""
    deadline: int = 30 * MINUTE
    """How long the run verdict waits for an answer, in milliseconds of log time."""
    panel: tuple[str, ...] = ()
    """Further judges that are asked the same; the majority or the median counts."""
    escalate: str | None = None
    """A judge to ask too where the first is unsure."""

    def drawn(self, run_id: str) -> bool:
        """Is a run among the share? Who judges more judges all that who judges less does."""
        return _draw(run_id, b"judge") < self.sample * 2**64

    @property
    def identity(self) -> dict[str, Any]:
        """What an answer depends on; the share and the price of answers change none."""
        told = {"model": self.model, "panel": self.panel, "escalate": self.escalate}
        return {name: value for name, value in told.items() if value != getattr(Judging, name)}


def _draw(run_id: str, purpose: bytes) -> int:
    """A number of 64 bits that a run always draws; another one for each purpose."""
    drawn = blake2b(run_id.encode("utf-8", "surrogatepass"), digest_size=8, person=purpose).digest()
    return int.from_bytes(drawn)


TurnWord = Literal["last", "each", "any", "all"]
Turn = int | TurnWord
"""Which turn a check looks at: one by its number from 0, the last, or every turn and how their outcomes fold."""


@dataclass(frozen=True)
class About:
    """Who and what a failure leads to. Travels in verdicts and changes none."""

    owner: str | None = None
    runbook: str | None = None
    links: dict[str, str] = field(default_factory=dict)
    """By name, addresses that may hold ``{run_id}`` and ``{trace_id}``."""

    def over(self, other: "About") -> "About":
        """This one, with what it leaves out taken from the other."""
        return About(self.owner or other.owner, self.runbook or other.runbook, {**other.links, **self.links})

    def linked(self, run_id: str, trace_id: str | None) -> dict[str, str] | None:
        """The links of a run; one that asks for a trace is left out of a run without."""
        if not self.links:
            return None
        known = {"run_id": run_id, "trace_id": trace_id}
        links = {name: link for name, template in self.links.items() if (link := _filled(template, known)) is not None}
        return links or None


@dataclass(frozen=True)
class Check:
    """A grader in a suite."""

    name: str
    grader: Grader
    severity: Severity
    notify: Notify = "none"
    when: When | None = None
    turn: Turn | None = None
    early: Literal["fail", "always", "never"] = "fail"
    weight: float = 1.0
    """What its score counts under the policy ``weighted``."""
    pass_at: float | None = None
    """The score from which it passes; None leaves that to its grader."""
    agent: str | None = None
    """It reads what agents of this name did, a pattern; None is every agent of the run."""
    depth: Literal["own", "all"] = "all"
    """``own``: it reads what the run's own agent did, and not what agents did that it called."""
    about: About = About()
    missing_input: Literal["not_graded", "source"] | None = None
    """What a missing input means for it; None is what the suite says."""
    judge: Judging | None = None
    """Whom it asks, where its grader asks a judge; None is everybody's default."""

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
        # A key that came later stands here only where it is used: the versions of checks without it stay.
        for name, default in (("pass_at", None), ("agent", None), ("depth", "all"), ("missing_input", None)):
            if (value := getattr(self, name)) != default:
                identity[name] = value
        if self.judge is not None and self.judge.identity:
            identity["judge"] = self.judge.identity
        return _hashed(identity)

    def key(self, turn: Turn | None) -> str:
        """What tells it, in a turn, from every other check of its suite: part of the ids of its verdicts."""
        return f"{turn}/{self.name}/{self.version}"

    @cached_property
    def is_partial(self) -> bool:
        """Does it leave out what some agents of the run did?"""
        return self.agent is not None or self.depth == "own"

    @property
    def folds(self) -> bool:
        """Does it look at turns one after another?"""
        return isinstance(self.turn, str)

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
    about: About = About()
    select: Select = Select()
    completion: Completion = Completion()
    scoring: Scoring = Scoring()
    missing_input: Literal["not_graded", "source"] = "not_graded"
    evidence: Literal["excerpts", "full", "none"] = "excerpts"
    publish: Literal["all", "fails"] = "all"
    ungraded_items: tuple[str, ...] = ()
    """What a person has to look at, since no check does: listed in each run verdict (R59)."""
    shed: Shed | None = None
    """None grades every run, however late."""

    @cached_property
    def version(self) -> str:
        """The hash of the whole suite with its defaults filled in."""
        checks: list[dict[str, Any]] = [
            {
                "check": check.name,
                "version": check.version,
                "severity": check.severity,
                "notify": check.notify,
                "early": check.early,
                "weight": check.weight,
                "about": asdict(check.about),
            }
            for check in self.checks
        ]
        rest = {name: getattr(self, name) for name in ("name", "missing_input", "evidence", "publish")}
        parts = {name: asdict(getattr(self, name)) for name in ("about", "select", "completion", "scoring")}
        for check, told in zip(self.checks, checks, strict=True):
            if check.judge is not None:
                told["judge"] = asdict(check.judge)
        if self.shed is not None:  # As with a check: a suite without it keeps its version.
            parts["shed"] = asdict(self.shed)
        return _hashed({**rest, **parts, "checks": checks})

    @cached_property
    def abouts(self) -> dict[str, About]:
        """By check, who and what its failure leads to, with what it leaves out taken from the suite."""
        return {check.name: check.about.over(self.about) for check in self.checks}

    @cached_property
    def weights(self) -> dict[str, float]:
        """What each check's score counts, by name."""
        return {check.name: check.weight for check in self.checks}

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
    judge_key: bytes | None = field(default=None, repr=False)
    """What judges sign their answers with; with it no other answer counts, without it any does (files of one's own)."""

    def __iter__(self) -> Iterator[Suite]:
        return iter(self.suites)

    @cached_property
    def by_name(self) -> dict[str, Suite]:
        """The suites by name."""
        return {suite.name: suite for suite in self.suites}

    @cached_property
    def asks_judges(self) -> bool:
        """Does a check of theirs ask a judge?"""
        return any(check.grader.asks for suite in self.suites for check in suite.checks)

    @cached_property
    def sheds_from(self) -> tuple[int, ...]:
        """The lags from which on a suite leaves runs out, in milliseconds."""
        return tuple(sorted({suite.shed.behind for suite in self.suites if suite.shed is not None}))


def plain_settings(grader: Grader) -> dict[str, Any]:
    """A grader's settings without those that stand at their default."""
    return {f.name: value for f in setting_fields(type(grader)) if (value := getattr(grader, f.name)) != f.default}


def _filled(template: str, known: dict[str, str | None]) -> str | None:
    """A template with its words replaced; None where one of them is not known."""
    for word, value in known.items():
        if f"{{{word}}}" in template:
            if value is None:
                return None
            template = template.replace(f"{{{word}}}", quote(value, safe=""))
    return template


def _hashed(value: Any) -> str:
    return "sha256:" + sha256(canonical_json(value)).hexdigest()[:16]
