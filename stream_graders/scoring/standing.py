"""How a run stands under the scoring policy of its suite."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..verdicts import CheckOutcome, Outcome, Reason


@dataclass(frozen=True)
class Standing:
    """A run under a policy."""

    outcome: Outcome
    reason: Reason
    score: float | None
    degraded: bool
    partially_graded: bool


def counted(checks: Sequence[CheckOutcome]) -> list[CheckOutcome]:
    """The checks that count: ``info`` is graded and published, and counts nowhere (design 6)."""
    return [check for check in checks if check.severity != "info"]


def is_graded(check: CheckOutcome) -> bool:
    """Did it pass or fail?"""
    return check.outcome in (Outcome.PASS, Outcome.FAIL)


def is_unverified(check: CheckOutcome) -> bool:
    """Should it have a verdict, and has none?"""
    return check.outcome in (Outcome.NOT_GRADED, Outcome.ERROR)


def share(check: CheckOutcome) -> float:
    """The score of a graded check as a share of its grader's scale, 0 to 1."""
    lowest, highest = check.scale
    return 0.0 if check.score is None else (check.score - lowest) / (highest - lowest)
