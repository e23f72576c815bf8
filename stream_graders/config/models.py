"""What a suite file may hold. Strict: a key that is not known is a problem, and text is not a number."""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal, Self, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from ..folding import Combination
from ..grading import Grader
from ..matching.durations import milliseconds
from ..suites import About, Check, Completion, Judging, Scoring, Select, Shed, Suite, Turn, TurnWord, Unless, When
from ..verdicts import Notify, Severity

Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]


def as_tuple(value: Any) -> Any:
    """One text as a list of one."""
    if isinstance(value, list):
        return tuple(value)
    return (value,) if isinstance(value, str) else value


def _positive(value: int) -> int:
    if value < 1:
        raise ValueError("should be longer than nothing")
    return value


def _turn(value: Any) -> Turn | None:
    if value == "first":
        return 0
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not is_number and value not in (None, *get_args(TurnWord)):
        raise ValueError("should be the number of a turn, from 0, or first, last, each, any or all")
    return cast("Turn | None", value)


def _link(value: str) -> str:
    unknown = sorted(set(re.findall(r"\{(\w*)\}", value)) - {"run_id", "trace_id"})
    if unknown:
        raise ValueError(f"holds {{{unknown[0]}}}; a link knows {{run_id}} and {{trace_id}}")
    return value


# The types in the schema are those of a file; what a validator makes of them is another.
Link = Annotated[str, AfterValidator(_link)]
_Written = Annotated[str, Field(pattern="^[0-9]+ *(ms|s|m|h|d)$")]
Duration = Annotated[int, BeforeValidator(milliseconds, json_schema_input_type=_Written), AfterValidator(_positive)]
Names = Annotated[tuple[str, ...], BeforeValidator(as_tuple, json_schema_input_type=str | list[str])]
Slugs = Annotated[tuple[Slug, ...], BeforeValidator(as_tuple, json_schema_input_type=Slug | list[Slug])]
Word = Literal["pass", "fail", "skipped", "error", "not_graded"]
Stratum = Literal["failed", "injection"]
Status = Literal["ok", "error", "cancelled", "timeout", "limit", "handoff", "unknown"]


class Model(BaseModel):
    """Strict, frozen, and closed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class UnlessModel(Model):
    """Which of the selected runs the suite leaves out."""

    agent: Names = ()
    version: Names = ()
    environment: Names = ()
    tenant: Names = ()
    labels: dict[str, str] = {}


class SelectModel(Model):
    """Which runs the suite grades."""

    agent: Names = ()
    version: Names = ()
    environment: Names = ()
    tenant: Names = ()
    labels: dict[str, str] = {}
    variant: Literal["live", "candidate"] = "live"
    unless: UnlessModel = Field(UnlessModel(), alias="not")

    def built(self) -> Select:
        """The clauses."""
        return Select(**{**dict(self), "unless": Unless(**dict(self.unless))})


class WhenModel(Model):
    """When a check applies."""

    called: str | None = None
    said: str | None = None
    status: Annotated[tuple[Status, ...], BeforeValidator(as_tuple, json_schema_input_type=Status | list[Status])] = ()
    labels: dict[str, str] = {}
    check: Slug | None = None
    outcome: Annotated[tuple[Word, ...], BeforeValidator(as_tuple, json_schema_input_type=Word | list[Word])] = (
        "pass",
    )


class CompletionModel(Model):
    """What ends a run: durations like 15m."""

    idle_user: Duration = Completion.idle_user
    idle_agent: Duration = Completion.idle_agent
    idle_tool: Duration = Completion.idle_tool
    max_age: Duration = Completion.max_age
    amend_window: Duration = Completion.amend_window
    remember: Duration = Completion.remember


class BudgetModel(Model):
    """What judges may cost a day (UTC): the first limit that is reached ends it."""

    usd: Annotated[float, Field(gt=0)] | None = None
    tokens: Annotated[int, Field(gt=0)] | None = None
    calls: Annotated[int, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if self.usd is None and self.tokens is None and self.calls is None:
            raise ValueError("should have one of usd, tokens and calls: what a day may cost")
        return self

    def limits(self) -> dict[str, int]:
        """The limits that are given, money in millionths of a dollar: fractions of a cent add up exactly."""
        usd = None if self.usd is None else int(Decimal(str(self.usd)) * 1_000_000)
        given = {"micro_usd": usd, "tokens": self.tokens, "calls": self.calls}
        return {name: value for name, value in given.items() if value is not None}


class JudgeModel(Model):
    """Whom checks ask that ask a judge, of how many runs, and what that may cost."""

    model: Slug | None = None
    sample: Annotated[float, Field(gt=0, le=1)] | None = None
    always: Annotated[
        tuple[Stratum, ...] | None, BeforeValidator(as_tuple, json_schema_input_type=Stratum | list[Stratum])
    ] = None
    versions: Annotated[tuple[str, ...] | None, BeforeValidator(as_tuple, json_schema_input_type=str | list[str])] = (
        None
    )
    budget: BudgetModel | None = None
    deadline: Duration | None = None
    panel: Annotated[tuple[Slug, ...] | None, BeforeValidator(as_tuple, json_schema_input_type=Slug | list[Slug])] = (
        None
    )
    escalate: Slug | None = None

    def over(self, other: "JudgeModel | None") -> "JudgeModel":
        """This one, with what it leaves out taken from the other."""
        given = {name: value for name, value in self if value is not None}
        return self if other is None else other.model_copy(update=given)

    def built(self) -> Judging:
        """The clauses that are given; the rest as everybody's."""
        given = {name: value for name, value in self if value is not None}
        return Judging(**{**given, **({"budget": self.budget.limits()} if self.budget else {})})


