"""The policy ``weighted``: the weighted mean of the checks' scores against a threshold; without one all must pass."""

from collections.abc import Mapping, Sequence

from ..verdicts import CheckOutcome, Outcome, Reason
from .standing import Standing, counted, is_graded, is_unverified, share


def by_weight(checks: Sequence[CheckOutcome], weights: Mapping[str, float], threshold: float | None) -> Standing:
    """The run's outcome as Vally has it; score is the weighted mean of what was graded, 0 to 1.

    Args:
        checks: the checks' outcomes.
        weights: what each check counts, by name; one that is not named counts 1.
        threshold: the mean from which the run passes. None: every check must pass.

    What has no verdict could have had any score: the run passes or fails only if no score of theirs could change that.
    """
    graded, unknown = (
        [(weights.get(check.check, 1.0), check) for check in counted(checks) if of(check)]
        for of in (is_graded, is_unverified)
    )
    total = sum(weight for weight, _ in graded)
    missing = sum(weight for weight, _ in unknown)
    gained = sum(weight * share(check) for weight, check in graded)
    is_error = any(check.outcome is Outcome.ERROR for check in checks)
    undecided = (Outcome.ERROR, Reason.DEGRADED) if is_error else (Outcome.NOT_GRADED, Reason.UNVERIFIED)
    if not checks:
        outcome, reason = Outcome.NOT_GRADED, Reason.NO_CHECKS
    elif not graded:
        outcome, reason = undecided if unknown else (Outcome.SKIPPED, Reason.NOTHING_APPLIED)
    elif threshold is None:
        if any(check.outcome is Outcome.FAIL for _, check in graded):
            outcome, reason = Outcome.FAIL, Reason.CHECK_FAILED
        else:
            outcome, reason = undecided if unknown else (Outcome.PASS, Reason.ALL_PASSED)
    elif gained / (total + missing) >= threshold:
        outcome, reason = Outcome.PASS, Reason.THRESHOLD_MET
    elif (gained + missing) / (total + missing) < threshold:
        outcome, reason = Outcome.FAIL, Reason.BELOW_THRESHOLD
    else:
        outcome, reason = undecided
    return Standing(outcome, reason, gained / total if graded else None, is_error, bool(unknown))
