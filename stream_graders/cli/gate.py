"""Whether graded runs are good enough: rates, groups of repeated cases, and what is new since a baseline."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

from ..events import from_json
from ..scoring.composite import mean_score
from ..verdicts import RunVerdict
from .errors import UserError

Z = 1.959964
"""Of a two-sided interval that holds the true value 95 times in 100."""
FAILABLE = ("fail", "error", "not_graded", "skipped")


class Need(NamedTuple):
    """How many of how many repetitions of one case have to pass."""

    passes: int
    of: int

    def word(self, outcomes: Counter[str]) -> str:
        """``met``, ``missed``, or ``insufficient data`` where the repetitions that lack a verdict would decide."""
        if outcomes["pass"] >= self.passes:
            return "met"
        return "missed" if outcomes["fail"] > self.of - self.passes else "insufficient data"


@dataclass
class Gate:
    """What the runs have to reach."""

    fail_on: frozenset[str]
    """Run outcomes that miss the gate wherever they come."""
    min_pass_rate: float | None = None
    min_score: float | None = None
    """What the scores of the runs have to reach on average; degraded runs are left out, as ai_eval's gate has it (R152)."""
    group_by: str | None = None
    need: Need | None = None
    baseline: "Baseline | None" = None
    missed: list[str] = field(default_factory=list)
    """What misses it, a line each."""
    told: list[str] = field(default_factory=list)
    """What is worth a line and misses nothing."""

    def judge(self, runs: Iterable[RunVerdict]) -> bool:
        """Is the gate met? What misses it is in ``missed`` afterwards."""
        runs = list(runs)
        by_outcome = Counter(str(run.outcome) for run in runs)
        for outcome in sorted(self.fail_on & set(by_outcome)):
            self.missed.append(f"{_runs(by_outcome[outcome])} ended as {outcome}")
        unverified = sum(run.reason == "unverified" and run.partially_graded for run in runs)
        if unverified and "not_graded" not in self.fail_on:
            verb = "has" if unverified == 1 else "have"
            self.missed.append(f"{_runs(unverified)} {verb} a critical check without a verdict")
        if self.min_pass_rate is not None:
            self._judge_rate(by_outcome, self.min_pass_rate)
        if self.min_score is not None:
            reached = mean_score((run.score, run.degraded) for run in runs)
            if reached < self.min_score:
                self.missed.append(f"the mean score is {reached:.2f}, and should be {self.min_score:.2f}")
        if self.group_by is not None and self.need is not None:
            self._judge_groups(runs, self.group_by, self.need)
        if self.baseline is not None:
            self._judge_change(runs, self.baseline)
        return not self.missed

    def _judge_rate(self, outcomes: Counter[str], least: float) -> None:
        rated = outcomes["pass"] + outcomes["fail"]
        if not rated:
            self.missed.append("no run passed or failed, so there is no pass rate")
        elif outcomes["pass"] / rated < least:
            low, high = wilson(outcomes["pass"], rated)
            rate = f"{outcomes['pass'] / rated:.1%} of {rated} (95 % interval {low:.1%} to {high:.1%})"
            self.missed.append(f"the pass rate is {rate}, and should be {least:.1%}")

    def _judge_groups(self, runs: list[RunVerdict], place: str, need: Need) -> None:
        groups: dict[str, Counter[str]] = defaultdict(Counter)
        for run in runs:
            groups[value_of(run, place)][run.outcome] += 1
        for name, outcomes in sorted(groups.items()):
            word = need.word(outcomes)
            line = f"{place} {name}: {outcomes['pass']} of {outcomes['pass'] + outcomes['fail']} graded runs passed"
            if word != "met":
                self.missed.append(f"{line}, {need.passes} of {need.of} are needed: {word}")

    def _judge_change(self, runs: list[RunVerdict], baseline: "Baseline") -> None:
        now = Baseline(self.group_by)
        for run in runs:
            now.add(run)
        for check, key in now.new_failures(baseline):
            self.missed.append(f"{check} fails in {key}, and did not before")
        for change in now.changes(baseline):
            (self.missed if change.word == "worse" else self.told).append(str(change))


class Change(NamedTuple):
    """How a check's pass rate moved."""

    check: str
    before: tuple[int, int]
    after: tuple[int, int]
    low: float
    high: float

    @property
    def word(self) -> str:
        """``worse``, ``better``, or what the data do not show."""
        if self.high < 0:
            return "worse"
        if self.low > 0:
            return "better"
        # An interval that holds both no change and a large one says nothing of either.
        return "insufficient data" if self.high - self.low > 0.2 else "no change"

    def __str__(self) -> str:
        (x, m), (y, n) = self.before, self.after
        moved = f"from {x / m:.1%} of {m} to {y / n:.1%} of {n}"
        return f"{self.check}: {moved} (95 % interval of the change {self.low:+.1%} to {self.high:+.1%}): {self.word}"


