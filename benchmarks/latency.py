"""From the event that lets a verdict be said to the verdict as a reader sees it, at offered rates.

    python -m benchmarks.latency                         1,000, 5,000, 20,000 and 50,000 events/s, 15 s after 5 s each
    python -m benchmarks.latency --rates 500 --seconds 5    to see that it works

The recorded runs, twelve checks, one worker. That event is the one that decided an early verdict, and the run's end of a final
one; verdicts on a turn are left out, for they do not name the event that ended it. A rate was *sustained* if the feeder reached it, and the last verdict came within a second of the last record.
"""

import argparse
from collections.abc import Iterator
from functools import partial
from typing import Any

from stream_graders.events import from_json

from . import data
from .account import spread
from .lab import VERDICTS, Lab, circumstances, in_turn, save, table
from .throughput import TWELVE
from .watch import Watch
from .working import Working, closed

REACHED = 0.98
"""The share of the offered rate that a feeder has to reach."""
BEHIND = 1.0
"""Seconds from the last record to its verdict, at most, if a rate was sustained."""


def measure(lab: Lab, rate: float, seconds: float, warm: float) -> dict[str, Any]:
    """Feed a worker at a rate, and see when its verdicts come."""
    at = lab.place()
    records = closed(data.broken_off(int(rate * (seconds + warm))))
    written = lab.write(records)
    with Watch(at.bootstrap, [at.names[VERDICTS]]) as watch, Working(at, TWELVE) as workers:
        workers.until_ready()
        foreign, cpu = lab.foreign(), workers.sample()
        feed = lab.feed(at, written, rate)
        told = feed.wait()
        sent = feed.times()
        ended = workers.until_closed()
        cpu = workers.sample() - cpu
        others = foreign.cores(but=cpu + told["cpu"])
        where = places(records)
        late = []
        for arrived, value in watch.new():
            event = trigger(value)
            n = None if event is None else where[event]
            if n is not None and sent[n] >= feed.began + warm:
                late.append(arrived - sent[n])
    lab.clear(at)
    if not late:
        raise SystemExit("benchmarks: nothing was decided in that time; feed longer, or more a second")
    behind = ended - sent[-1]
    return {
        "rate": rate,
        "fed": told,
        "behind": behind,
        "sustained": told["rate"] >= REACHED * rate and behind <= BEHIND,
        "verdicts": len(late),
        "cpu": cpu,
        "foreign_cores": others,
        **spread(late),
    }


def places(records: list[tuple[bytes, bytes]]) -> dict[str, int]:
    """Where each event stands, by its id; and each run's end, by the run's."""
    found = {}
    for n, (key, value) in enumerate(records):
        found[value.split(b'"id":"', 1)[1].split(b'"', 1)[0].decode()] = n
        if b'"type":"run.end"' in value[:20]:
            found[key.decode()] = n
    return found


def trigger(value: bytes) -> str | None:
    """What let a verdict be said: the id of the event that decided an early one, the run of a final one; None of a turn's."""
    said = from_json(value)
    if said["turn"] is not None:
        return None
    name: str = said["decided_by"]["event_id"] if said["state"] == "early" else said["run_id"]
    return name


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latency", description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--rates", type=float, nargs="+", default=[1_000, 5_000, 20_000, 50_000], help="events a second"
    )
    parser.add_argument("--seconds", type=float, default=15.0, help="that count")
    parser.add_argument("--warm", type=float, default=5.0, help="seconds before them")
    options = parser.parse_args()
    started = circumstances()
    with Lab() as lab:
        jobs = {f"{rate:,.0f}": partial(measure, lab, rate, options.seconds, options.warm) for rate in options.rates}
        rows = [row for (row,) in in_turn(1, jobs).values()]
    head = (
        "offered/s",
        "sent/s",
        "sustained",
        "p50 ms",
        "of first",
        "p90",
        "p99",
        "max",
        "behind s",
        "verdicts",
        "others",
    )
    table(head, _lines(rows))
    save("latency", started, options, rows)


def _lines(rows: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        yield (
            f"{row['rate']:,.0f}",
            f"{row['fed']['rate']:,.0f}",
            "yes" if row["sustained"] else "no",
            f"{row['p50']:.1f}",
            f"{row['p50'] / rows[0]['p50']:.2f}",
            *(f"{row[of]:.1f}" for of in ("p90", "p99", "max")),
            f"{row['behind']:.1f}",
            f"{row['verdicts']:,}",
            f"{row['foreign_cores']:.2f}",
        )


if __name__ == "__main__":
    main()