class ShedModel(Model):
    """Which runs are left out while the worker is behind."""

    behind: Duration
    keep: Annotated[float, Field(ge=0, lt=1)]


class ScoringModel(Model):
    """How checks become the run's outcome."""

    policy: Literal["severity", "weighted", "composite"] = "severity"
    threshold: float | None = None

    @model_validator(mode="after")
    def _fits_its_policy(self) -> Self:
        highest = {"severity": None, "weighted": 1.0, "composite": 5.0}[self.policy]
        if self.threshold is not None and highest is None:
            raise ValueError("has a threshold, and severity knows none: take the policy weighted or composite")
        if self.threshold is not None and highest is not None and not 0 <= self.threshold <= highest:
            raise ValueError(
                f"has a threshold of {self.threshold:g}, and scores of {self.policy} lie in 0 to {highest:g}"
            )
        return self


class AboutModel(Model):
    """Who and what a failure leads to."""

    owner: str | None = None
    runbook: str | None = None
    links: dict[str, Link] = {}

    def about(self) -> About:
        """These, for verdicts."""
        return About(self.owner, self.runbook, self.links)


class CheckModel(AboutModel):
    """One check: a grader (or other checks), its settings, and what its failure means."""

    check: Slug
    grader: str | None = None
    all_of: Slugs = Field((), alias="all")
    any_of: Slugs = Field((), alias="any")
    not_of: Slug | None = Field(None, alias="not")
    severity: Severity
    notify: Notify = "none"
    when: WhenModel | None = None
    turn: Annotated[
        Any, BeforeValidator(_turn, json_schema_input_type=NonNegativeInt | TurnWord | Literal["first"] | None)
    ] = None
    agent: str | None = None
    depth: Literal["own", "all"] = "all"
    early: Literal["fail", "always", "never"] = "fail"
    weight: Annotated[float, Field(gt=0)] = 1.0
    pass_at: float | None = None
    missing_input: Literal["not_graded", "source"] | None = None
    judge: JudgeModel | None = None
    settings: dict[str, Any] = {}

    @property
    def parts(self) -> tuple[str, ...]:
        """The checks that it is made of."""
        return self.all_of or self.any_of or ((self.not_of,) if self.not_of else ())

    @model_validator(mode="after")
    def _has_one_question(self) -> Self:
        if [self.grader is not None, bool(self.all_of), bool(self.any_of), self.not_of is not None].count(True) != 1:
            raise ValueError("should have one of grader, all, any and not")
        if self.parts and (self.settings or self.turn is not None or self.agent or self.depth == "own" or self.pass_at):
            raise ValueError("is made of other checks: settings, turn, agent, depth and pass_at belong to those")
        when = self.when
        if self.turn == "each" and when is not None and (when.status or when.check):
            raise ValueError(
                "looks at each turn, so `when` cannot wait for the run's status or another check: use turn: all"
            )
        return self

    def combination(self) -> Combination:
        """The grader of a check that is made of others."""
        return Combination("all" if self.all_of else "any" if self.any_of else "not", self.parts)

    def built(self, grader: Grader, judging: Judging | None = None) -> Check:
        """The check with its grader, and whom that asks."""
        when = None if self.when is None else When(**dict(self.when))
        names = ("severity", "notify", "turn", "early", "weight", "pass_at", "agent", "depth", "missing_input")
        rest = {name: getattr(self, name) for name in names}
        return Check(self.check, grader, when=when, about=self.about(), judge=judging, **rest)


class SuiteModel(AboutModel):
    """A suite file."""

    suite: Slug
    select: SelectModel = SelectModel()
    completion: CompletionModel = CompletionModel()
    scoring: ScoringModel = ScoringModel()
    missing_input: Literal["not_graded", "source"] = "not_graded"
    evidence: Literal["excerpts", "full", "none"] = "excerpts"
    publish: Literal["all", "fails"] = "all"
    ungraded_items: list[str] = []
    shed: ShedModel | None = None
    judge: JudgeModel | None = None
    checks: list[CheckModel]

    @field_validator("checks")
    @classmethod
    def _asks_something(cls, checks: list[CheckModel], known: ValidationInfo) -> list[CheckModel]:
        if not checks and not known.data.get("ungraded_items"):
            raise ValueError("should have an entry at least")
        return checks

    @staticmethod
    def parts() -> dict[tuple[str, ...], type[BaseModel]]:
        """The models inside, by their place: a misspelt key may have meant one of theirs."""
        return {
            ("select",): SelectModel,
            ("select", "not"): UnlessModel,
            ("completion",): CompletionModel,
            ("scoring",): ScoringModel,
            ("shed",): ShedModel,
            ("judge",): JudgeModel,
            ("judge", "budget"): BudgetModel,
            ("checks",): CheckModel,
            ("checks", "when"): WhenModel,
            ("checks", "judge"): JudgeModel,
            ("checks", "judge", "budget"): BudgetModel,
        }

    def built(self, checks: tuple[Check, ...]) -> Suite:
        """The suite with its checks."""
        return Suite(
            self.suite,
            checks,
            self.about(),
            self.select.built(),
            Completion(**dict(self.completion)),
            Scoring(**dict(self.scoring)),
            self.missing_input,
            self.evidence,
            self.publish,
            tuple(self.ungraded_items),
            None if self.shed is None else Shed(**dict(self.shed)),
        )
