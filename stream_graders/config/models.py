"""What a suite file may hold. Strict: a key that is not known is a problem, and text is not a number."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from ..grading import Grader
from ..matching.durations import milliseconds
from ..suites import Check, Completion, Select, Suite, When
from ..verdicts import Notify, Severity

Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=100)]


def _as_tuple(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return (value,) if isinstance(value, str) else value


def _positive(value: int) -> int:
    if value < 1:
        raise ValueError("should be longer than nothing")
    return value


Duration = Annotated[int, BeforeValidator(milliseconds), AfterValidator(_positive)]
Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Word = Literal["pass", "fail", "skipped", "error", "not_graded"]
Status = Literal["ok", "error", "cancelled", "timeout", "limit", "handoff", "unknown"]


class Model(BaseModel):
    """Strict, frozen, and closed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class SelectModel(Model):
    """Which runs the suite grades."""

    agent: Names = ()
    version: Names = ()
    environment: Names = ()
    tenant: Names = ()
    labels: dict[str, str] = {}
    variant: Literal["live", "candidate"] = "live"


class WhenModel(Model):
    """When a check applies."""

    called: str | None = None
    said: str | None = None
    status: Annotated[tuple[Status, ...], BeforeValidator(_as_tuple)] = ()
    labels: dict[str, str] = {}
    check: Slug | None = None
    outcome: Annotated[tuple[Word, ...], BeforeValidator(_as_tuple)] = ("pass",)


class CompletionModel(Model):
    """What ends a run: durations like 15m."""

    idle_user: Duration = Completion.idle_user
    idle_agent: Duration = Completion.idle_agent
    idle_tool: Duration = Completion.idle_tool
    max_age: Duration = Completion.max_age
    amend_window: Duration = Completion.amend_window
    remember: Duration = Completion.remember


class ScoringModel(Model):
    """How checks become the run's outcome."""

    policy: Literal["severity"] = "severity"


class CheckModel(Model):
    """One check: a grader, its settings, and what its failure means."""

    check: Slug
    grader: str
    severity: Severity
    notify: Notify = "none"
    when: WhenModel | None = None
    turn: Annotated[int, Field(ge=0)] | None = None
    early: Literal["fail", "always", "never"] = "fail"
    settings: dict[str, Any] = {}

    def built(self, grader: Grader) -> Check:
        """The check with its grader."""
        when = None if self.when is None else When(**dict(self.when))
        return Check(self.check, grader, self.severity, self.notify, when, self.turn, self.early)


class SuiteModel(Model):
    """A suite file."""

    suite: Slug
    owner: str | None = None
    select: SelectModel = SelectModel()
    completion: CompletionModel = CompletionModel()
    scoring: ScoringModel = ScoringModel()
    missing_input: Literal["not_graded", "source"] = "not_graded"
    evidence: Literal["excerpts", "full", "none"] = "excerpts"
    publish: Literal["all", "fails"] = "all"
    checks: Annotated[list[CheckModel], Field(min_length=1)]

    @staticmethod
    def parts() -> list[type[BaseModel]]:
        """The models inside, whose keys a misspelt one may have meant."""
        return [SelectModel, WhenModel, CompletionModel, ScoringModel, CheckModel]

    def built(self, checks: tuple[Check, ...]) -> Suite:
        """The suite with its checks."""
        return Suite(
            self.suite,
            checks,
            self.owner,
            Select(**dict(self.select)),
            Completion(**dict(self.completion)),
            self.scoring.policy,
            self.missing_input,
            self.evidence,
            self.publish,
        )
