"""What a sample of judged runs says of all runs: each counts by the inverse of how likely it was to be judged.

"Always judge what failed" fills a sample with failures; without weights that reads as a drop in quality.
"""

from collections.abc import Iterable, Sequence
from math import sqrt
from typing import NamedTuple

Z = 1.96
"""How many standard errors an interval of 95 % reaches."""


class Mean(NamedTuple):
    """A mean over all runs, as a sample tells it."""

    value: float
    low: float
    high: float
    """The interval of 95 %."""
    runs: float
    """How many runs it stands for, about."""


def weighted_mean(judged: Iterable[tuple[float, float]]) -> Mean | None:
    """The mean of all runs from those that were judged, each as its value and its inclusion probability; None without any.

    >>> weighted_mean([(1.0, 0.5), (0.0, 1.0)]).value
    0.6666666666666666
    """
    told = [(value, 1.0 / probability) for value, probability in judged if probability > 0]
    total = sum(weight for _, weight in told)
    if not told:
        return None
    value = sum(weight * each for each, weight in told) / total
    # Of a ratio of two estimates; each run is drawn by itself, and one that is certain adds no doubt.
    spread = sum(weight * (weight - 1.0) * (each - value) ** 2 for each, weight in told)
    reach = Z * sqrt(spread) / total
    return Mean(value, value - reach, value + reach, total)


def interval(values: Sequence[float], share: float = 0.95) -> tuple[float, float]:
    """The middle ``share`` of values that were drawn again and again, lowest and highest.

    >>> interval([float(n) for n in range(101)])
    (2.0, 98.0)
    """
    ordered = sorted(values)
    cut = int(len(ordered) * (1 - share) / 2)
    return ordered[cut], ordered[len(ordered) - 1 - cut]