class Baseline:
    """The outcomes of checks by run, or by case where runs repeat one."""

    def __init__(self, group_by: str | None = None) -> None:
        self.group_by = group_by
        self.outcomes: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        """Of each check, as suite and name, and of each run or case, how many outcomes of each kind."""

    @classmethod
    def read(cls, path: Path, group_by: str | None) -> "Baseline":
        """The run verdicts in the output of an earlier ``grade --json``.

        Raises:
            UserError: the file cannot be read, or holds no run verdict.
        """
        baseline = cls(group_by)
        try:
            lines = path.read_bytes().splitlines()
        except OSError as error:
            raise UserError(f"--baseline {path}: cannot be read: {error.strerror}") from error
        for number, line in enumerate(lines, start=1):
            try:
                record = from_json(line) if line.strip() else None
            except (ValueError, RecursionError) as error:
                raise UserError(
                    f"--baseline {path}: line {number} is not JSON; give what grade --json wrote"
                ) from error
            if isinstance(record, dict) and record.get("schema") == "stream_graders.run_verdict/1":
                baseline.add(record)
        if not baseline.outcomes:
            raise UserError(f"--baseline {path}: holds no run verdict; give what grade --json wrote")
        return baseline

    def add(self, run: RunVerdict | dict[str, Any]) -> None:
        """Take the outcomes of a run in."""
        suite, checks = (run["suite"], run["checks"]) if isinstance(run, dict) else (run.suite, run.checks)
        key = value_of(run, self.group_by or "run_id")
        for line in checks:
            name, outcome = (line["check"], line["outcome"]) if isinstance(line, dict) else (line.check, line.outcome)
            self.outcomes[f"{suite}: {name}", key][outcome] += 1

    def new_failures(self, before: "Baseline") -> Iterator[tuple[str, str]]:
        """Checks and runs (or cases) that fail now and only passed before."""
        for (check, key), now in self.outcomes.items():
            then = before.outcomes.get((check, key))
            if now["fail"] and then is not None and then["pass"] and not then["fail"]:
                yield check, key

    def changes(self, before: "Baseline") -> Iterator[Change]:
        """How the pass rate of each check moved that both have."""
        mine, theirs = self._rates(), before._rates()
        for check, (y, n) in mine.items():
            x, m = theirs.get(check, (0, 0))
            if m and n:
                yield Change(check, (x, m), (y, n), *newcombe(x, m, y, n))

    def _rates(self) -> dict[str, tuple[int, int]]:
        rates: dict[str, tuple[int, int]] = {}
        for (check, _), outcomes in self.outcomes.items():
            passed, rated = rates.get(check, (0, 0))
            rates[check] = (passed + outcomes["pass"], rated + outcomes["pass"] + outcomes["fail"])
        return rates


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def wilson(passed: int, of: int) -> tuple[float, float]:
    """The 95 % score interval of a rate (Wilson 1927): it stays within 0 and 1 and holds for few runs too.

    >>> tuple(round(end, 3) for end in wilson(8, 10))
    (0.49, 0.943)
    """
    rate, z2 = passed / of, Z * Z
    middle = (rate + z2 / (2 * of)) / (1 + z2 / of)
    half = Z * sqrt(rate * (1 - rate) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    return max(0.0, middle - half), min(1.0, middle + half)


def newcombe(x: int, m: int, y: int, n: int) -> tuple[float, float]:
    """The 95 % interval of the difference y/n - x/m of two rates (Newcombe 1998, method 10).

    >>> tuple(round(end, 4) for end in newcombe(48, 80, 56, 70))
    (0.0524, 0.3339)
    """
    (l1, u1), (l2, u2) = wilson(x, m), wilson(y, n)
    before, after = x / m, y / n
    low = after - before - sqrt((after - l2) ** 2 + (u1 - before) ** 2)
    high = after - before + sqrt((u2 - after) ** 2 + (before - l1) ** 2)
    return low, high


def value_of(run: RunVerdict | dict[str, Any], place: str) -> str:
    """A field of a run verdict as text, ``labels.case``; "-" where it has none."""
    value: Any = run
    for step in place.split("."):
        value = value.get(step) if isinstance(value, dict) else getattr(value, step, None)
    return "-" if value is None else str(value)


def need_of(text: str) -> Need:
    """``8/10`` as a `Need`.

    Raises:
        UserError: it is not of that form.
    """
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 0 < int(match[1]) <= int(match[2]):
        raise UserError(f"--need {text}: write how many of how many have to pass, like 8/10")
    return Need(int(match[1]), int(match[2]))
