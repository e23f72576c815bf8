"""How long a worker takes to come back, by how many runs are open: kill -9, a start at once, its states read from the changelog.

    python -m benchmarks.recovery                         0, 10,000, 50,000 and 100,000 open runs
    python -m benchmarks.recovery --open 0 1000 --rounds 1    to see that it works

While the worker is down, runs are written that end at once; the first of their run verdicts is its first verdict. The row without
open runs is what a start takes at all.
"""

import argparse
import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from . import data
from .lab import PARTITIONS, Lab, Place, circumstances, in_turn, save, table
from .machine import Started
from .throughput import TWELVE
from .working import Working, closed, closing, metric

SETTLES = 3.0
"""Seconds after the last verdict in which the states become durable and the offsets are committed."""


def measure(lab: Lab, opened: int, events: int, rounds: int) -> list[dict[str, Any]]:
    """Grade a journal whose runs stay open, and kill the worker so many times."""
    at = lab.place()
    records = data.broken_off(opened * events, opened) if opened else []
    lab.feed(at, lab.write(closed(records))).wait()
    found = []
    with Working(at, TWELVE) as workers:
        workers.until_ready()
        workers.until_closed()
        for n in range(rounds):
            time.sleep(SETTLES)
            kept, size = metric(workers.ports[0], "state_keys"), changelog(lab, at)
            workers.kill()
            lab.feed(at, lab.write(closing(f"round-{n}"))).wait()
            foreign = lab.foreign()
            began = workers.start()
            ready = workers.until_ready()
            cpu = workers.sample()
            first = workers.until_closed(f"round-{n}", runs=1)
            found.append(
                {
                    "open": opened,
                    "states": kept,
                    "changelog_mb": size,
                    "ready": ready - began,
                    "first_verdict": first - began,
                    "cpu_to_ready": cpu,
                    "memory_mb": _memory(workers.programs),
                    "foreign_cores": foreign.cores(but=workers.sample()),
                }
            )
            workers.until_closed(f"round-{n}")
            print(
                f"{opened:,} open: ready after {ready - began:.2f} s, first verdict after {first - began:.2f} s",
                flush=True,
            )
    lab.clear(at)
    return found


def changelog(lab: Lab, at: Place) -> float:
    """Megabytes of the changelog on the broker's disk."""
    folders = [lab.broker.directory / "data" / f"{at.app}-runs-changelog-{n}" for n in range(PARTITIONS)]
    return sum(log.stat().st_size for folder in folders for log in folder.glob("*.log")) / 1e6


def _memory(programs: list[Started]) -> float:
    return sum(program.memory() for program in programs)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recovery", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--open", type=int, nargs="+", default=[0, 10_000, 50_000, 100_000], help="open runs")
    parser.add_argument("--events", type=int, default=4, help="of each open run, on the average")
    parser.add_argument("--rounds", type=int, default=3, help="times the worker is killed")
    options = parser.parse_args()
    started = circumstances()
    with Lab() as lab:
        jobs = {f"{opened:,}": partial(measure, lab, opened, options.events, options.rounds) for opened in options.open}
        rows = in_turn(1, jobs)
    head = (
        "open runs",
        "states",
        "changelog MB",
        "ready s",
        "first verdict s",
        "range",
        "of first",
        "CPU s",
        "MB",
        "others",
    )
    table(head, _lines({opened: ones for opened, (ones,) in rows.items()}))
    save("recovery", started, options, rows)


def _lines(rows: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, ...]]:
    least = None
    for opened, ones in rows.items():
        middle = {of: statistics.median(one[of] for one in ones) for of in ones[0]}
        least = least or middle["first_verdict"]
        firsts = [one["first_verdict"] for one in ones]
        yield (
            opened,
            f"{middle['states']:,.0f}",
            f"{middle['changelog_mb']:.0f}",
            f"{middle['ready']:.2f}",
            f"{middle['first_verdict']:.2f}",
            f"{min(firsts):.1f} to {max(firsts):.1f}",
            f"{middle['first_verdict'] / least:.2f}",
            f"{middle['cpu_to_ready']:.2f}",
            f"{middle['memory_mb']:.0f}",
            f"{middle['foreign_cores']:.2f}",
        )


if __name__ == "__main__":
    main()
