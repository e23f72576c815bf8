"""Ours and other engines on one piece of work, on the same topic, one after another in turn.

    python -m benchmarks.peers                       489,000 events, three rounds; some ten minutes
    python -m benchmarks.peers --runs 1000 --rounds 1    to see that it works

The topic is filled before. The clock of an engine runs from its first event to its last verdict that a reader of committed
records can see; each verdict is held against what is true of its run. CPU is that of all processes of the engine. Its first
event is told by a program of others itself; a worker of ours counts from when it was last seen not to be ready.
"""

import argparse
import statistics
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ..account import Account, Answer, Key
from ..lab import VERDICTS, Lab, circumstances, in_turn, save, table, until
from ..watch import Watch
from . import work
from .engines import ENGINES, OURS, Engine
from .oracle import answers

SAMPLED = 0.2
"""Seconds between two looks at an engine's processes."""
IDLE = 60.0
"""Seconds without a verdict after which an engine has given all that it will give."""


def measure(lab: Lab, engine: Engine, journal: str, events: int, due: Mapping[Key, Answer]) -> dict[str, Any]:
    """Run an engine over the filled topic, to its last verdict."""
    at = lab.place(journal)
    account = Account(due)
    with Watch(at.bootstrap, [at.names[VERDICTS]]) as watch:
        foreign, broker = lab.foreign(), lab.broker_cpu()
        program = engine.start(at)
        try:
            unready = until(lambda: engine.has_begun(at), f"{engine.name}: the first event", program)
            began, start_cpu = engine.began(at, unready), program.sample()
            last = looked = time.time()
            while not account.is_complete() and time.time() - last < IDLE:
                for arrived, value in watch.new():
                    account.take(*engine.read(value), value)
                    last = arrived
                if time.time() - looked > SAMPLED:
                    program.sample()
                    looked = time.time()
                    program.check()
                time.sleep(0.01)
            cpu = program.sample()
            others, broker = foreign.cores(but=cpu), lab.broker_cpu() - broker
        finally:
            program.kill()
        for _, value in watch.new():
            account.take(*engine.read(value), value)
    lab.clear(at)
    return {
        "events": events,
        "start": began - program.at,
        "wall": last - began,
        "cpu": cpu - start_cpu,
        "cpu_with_start": cpu,
        "broker_cpu": broker,
        "peak_mb": program.peak,
        "foreign_cores": others,
        **vars(account.sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=20_000, help="runs of the work, 24 events each")
    parser.add_argument("--rounds", type=int, default=3, help="times each is measured, in turn")
    parser.add_argument("--only", default="", help="engines whose name holds this word")
    options = parser.parse_args()
    engines = [engine for engine in ENGINES if options.only.lower() in engine.name.lower()]
    for engine in engines:
        engine.prepare()
    started = circumstances()
    with Lab() as lab:
        works = {small: list(work.records(options.runs // (5 if small else 1))) for small in (False, True)}
        journals = {small: lab.filled(lab.write(records)) for small, records in works.items()}
        due = {ours: {small: answers(told, early=ours) for small, told in works.items()} for ours in (False, True)}
        jobs = {
            engine.name: partial(
                measure,
                lab,
                engine,
                journals[engine.small],
                len(works[engine.small]),
                due[engine.is_ours][engine.small],
            )
            for engine in engines
        }
        rows = in_turn(options.rounds, jobs)
    show(rows)
    save("peers", started, options, rows)


def show(rows: dict[str, list[dict[str, Any]]]) -> None:
    """Print medians, and the sums of what should be 0."""
    head = (
        "",
        "k events/s",
        "range",
        "of ours",
        "CPU s/M",
        "with start",
        "broker",
        "MB",
        "start s",
        "lost",
        "twice",
        "wrong",
        "others",
    )
    ours = _rates(rows.get(OURS.name, []))
    lines = []
    for name, measured in rows.items():
        rates = _rates(measured)
        lines.append(
            (
                name,
                f"{statistics.median(rates):.1f}",
                f"{min(rates):.0f} to {max(rates):.0f}",
                f"{statistics.median(rate / of for rate, of in zip(rates, ours, strict=True)):.2f}" if ours else "-",
                *(f"{_median(measured, of, per_million=True):.1f}" for of in ("cpu", "cpu_with_start", "broker_cpu")),
                f"{_median(measured, 'peak_mb'):.0f}",
                f"{_median(measured, 'start'):.1f}",
                *(str(sum(one[of] for one in measured)) for of in ("lost", "duplicate", "wrong")),
                f"{_median(measured, 'foreign_cores'):.2f}",
            )
        )
    table(head, lines)


def _rates(measured: Sequence[dict[str, Any]]) -> list[float]:
    """Thousand events a second."""
    return [one["events"] / one["wall"] / 1e3 for one in measured]


def _median(measured: Sequence[dict[str, Any]], of: str, *, per_million: bool = False) -> float:
    values = (one[of] / one["events"] * 1e6 if per_million else one[of] for one in measured)
    return float(statistics.median(values))


if __name__ == "__main__":
    main()
