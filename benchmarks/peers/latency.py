"""From the sending of a run's last event to each of its final verdicts, as a reader of what is committed sees it.

python -m benchmarks.peers.latency               5,000 events/s, 20 s after 5 s to warm up
python -m benchmarks.peers.latency --rate 500 --seconds 5
"""

import argparse
import statistics
import time
from functools import partial
from typing import Any

from ..account import Account, Key, spread
from ..lab import Lab, circumstances, in_turn, save, table
from . import work
from .engines import LIVE, Engine
from .live import Live
from .oracle import answers

IDLE = 30.0


def measure(lab: Lab, engine: Engine, records: list[tuple[bytes, bytes]], rate: float, warm: float) -> dict[str, Any]:
    """Feed an engine these records at a rate; how late its verdicts are, after so many seconds."""
    due = answers(records, early=engine.is_ours)
    account, arrivals = Account(due), dict[Key, float]()
    written = lab.write(records)
    with Live(lab, engine) as live, lab.feed(live.at, written, rate) as feed:
        foreign = lab.foreign()
        last = time.time()
        while (feed.running or not account.is_complete()) and time.time() - last < IDLE:
            for arrived, key, answer, value in live.verdicts():
                account.take(key, answer, value)
                arrivals.setdefault(key, arrived)
                last = arrived
            live.program.check()
            time.sleep(0.005)
        told, sent = feed.wait(), feed.times()
        others = foreign.cores(but=live.program.sample() + told["cpu"])
    ends = {key.decode(): sent[n] for n, (key, value) in enumerate(records) if b'"type":"run.end"' in value}
    late = [
        arrived - ends[run]
        for (run, _, state), arrived in arrivals.items()
        if state == "final" and ends[run] >= feed.began + warm
    ]
    if not late:
        raise SystemExit("benchmarks: no run ended in that time; feed longer, or more a second")
    return {**spread(late), "verdicts": len(late), "fed": told, "foreign_cores": others, **vars(account.sum())}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.latency", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rate", type=float, default=5_000.0, help="events a second")
    parser.add_argument("--seconds", type=float, default=20.0, help="that count")
    parser.add_argument("--warm", type=float, default=5.0, help="seconds before them")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", help="engines whose name holds this word")
    options = parser.parse_args()
    engines = [engine for engine in LIVE if options.only.lower() in engine.name.lower()]
    for engine in engines:
        engine.prepare()
    started = circumstances()
    count = int(options.rate * (options.seconds + options.warm))
    records = list(work.records(count // 24 + 600, seed=11))[:count]
    with Lab() as lab:
        jobs = {engine.name: partial(measure, lab, engine, records, options.rate, options.warm) for engine in engines}
        rows = in_turn(options.rounds, jobs)
    head = ("", "p50 ms", "p90", "p99", "max", "verdicts", "lost", "wrong", "others")
    table(head, [
        (
            name,
            *(f"{statistics.median(one[of] for one in measured):.1f}" for of in ("p50", "p90", "p99", "max")),
            *(str(sum(one[of] for one in measured)) for of in ("verdicts", "lost", "wrong")),
            f"{statistics.median(one['foreign_cores'] for one in measured):.2f}",
        )
        for name, measured in rows.items()
    ])  # fmt: skip
    save("peers-latency", started, options, rows)


if __name__ == "__main__":
    main()
