"""How many events a second workers grade durably, over what could make a difference; beside a loop that only reads.

    python -m benchmarks.throughput workers     1, 2 and 4 workers
    python -m benchmarks.throughput checks      0, 12 and 40 checks
    python -m benchmarks.throughput sizes       events of 276 B, 720 B and 8 kB, of the work of benchmarks.peers
    python -m benchmarks.throughput open        100, 10,000 and 100,000 open runs; and the memory they take

A journal is filled before, and the clock runs from when the worker was last seen not to be ready to the run verdicts of the last
records. Several workers share out their partitions first; then the journal is filled as fast as it can be, and the clock runs
from its first record.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import data
from .lab import Lab, Written, circumstances, in_turn, save, table
from .peers import work
from .peers.engines import SUITE as THREE
from .working import Working, closed

TWELVE = data.ROOT / "tests" / "integration" / "tau.yaml"
FORTY = Path(__file__).with_name("forty.yaml")
BYTES = 200_000_000
"""A journal of large events holds no more."""


@dataclass(frozen=True)
class Row:
    """One thing to measure."""

    name: str
    written: Written
    suite: Path | None
    workers: int = 1
    live: bool = False
    """Is the journal filled once the workers are ready?"""


def by_workers(lab: Lab, events: int) -> list[Row]:
    written = lab.write(closed(data.records(events)))
    return [Row(f"{count} worker{'s' * (count > 1)}", written, TWELVE, count, live=True) for count in (1, 2, 4)]


def by_checks(lab: Lab, events: int) -> list[Row]:
    written = lab.write(closed(data.records(events)))
    return [Row(f"{count} checks", written, suite) for count, suite in ((0, None), (12, TWELVE), (40, FORTY))]


def by_sizes(lab: Lab, events: int) -> list[Row]:
    rows = []
    for size in (276, 720, 8_192):
        runs = max(1, min(events, BYTES // size) // 24)
        rows.append(Row(f"{size:,} B", lab.write(closed(work.records(runs, size=size))), THREE))
    return rows


def by_open(lab: Lab, events: int) -> list[Row]:
    counts = (100, 10_000, 100_000)
    return [Row(f"{n:,} open", lab.write(closed(data.broken_off(max(events, 2 * n), n))), TWELVE) for n in counts]


BY: dict[str, Callable[[Lab, int], list[Row]]] = {
    "workers": by_workers,
    "checks": by_checks,
    "sizes": by_sizes,
    "open": by_open,
}


def measure(lab: Lab, row: Row, journal: str) -> dict[str, Any]:
    """Grade a journal to its end."""
    at = lab.place("" if row.live else journal)
    with Working(at, row.suite, row.workers) as workers:
        began = workers.until_ready()
        foreign, broker, cpu = lab.foreign(), lab.broker_cpu(), workers.sample()
        feeder = 0.0
        if row.live:
            feed = lab.feed(at, row.written)
            began = feed.began
            feeder = feed.wait()["cpu"]
        ended = workers.until_closed()
        cpu = workers.sample() - cpu
        measured = {
            "events": row.written.count,
            "bytes": row.written.size,
            "wall": ended - began,
            "cpu": cpu,
            "broker_cpu": lab.broker_cpu() - broker,
            "foreign_cores": foreign.cores(but=cpu + feeder),
            "memory_mb": sum(program.memory() for program in workers.programs),
            "peak_mb": sum(program.peak for program in workers.programs),
        }
    lab.clear(at)
    return measured


def bare(at: str, journal: str, written: Written) -> dict[str, Any]:
    """Only read it."""
    command = [sys.executable, "-m", "benchmarks.bare", at, journal, str(written.count)]
    done = subprocess.run(command, cwd=data.ROOT, capture_output=True, text=True, timeout=600, check=True)
    return {**json.loads(done.stdout.splitlines()[-1]), "bytes": written.size}


def beside_bare(lab: Lab, row: Row, journal: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The bare loop, and right after it the worker."""
    return bare(lab.broker.bootstrap, journal, row.written), measure(lab, row, journal)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput", description=__doc__.split("\n", 1)[0])
    parser.add_argument("by", choices=sorted(BY))
    parser.add_argument("--events", type=int, default=200_000, help="journal records of a row")
    parser.add_argument("--rounds", type=int, default=3, help="times each is measured, in turn")
    options = parser.parse_args()
    started = circumstances()
    with Lab() as lab:
        rows = BY[options.by](lab, options.events)
        journals = {row.written: lab.filled(row.written) for row in rows}
        found = in_turn(
            options.rounds, {row.name: partial(beside_bare, lab, row, journals[row.written]) for row in rows}
        )
    show(found)
    raw = {name: [{"bare": beside, "worker": one} for beside, one in pairs] for name, pairs in found.items()}
    save(f"throughput-{options.by}", started, options, raw)


def show(found: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]) -> None:
    """Print medians."""
    head = (
        "",
        "k events/s",
        "range",
        "MB/s",
        "of first",
        "of bare",
        "bare k/s",
        "CPU µs",
        "broker µs",
        "MB",
        "peak",
        "others",
    )
    first = [_rate(one) for _, one in next(iter(found.values()), [])]
    lines = []
    for name, pairs in found.items():
        rates = [_rate(one) for _, one in pairs]
        loops = [_rate(beside) for beside, _ in pairs]
        ones = [one for _, one in pairs]
        lines.append(
            (
                name,
                f"{statistics.median(rates) / 1e3:.1f}",
                f"{min(rates) / 1e3:.1f} to {max(rates) / 1e3:.1f}",
                f"{statistics.median(_rate(one) * one['bytes'] for one in ones) / 1e6:.1f}",
                f"{_ratio(rates, first):.2f}",
                f"{_ratio(rates, loops):.2f}",
                f"{statistics.median(loops) / 1e3:.0f}",
                *(
                    f"{statistics.median(one[of] / one['events'] for one in ones) * 1e6:.1f}"
                    for of in ("cpu", "broker_cpu")
                ),
                *(f"{statistics.median(one[of] for one in ones):.0f}" for of in ("memory_mb", "peak_mb")),
                f"{statistics.median(one['foreign_cores'] for one in ones):.2f}",
            )
        )
    table(head, lines)


def _rate(one: dict[str, Any]) -> float:
    return float(one["events"] / one["wall"])


def _ratio(rates: list[float], others: list[float]) -> float:
    return statistics.median(rate / other for rate, other in zip(rates, others, strict=True))


if __name__ == "__main__":
    main()
