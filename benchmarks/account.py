"""Verdicts that came, held against those that were due: which are lost, repeated or wrong; and how late they were."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Key = tuple[str, str, str]
"""Whose verdict: the run, the check, and ``final`` or ``early``."""
Answer = tuple[str, int | None]
"""What it says: the outcome, and the number of the event that decided it."""


@dataclass(frozen=True)
class Sum:
    """What an account comes to. All but ``due`` and ``came`` should be 0."""

    due: int
    came: int
    lost: int
    """Due, and never came."""
    duplicate: int
    """Came again."""
    changed: int
    """Of these, those with other bytes than before."""
    wrong: int
    """Records that say something else than is due, or that nobody waits for."""
    wrong_last: int
    """Verdicts whose last record is wrong: what a consumer is left with."""


class Account:
    """Takes verdicts as they come."""

    def __init__(self, due: Mapping[Key, Answer]) -> None:
        self._due = due
        self._last: dict[Key, tuple[Answer, bytes]] = {}
        self._counts: Counter[str] = Counter()

    def take(self, key: Key, answer: Answer, value: bytes) -> None:
        """A verdict came, with these bytes."""
        before = self._last.get(key)
        if before is not None:
            self._counts["duplicate"] += 1
            self._counts["changed"] += before[1] != value
        self._counts["came"] += 1
        self._counts["wrong"] += self._due.get(key) != answer
        self._last[key] = (answer, value)

    def is_complete(self) -> bool:
        """Has every verdict come that is due?"""
        return len(self._last) >= len(self._due) and self._due.keys() <= self._last.keys()

    def sum(self) -> Sum:
        """What it comes to so far."""
        return Sum(
            due=len(self._due),
            came=self._counts["came"],
            lost=len(self._due.keys() - self._last.keys()),
            duplicate=self._counts["duplicate"],
            changed=self._counts["changed"],
            wrong=self._counts["wrong"],
            wrong_last=sum(self._due.get(key) != answer for key, (answer, _) in self._last.items()),
        )


def percentile(values: Iterable[float], share: float) -> float:
    """The least of the values that is not exceeded by this share of them.

    >>> [percentile([30, 10, 20, 40], share) for share in (0.5, 0.75, 0.99)]
    [20, 30, 40]
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * share) - 1)]


def spread(values: Sequence[float]) -> dict[str, float]:
    """Percentiles of latencies in seconds, as milliseconds."""
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    return {name: percentile(values, share) * 1_000 for name, share in shares.items()}
