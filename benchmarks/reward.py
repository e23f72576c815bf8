"""How each check relates to the reward of the recorded runs: what docs/evaluation.md shows.

    python -m benchmarks.reward              print the page
    python -m benchmarks.reward --write      write docs/evaluation.md

A check *fires* in a run if it fails there. A run is *bad* if its reward is below 1. The runs' own reference calls come with
their start, as `expected_tools`, for the checks that compare with a reference. Intervals are of 2,000 samples of tasks
with replacement (seeded): runs of one task are no independent evidence.
"""

import argparse
import random
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stream_graders.cli.gate import wilson
from stream_graders.config import load
from stream_graders.graders.trajectory.match import Match
from stream_graders.graders.trajectory.writes_equal import WritesEqual
from stream_graders.suites import Check, Suite
from stream_graders.testing import fed, run_verdicts_of, session_of

from . import data

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = 2_000
ENOUGH = 40
"""Runs of an agent from which its rates are compared with others'."""
WRITES = [
    "book_*", "cancel_*", "update_*", "send_certificate", "exchange_*", "modify_*", "return_*", "suspend_*", "resume_*",
    "enable_*", "disable_*", "refuel_*", "set_*", "send_payment_request", "make_payment",
]  # fmt: skip
"""The tools of the recorded domains that change something."""


@dataclass
class Run:
    """A recorded run and what its checks said."""

    group: str
    agent: str
    task: str
    bad: bool
    fired: dict[str, bool] = field(default_factory=dict)
    graded: dict[str, bool] = field(default_factory=dict)


def suite() -> Suite:
    """The starter suite and the two checks that compare with a reference."""
    starter = load(ROOT / "suites" / "starter.yaml")
    with_reference = (
        Check("writes-equal (reference)", WritesEqual(WRITES), "info"),
        Check("match, names (reference)", Match(mode="superset", arguments="ignore"), "info"),
        Check("match, arguments (reference)", Match(mode="superset", arguments="exact"), "info"),
    )
    return Suite("evaluation", (*with_reference, *starter.checks))


def graded() -> list[Run]:
    """The recorded runs, graded."""
    checks, runs = suite(), list[Run]()
    for group, agent, task, bad, events in data.recorded():
        session = session_of(checks, events[0].run_id)
        lines = run_verdicts_of([*fed(session, events, step=0), *session.finish()])[-1].checks
        fired = {line.check: line.outcome == "fail" for line in lines}
        runs.append(
            Run(group, agent, task, bad, fired, {line.check: line.outcome in ("pass", "fail") for line in lines})
        )
    starter = [check.name for check in checks.checks[3:]]
    for run in runs:
        run.fired["any of the starter suite"] = any(run.fired[name] for name in starter if name != "many-calls")
        run.graded["any of the starter suite"] = True
    return runs


def auc(cells: Iterable[tuple[int, int, int, int]]) -> float | None:
    """The area under the curve of a check that fires or not: bad and fired, bad and not, good and fired, good and not."""
    tp, fn, fp, tn = (sum(column) for column in zip(*cells, strict=True))
    if not tp + fn or not fp + tn:
        return None
    return float(0.5 + (tp / (tp + fn) - fp / (fp + tn)) / 2)


def within(cells: Iterable[tuple[int, int, int, int]]) -> float | None:
    """The same over pairs of a bad and a good run of one task: is it the bad run, or the hard task?"""
    won: float = 0.0
    pairs: float = 0.0
    for tp, fn, fp, tn in cells:
        won += tp * tn + (tp * fp + fn * tn) / 2
        pairs += (tp + fn) * (fp + tn)
    return float(won / pairs) if pairs else None


def by_task(runs: Sequence[Run], check: str) -> list[tuple[int, int, int, int]]:
    """For each task how many of its runs are in which cell."""
    cells: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for run in runs:
        cells[run.task][(0 if run.bad else 2) + (not run.fired[check])] += 1
    return [(a, b, c, d) for a, b, c, d in cells.values()]


