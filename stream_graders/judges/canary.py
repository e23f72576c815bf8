"""Does a judge still answer as it did? The same items asked again, held against the answers of the day they were recorded.

Two tests, each with a false-alarm rate that is known whatever the judge's answers are like: nothing but the order of two days
is assumed to be of no account. Each takes half of the rate, so that together they keep it.

- The mean: the sign of each item's change is drawn anew. It sees a judge that has become stricter or milder.
- Flips: an item's answers of both days are dealt out anew. It sees answers that changed both ways, and new refusals, and does
  not take a judge that never agrees with itself for one that has changed.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Gauge

from ..scoring.sampled import interval

Answer = float | str
"""A score; or a code, where the judge gave none: a judge that begins to refuse has changed too."""

DRAWS = 4_999
"""With what was seen itself 5,000, so that a twentieth or a thousandth of them is a whole number."""
RESAMPLED = 1_000
FEWEST = 10
"""Items. With fewer no change of a mean is rarer by chance than two in a thousand."""
FEWEST_REPEATS = 2
"""Answers to an item a day. With one, nobody knows how often the judge contradicts itself."""


class Item(NamedTuple):
    """One item: its answers of both days, and the width of its scale."""

    then: Sequence[Answer]
    now: Sequence[Answer]
    width: float


class Change(NamedTuple):
    """A figure with its interval of 95 %, and how likely so much of it is by chance alone."""

    value: float
    low: float
    high: float
    chance: float


@dataclass(frozen=True)
class Drift:
    """What became of a judge since its answers were recorded."""

    items: int
    then: float | None
    now: float | None
    """Mean scores, as shares of the scale; None where no item was scored on both days."""
    mean: Change | None
    flips: float
    """The share of answers that differ, one of then beside one of now."""
    usual: float
    """The same share, of answers of one day."""
    excess: Change
    """How much the former is above the latter."""
    rate: float
    """How often there is an alarm where nothing changed, at most."""

    @property
    def alarms(self) -> list[str]:
        """Which of ``mean`` and ``flips`` have changed more than chance lets them."""
        told = {"mean": self.mean, "flips": self.excess}
        return [name for name, change in told.items() if change is not None and change.chance <= self.rate / 2]


def drift(items: Sequence[Item], rate: float, seed: int = 7) -> Drift:
    """What the answers of two days say; the same answers always say the same."""
    drawn = random.Random(seed)  # noqa: S311  (the same verdict each time matters here, and no secret does)
    changes = [change for change in map(_change, items) if change is not None]
    pairs = [(_level(item.then, item.width), _level(item.now, item.width)) for item in items]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    mean = None
    if changes:
        low, high = _interval(changes, drawn)
        mean = Change(fmean(changes), low, high, _chance_of_mean(changes, drawn))
    excesses = [_between(item.then, item.now) - _usual(item) for item in items]
    low, high = _interval(excesses, drawn)
    return Drift(
        items=len(items),
        then=fmean(a for a, _ in both) if both else None,
        now=fmean(b for _, b in both) if both else None,
        mean=mean,
        flips=fmean(_between(item.then, item.now) for item in items),
        usual=fmean(map(_usual, items)),
        excess=Change(fmean(excesses), low, high, _chance_of_flips(items, drawn)),
        rate=rate,
    )


def _level(answers: Sequence[Answer], width: float) -> float | None:
    scores = [answer for answer in answers if isinstance(answer, float)]
    return fmean(scores) / width if scores else None


def _change(item: Item) -> float | None:
    then, now = _level(item.then, item.width), _level(item.now, item.width)
    return None if then is None or now is None else now - then


def _between(then: Sequence[Answer], now: Sequence[Answer]) -> float:
    return fmean(a != b for a in then for b in now)


def _usual(item: Item) -> float:
    return fmean(a != b for day in (item.then, item.now) for a, b in combinations(day, 2))


def _interval(values: Sequence[float], drawn: random.Random) -> tuple[float, float]:
    return interval([fmean(drawn.choices(values, k=len(values))) for _ in range(RESAMPLED)])


def _chance_of_mean(changes: Sequence[float], drawn: random.Random) -> float:
    seen = abs(sum(changes))
    sizes = [abs(change) for change in changes if change]
    return _chance(seen, lambda: abs(sum(size if drawn.getrandbits(1) else -size for size in sizes)))


def _chance_of_flips(items: Sequence[Item], drawn: random.Random) -> float:
    # Items of which all answers are alike add nothing however they are dealt.
    mixed = [item for item in items if len({*item.then, *item.now}) > 1]
    hands = [([*item.then, *item.now], len(item.then)) for item in mixed]

    def dealt() -> float:
        total = 0.0
        for answers, first in hands:
            drawn.shuffle(answers)
            total += _between(answers[:first], answers[first:])
        return total

    return _chance(sum(_between(item.then, item.now) for item in mixed), dealt)


def _chance(seen: float, draw: Callable[[], float]) -> float:
    # Sums of the same numbers in another order may differ in their last digit.
    as_far = sum(draw() >= seen - 1e-9 for _ in range(DRAWS))
    return (as_far + 1) / (DRAWS + 1)


def metrics(found: Drift, model: str, at: float) -> CollectorRegistry:
    """What the node exporter's collector of text files is told. ``at`` is now, in seconds."""
    registry = CollectorRegistry()

    def tell(name: str, meaning: str, value: float | None) -> None:
        if value is not None:
            Gauge(name, meaning, ("model",), namespace="stream_graders_canary", registry=registry).labels(model).set(
                value
            )

    tell("alarm", "1 if a judge answers its canary set otherwise than chance lets it.", bool(found.alarms))
    tell("mean_ratio", "The mean score of the set, as a share of the scale.", found.now)
    tell("mean_drift_ratio", "How far that is above the day that was recorded.", found.mean and found.mean.value)
    tell("flips_ratio", "Answers that differ from those of that day.", found.flips)
    tell("usual_flips_ratio", "Answers of one day that differ from each other.", found.usual)
    tell("items", "Items that were compared.", found.items)
    tell("last_run_timestamp_seconds", "When the set was asked.", at)
    return registry


def as_json(found: Drift) -> dict[str, Any]:
    """The figures as JSON values."""
    told: dict[str, Any] = {**vars(found), "alarms": found.alarms, "excess": found.excess._asdict()}
    return {**told, "mean": None if found.mean is None else found.mean._asdict()}
