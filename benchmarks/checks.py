"""What checks cost: microseconds an event, alone and added one by one to a session over the recorded runs.

    python -m benchmarks.checks               the forty checks of forty.yaml
    python -m benchmarks.checks --rounds 9    more rounds, for a busy machine

In each round the runs are graded without a check, with each check alone, and with the first one, two, three and so on
of them. Of each event the least time over the rounds counts, so that what else the machine does falls out; what a check
costs is a difference of two such sums, over all events of the runs. One run is graded in all these ways before the next, so that a slow moment of the machine meets all alike. Added to others a check shares what they read of an
event; alone it reads for itself. The verdict of the check on each run is in its cost.
"""

import argparse
import gc
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter_ns

from stream_graders.config import load
from stream_graders.events import Event
from stream_graders.session import At, Ledger, Session
from stream_graders.suites import Check, Fleet, Suite

from . import data

SUITE = Path(__file__).resolve().parent / "forty.yaml"
GOAL = 3.0
"""Microseconds an event and check."""


class Costs:
    """The least time of each event over the rounds, under some checks."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self._fleet = Fleet((Suite("bench", tuple(checks)),))
        self._least: dict[str, list[int]] = {}
        """By run, a time of each event."""

    def measure(self, events: Sequence[Event]) -> None:
        """Grade a run once more."""
        run_id, took = events[0].run_id, []
        session = Session(self._fleet, run_id, Ledger())
        for n, event in enumerate(events):
            at = At(1_000 + n, n, 300)
            began = perf_counter_ns()
            session.feed(event, at)
            took.append(perf_counter_ns() - began)
        self._least[run_id] = list(map(min, self._least.get(run_id, took), took))

    @property
    def microseconds(self) -> float:
        """An event, on the average."""
        times = [time for run in self._least.values() for time in run]
        return sum(times) / len(times) / 1_000


def main() -> int:
    parser = argparse.ArgumentParser(description="What each check costs on the recorded runs.")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--runs", type=int, default=82, help="recorded runs, spread over the files")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    runs = data.runs()
    runs = runs[:: max(1, len(runs) // options.runs)]
    checks = load(SUITE).checks
    gc.disable()
    alone = [Costs([check]) for check in checks]
    added = [Costs(checks[:count]) for count in range(len(checks) + 1)]
    for _ in range(options.rounds):
        for events in runs:  # One run under all of them, then the next: a slow moment of the machine meets all alike.
            for costs in [*alone, *added]:
                costs.measure(events)
            gc.collect()
    bare = added[0].microseconds
    rows = [
        (check, one.microseconds - bare, after.microseconds - before.microseconds)
        for check, one, before, after in zip(checks, alone, added, added[1:], strict=False)
    ]
    for check, by_itself, more in sorted(rows, key=lambda row: -row[2]):
        if options.json:
            told = {"check": check.name, "grader": check.grader.name, "alone_us": by_itself, "added_us": more}
            print(json.dumps(told))
        else:
            print(f"{check.name:<22} {check.grader.name:<40} added {more:6.2f}   alone {by_itself:6.2f} us/event")
    above = [sum(more > GOAL for _, _, more in rows), sum(by_itself > GOAL for _, by_itself, _ in rows)]
    print(
        f"{len(runs)} runs, {sum(map(len, runs))} events; a session without checks {bare:.2f} us/event, with all"
        f" {len(checks)} checks {added[-1].microseconds:.2f}; above {GOAL:g} added {above[0]}, alone {above[1]}",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
