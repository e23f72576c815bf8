"""A worker at a steady rate: the CPU that it takes when there is little to do, and whether it grows when it works for long.

    python -m benchmarks.steady idle                     0, 100 and 1,000 events/s, 30 s each after 10 s
    python -m benchmarks.steady soak --minutes 60        memory and lag over time at 1,000 events/s; takes 10 GB of disk
    python -m benchmarks.steady soak --minutes 1 --rate 200

The recorded runs, twelve checks, fed by a process of its own, which says which rate it reached. The idle table asks the worker
nothing meanwhile; the soak reads its metrics every ten seconds.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from . import data
from .lab import Lab, circumstances, save, table
from .machine import Started
from .throughput import TWELVE
from .working import Working, metric

RECORDS = 50_000
"""The feeder goes over them again under other keys."""
WARM = 10.0
LOOKS = 10.0
LINES = 12
"""Of the soak's table; the raw figures have every look."""


def idle(lab: Lab, rate: float, seconds: float) -> dict[str, Any]:
    """CPU of a worker over a window, while it is fed at a rate."""
    at, written = lab.place(), lab.write(data.broken_off(RECORDS))
    with Working(at, TWELVE) as workers, ExitStack() as feeding:
        workers.until_ready()
        feed = feeding.enter_context(lab.feed(at, written, rate, int(rate * (WARM + seconds)))) if rate else None
        time.sleep(WARM)
        foreign = lab.foreign(*([feed.pid] if feed else []))
        broker, cpu, began = lab.broker_cpu(), workers.sample(), time.monotonic()
        time.sleep(seconds)
        passed = time.monotonic() - began
        cpu, broker = workers.sample() - cpu, lab.broker_cpu() - broker
        others = foreign.cores(but=cpu)
        told = {"rate": 0.0} if feed is None else feed.wait()
        row = {
            "rate": rate,
            "fed": told,
            "cores": cpu / passed,
            "broker_cores": broker / passed,
            "memory_mb": workers.programs[0].memory(),
            "consumed": metric(workers.ports[0], "events_consumed_total"),
            "foreign_cores": others,
        }
    lab.clear(at)
    return row


def soak(lab: Lab, rate: float, minutes: float) -> dict[str, Any]:
    """What a worker holds, and how far it is behind, over time."""
    at, written = lab.place(), lab.write(data.broken_off(RECORDS))
    looks: list[dict[str, float]] = []
    with Working(at, TWELVE) as workers:
        workers.until_ready()
        with lab.feed(at, written, rate, int(rate * minutes * 60)) as feed:
            foreign, cpu, began = lab.foreign(), workers.sample(), time.time()
            while feed.running:
                time.sleep(LOOKS)
                workers.programs[0].check()
                looks.append({"at": time.time() - began, **look(workers.programs[0], workers.ports[0])})
                print(", ".join(f"{name} {value:,.1f}" for name, value in looks[-1].items()), flush=True)
            told = feed.wait()
            others = foreign.cores(but=workers.sample() - cpu + told["cpu"])
    lab.clear(at)
    return {"rate": rate, "fed": told, "foreign_cores": others, "looks": looks}


def look(program: Started, port: int) -> dict[str, float]:
    """A worker's CPU, memory and what its page says."""
    return {
        "cpu": program.sample(),
        "memory_mb": program.memory(),
        "lag": metric(port, "consumer_lag_records"),
        "consumed": metric(port, "events_consumed_total"),
        "states": metric(port, "state_keys"),
        "states_mb": metric(port, "state_bytes") / 1e6,
        "difference": metric(port, "ledger_difference_events"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.steady", description=__doc__.split("\n", 1)[0])
    parser.add_argument("what", choices=("idle", "soak"))
    parser.add_argument("--rates", type=float, nargs="+", default=[0, 100, 1_000], help="idle: events a second")
    parser.add_argument("--seconds", type=float, default=30.0, help="idle: the window")
    parser.add_argument("--rate", type=float, default=1_000.0, help="soak: events a second")
    parser.add_argument("--minutes", type=float, default=60.0, help="soak: how long")
    options = parser.parse_args()
    started = circumstances()
    with Lab() as lab:
        if options.what == "idle":
            rows = [idle(lab, rate, options.seconds) for rate in options.rates]
            table(("offered/s", "sent/s", "CPU of a core", "broker", "MB", "others"), _idle(rows))
            save("idle", started, options, rows)
        else:
            row = soak(lab, options.rate, options.minutes)
            table(
                ("minute", "MB", "of first", "lag", "events/s", "CPU of a core", "runs kept", "MB of states"),
                _soak(row["looks"]),
            )
            print(f"fed {row['fed']['rate']:,.0f} events/s; others kept {row['foreign_cores']:.2f} cores busy")
            save("soak", started, options, row)


def _idle(rows: Sequence[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        yield (
            f"{row['rate']:,.0f}",
            f"{row['fed']['rate']:,.1f}",
            f"{row['cores']:.1%}",
            f"{row['broker_cores']:.1%}",
            f"{row['memory_mb']:.0f}",
            f"{row['foreign_cores']:.2f}",
        )


def _soak(looks: Sequence[dict[str, float]]) -> Iterator[tuple[str, ...]]:
    """A line for each part of the time: what was so at its end, rates over it."""
    step = max(1, len(looks) // LINES)
    chosen = looks[step - 1 :: step]
    before = {"at": 0.0, "cpu": 0.0, "consumed": 0.0}
    for now in chosen:
        passed = now["at"] - before["at"]
        yield (
            f"{now['at'] / 60:.1f}",
            f"{now['memory_mb']:.0f}",
            f"{now['memory_mb'] / chosen[0]['memory_mb']:.2f}",
            f"{now['lag']:,.0f}",
            f"{(now['consumed'] - before['consumed']) / passed:,.0f}",
            f"{(now['cpu'] - before['cpu']) / passed:.0%}",
            f"{now['states']:,.0f}",
            f"{now['states_mb']:.1f}",
        )
        before = now


if __name__ == "__main__":
    main()
