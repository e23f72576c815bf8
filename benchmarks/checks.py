"""What each check costs: microseconds of CPU an event, added one by one to a session over the recorded runs.

    python -m benchmarks.checks               the forty checks of forty.yaml, and what they come to together
    python -m benchmarks.checks --rounds 5    medians of more rounds

Each round measures a session without checks and with each check alone, in turn, over the same decoded events; a check's
cost is the difference, over all events of the runs and over those that its grader reads.
"""

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from stream_graders.config import load
from stream_graders.events import Event
from stream_graders.session import At, Ledger, Session
from stream_graders.suites import Check, Fleet, Suite

from . import data

SUITE = Path(__file__).resolve().parent / "forty.yaml"


def took(checks: Sequence[Check], runs: Sequence[Sequence[Event]]) -> float:
    """Seconds of CPU to grade the runs under these checks."""
    fleet = Fleet((Suite("bench", tuple(checks)),))
    began = time.process_time()
    for events in runs:
        session = Session(fleet, events[0].run_id, Ledger())
        for n, event in enumerate(events):
            session.feed(event, At(1_000 + n, n, 300))
    return time.process_time() - began


def main() -> int:
    parser = argparse.ArgumentParser(description="What each check costs on the recorded runs.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=300, help="recorded runs, spread over the files")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    options = parser.parse_args()
    runs = data.runs()
    runs = runs[:: max(1, len(runs) // options.runs)]
    total = sum(map(len, runs))
    checks = load(SUITE).checks
    gc.disable()
    bare: list[float] = []
    alone: dict[str, list[float]] = {check.name: [] for check in checks}
    whole: list[float] = []
    for _ in range(options.rounds):
        for check in checks:
            bare.append(took((), runs))
            alone[check.name].append(took((check,), runs))
        whole.append(took(checks, runs))
        gc.collect()
    base = statistics.median(bare)
    rows = []
    for check in checks:
        reads = sum(type(event) in check.wants for events in runs for event in events)
        cost = max(0.0, statistics.median(alone[check.name]) - base) * 1e6
        rows.append((check.name, check.grader.name, cost / total, cost / max(1, reads)))
    for name, grader, per_event, per_read in sorted(rows, key=lambda row: -row[2]):
        if options.json:
            print(
                json.dumps({"check": name, "grader": grader, "us_per_event": per_event, "us_per_event_read": per_read})
            )
        else:
            print(f"{name:<22} {grader:<40} {per_event:6.2f} us/event   {per_read:6.2f} us/event read")
    together = (statistics.median(whole) - base) / total * 1e6
    print(
        f"{len(runs)} runs, {total} events; a session without checks {base / total * 1e6:.2f} us/event,"
        f" {len(checks)} checks together {together:.2f} us/event, the dearest {max(row[2] for row in rows):.2f}",
        file=sys.stderr,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
