"""The policy ``severity``: a run passes if no critical check failed and none stayed unverified."""

from collections.abc import Sequence

from ..verdicts import CheckOutcome, Outcome, Reason
from .standing import Standing, counted, is_graded, is_unverified


def by_severity(checks: Sequence[CheckOutcome]) -> Standing:
    """The run's outcome (R50 to R58): score is the share of graded checks that passed; null if none was graded.

    Severity alone decides: failed minor checks lower the score, never the outcome. Skipped checks block nothing. A
    critical check without a verdict leaves the run without one. Nothing graded is never a pass.
    """
    counting = counted(checks)
    graded = [check for check in counting if is_graded(check)]
    passed = sum(check.outcome is Outcome.PASS for check in graded)
    unverified = [check for check in counting if is_unverified(check)]
    critical = [check for check in counting if check.severity == "critical"]
    if not checks:
        outcome, reason = Outcome.NOT_GRADED, Reason.NO_CHECKS
    elif any(check.outcome is Outcome.FAIL for check in critical):
        outcome, reason = Outcome.FAIL, Reason.CRITICAL_FAILED
    elif any(map(is_unverified, critical)):
        outcome, reason = Outcome.NOT_GRADED, Reason.UNVERIFIED
    elif graded:
        outcome, reason = Outcome.PASS, Reason.ALL_PASSED if passed == len(graded) else Reason.CRITICAL_PASSED
    elif unverified:
        outcome, reason = Outcome.NOT_GRADED, Reason.UNVERIFIED
    else:
        outcome, reason = Outcome.SKIPPED, Reason.NOTHING_APPLIED
    return Standing(
        outcome,
        reason,
        passed / len(graded) if graded else None,
        any(check.outcome is Outcome.ERROR for check in checks),
        bool(unverified),
    )
