"""The policy ``composite``: the mean of the checks' scores, each first mapped to 0 to 5 (R68, R82, R149 to R152)."""

from collections.abc import Iterable, Sequence

from ..verdicts import CheckOutcome, Outcome, Reason
from .standing import Standing, counted, is_graded, is_unverified, share

TOP = 5.0
"""The common scale's maximum; its minimum is 0."""
PASSES_AT = 3.5
"""The score from which a question passes, where its suite does not say."""
SKIPS = (Reason.SAMPLED_OUT, Reason.MOOT)
"""Reasons of ``not_graded`` that were meant: the check is left out of the mean as a skipped one is."""


def by_mean(checks: Sequence[CheckOutcome], threshold: float | None) -> Standing:
    """The run's outcome as ai_eval has it; score is the mean of what was scored, 0 to 5, null if nothing was.

    A check that should have been scored and was not (an error, or ``not_graded`` for another reason than that it was
    left out on purpose) makes the run degraded: its outcome is ``error``, its score the mean of the others.
    """
    counting = counted(checks)
    scores = [share(check) * TOP for check in counting if is_graded(check)]
    mean = sum(scores) / len(scores) if scores else None
    degraded = any(is_unverified(check) and check.reason not in SKIPS for check in counting)
    if not checks:
        outcome, reason = Outcome.NOT_GRADED, Reason.NO_CHECKS
    elif degraded:
        outcome, reason = Outcome.ERROR, Reason.DEGRADED
    elif mean is None:
        outcome, reason = Outcome.SKIPPED, Reason.NOTHING_APPLIED
    elif mean >= (PASSES_AT if threshold is None else threshold):
        outcome, reason = Outcome.PASS, Reason.THRESHOLD_MET
    else:
        outcome, reason = Outcome.FAIL, Reason.BELOW_THRESHOLD
    return Standing(outcome, reason, mean, degraded, any(map(is_unverified, counting)))


def mean_score(runs: Iterable[tuple[float | None, bool]]) -> float:
    """What many runs together reach, each as its score and whether it is degraded: ai_eval's gate ``avg_score``.

    Degraded runs, and those in which nothing was scored, are left out; over none it is 0, which misses every gate (R152).
    """
    scores = [score for score, degraded in runs if score is not None and not degraded]
    return sum(scores) / len(scores) if scores else 0.0