def interval(cells: list[tuple[int, int, int, int]], of: Any) -> tuple[float, float] | None:
    """The 2.5th and 97.5th percentile over samples of tasks."""
    draw = random.Random(7)
    found = sorted(value for _ in range(SAMPLES) if (value := of(draw.choices(cells, k=len(cells)))) is not None)
    return (found[len(found) // 40], found[-len(found) // 40 - 1]) if found else None


def spearman(x: Sequence[float], y: Sequence[float]) -> float:
    """The rank correlation, ties at their mean rank."""
    a, b = _ranks(x), _ranks(y)
    mean = (len(a) + 1) / 2
    top = sum((i - mean) * (j - mean) for i, j in zip(a, b, strict=True))
    square = sum((i - mean) ** 2 for i in a) * sum((j - mean) ** 2 for j in b)
    return float(top / square**0.5) if square else float("nan")


def _ranks(values: Sequence[float]) -> list[float]:
    return [sum(w < v for w in values) + (sum(w == v for w in values) + 1) / 2 for v in values]


def page(runs: list[Run]) -> Iterator[str]:
    """The page in Markdown."""
    groups = list(dict.fromkeys(run.group for run in runs))
    checks = list(runs[0].fired)
    yield "<!-- Made by `python -m benchmarks.reward --write` from the recorded runs: run it again, do not edit. -->"
    yield "# What the checks say of bad runs"
    yield ""
    yield (
        f"{len(runs)} recorded runs of tau-bench and tau2-bench with a known reward, graded by `suites/starter.yaml` and three checks"
        " that compare with the task's reference calls. A run is bad if its reward is below 1; a check fires if it fails."
    )
    yield ""
    yield "**What to make of it.**"
    yield ""
    yield (
        "- Without a reference no check here tells which run is bad: an AUC near .5 is a coin. What they give is evidence (a loop, an"
        " error repeated, a value from nowhere) and **rates** to follow over time. How far the alarm rate ranks agents stands below."
    )
    yield (
        "- With a reference one question is enough: did the run change what it should have, and nothing else?"
        " (`trajectory.writes_equal`). It comes close to what the reward itself measures, so that is no surprise."
    )
    yield "- So nothing in the starter suite is critical. A check may be by default only if it fired 30 times or more on two domains with a lower bound of its precision of .9."
    yield "- The suite was chosen by people who had seen these runs, the retail and telecom sets have few bad runs, and six agents are six points."
    for group in groups:
        of = [run for run in runs if run.group == group]
        bad = sum(run.bad for run in of)
        yield ""
        yield f"## {group}: {bad} of {len(of)} runs are bad, {len({run.task for run in of})} tasks"
        yield ""
        yield "| check | graded | fires | AUC [95 %] | within a task | on good runs | precision [95 %] | recall |"
        yield "|---|---:|---:|---|---:|---:|---|---:|"
        for check in checks:
            yield _row(of, check, bad)
    yield ""
    yield "## Rates of agents"
    yield ""
    agents = {agent: [r for r in runs if r.agent == agent] for agent in dict.fromkeys(run.agent for run in runs)}
    large = {a: rs for a, rs in agents.items() if len(rs) >= ENOUGH and rs[0].group == "tau2-airline"}
    yield f"The {len(large)} agents of tau2-airline with {ENOUGH} runs or more:"
    yield ""
    yield "| agent | runs | bad | starter suite fires | writes differ |"
    yield "|---|---:|---:|---:|---:|"
    rates: dict[str, list[float]] = defaultdict(list)
    for agent, of in large.items():
        told = []
        for name, hits in (
            ("bad", [r.bad for r in of]),
            ("suite", [r.fired["any of the starter suite"] for r in of]),
            ("writes", [r.fired["writes-equal (reference)"] for r in of]),
        ):
            rates[name].append(sum(hits) / len(of))
            told.append(f"{rates[name][-1]:.2f}")
        yield f"| {agent} | {len(of)} | {' | '.join(told)} |"
    yield ""
    yield (
        f"Rank correlation (Spearman) with the share of bad runs: starter suite {spearman(rates['bad'], rates['suite']):.2f},"
        f" writes {spearman(rates['bad'], rates['writes']):.2f}."
    )


def _row(runs: list[Run], check: str, bad: int) -> str:
    cells = by_task(runs, check)
    tp, fp = (sum(r.fired[check] and r.bad is is_bad for r in runs) for is_bad in (True, False))
    area, spread, inside = auc(cells), interval(cells, auc), within(cells)
    shown = "-" if area is None else f"{area:.3f}" + ("" if spread is None else f" [{spread[0]:.3f}, {spread[1]:.3f}]")
    precision = "-"
    if tp + fp:
        low, high = wilson(tp, tp + fp)
        precision = f"{tp / (tp + fp):.2f} [{low:.2f}, {high:.2f}]"
    graded_runs = sum(run.graded[check] for run in runs)
    columns = [
        check, f"{graded_runs}", f"{tp + fp}", shown, "-" if inside is None else f"{inside:.3f}", f"{fp}", precision,
        f"{tp / bad:.2f}" if bad else "-",
    ]  # fmt: skip
    return f"| {' | '.join(columns)} |"


def main() -> int:
    parser = argparse.ArgumentParser(description="How each check relates to the reward of the recorded runs.")
    parser.add_argument("--write", action="store_true", help="write docs/evaluation.md")
    options = parser.parse_args()
    text = "".join(f"{line}\n" for line in page(graded()))
    if options.write:
        (ROOT / "docs" / "evaluation.md").write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
