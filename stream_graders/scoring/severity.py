"""The policy ``severity``: a run passes if no critical check failed and none stayed unverified."""

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


def standing(checks: Sequence[CheckOutcome]) -> Standing:
    """The run's outcome (R50 to R58): score is the share of graded checks that passed; null if none was graded.

    Severity alone decides: failed minor checks lower the score, never the outcome. Skipped checks block nothing, and
    ``info`` checks count nowhere. A critical check without a verdict leaves the run without one. Nothing graded is
    never a pass.
    """
    counted = [check for check in checks if check.severity != "info"]
    passed = sum(check.outcome is Outcome.PASS for check in counted)
    failed = sum(check.outcome is Outcome.FAIL for check in counted)
    unverified = [check for check in counted if check.outcome in (Outcome.NOT_GRADED, Outcome.ERROR)]
    critical = [check for check in counted if check.severity == "critical"]
    if not checks:
        outcome, reason = Outcome.NOT_GRADED, Reason.NO_CHECKS
    elif any(check.outcome is Outcome.FAIL for check in critical):
        outcome, reason = Outcome.FAIL, Reason.CRITICAL_FAILED
    elif any(check in unverified for check in critical):
        outcome, reason = Outcome.NOT_GRADED, Reason.UNVERIFIED
    elif passed + failed:
        outcome, reason = Outcome.PASS, Reason.CRITICAL_PASSED if failed else Reason.ALL_PASSED
    elif unverified:
        outcome, reason = Outcome.NOT_GRADED, Reason.UNVERIFIED
    else:
        outcome, reason = Outcome.SKIPPED, Reason.NOTHING_APPLIED
    return Standing(
        outcome,
        reason,
        passed / (passed + failed) if passed + failed else None,
        any(check.outcome is Outcome.ERROR for check in checks),
        bool(unverified),
    )
