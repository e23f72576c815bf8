"""kill -9 of an engine once, in the middle of a live feed, and a start at once: what is lost, repeated or wrong.

    python -m benchmarks.peers.kill                              5,000 events/s for 16 s, killed after 9.3 s
    python -m benchmarks.peers.kill --rate 500 --only bytewax    to see that it works

One kill says whether an engine can lose or change a verdict, not how often: how many are repeated depends on where between two
of its commits it was hit. `wrong` are records that say something else than is true of the run, `left wrong` verdicts of
which the last record does.
"""

import argparse
import time
from functools import partial
from typing import Any

from ..account import Account
from ..lab import Lab, circumstances, in_turn, save, table
from . import work
from .engines import LIVE, Engine
from .live import Live
from .oracle import answers

SETTLES = 3.0
"""Seconds after the last verdict that was due in which others may be repeated."""
IDLE = 90.0
IN_FLIGHT = 0.1
"""Seconds in which what a killed process had written may still arrive; no engine starts as fast."""


def measure(
    lab: Lab, engine: Engine, records: list[tuple[bytes, bytes]], rate: float, kill_at: float
) -> dict[str, Any]:
    """Feed an engine these records at a rate, and kill it after so many seconds."""
    account = Account(answers(records, early=engine.is_ours))
    written = lab.write(records)
    with Live(lab, engine) as live, lab.feed(live.at, written, rate) as feed:
        foreign, earlier = lab.foreign(), live.program
        restarted, back, last = 0.0, 0.0, time.time()
        while time.time() - last < (SETTLES if account.is_complete() and not feed.running else IDLE):
            for arrived, key, answer, value in live.verdicts():
                account.take(key, answer, value)
                last = arrived
                if restarted and not back and arrived > restarted + IN_FLIGHT:
                    back = arrived - restarted
            if not restarted and time.time() - feed.began > kill_at:
                restarted = last = live.restart()
            live.program.check()
            time.sleep(0.005)
        told = feed.wait()
        own = earlier.sample() + live.program.sample()
        others = foreign.cores(but=own + told["cpu"])
    return {"back": back, "fed": told, "foreign_cores": others, **vars(account.sum())}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.kill", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rate", type=float, default=5_000.0, help="events a second")
    parser.add_argument("--seconds", type=float, default=16.0, help="of feeding")
    parser.add_argument("--kill-at", type=float, default=9.3, help="seconds after which it is killed")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--only", default="", help="engines whose name holds this word")
    options = parser.parse_args()
    engines = [engine for engine in LIVE if options.only.lower() in engine.name.lower()]
    for engine in engines:
        engine.prepare()
    started = circumstances()
    count = int(options.rate * options.seconds)
    records = list(work.records(count // 24 + 600, seed=11))[:count]
    with Lab() as lab:
        jobs = {
            engine.name: partial(measure, lab, engine, records, options.rate, options.kill_at) for engine in engines
        }
        rows = in_turn(options.rounds, jobs)
    counts = ("due", "lost", "duplicate", "changed", "wrong", "wrong_last")
    head = ("", "due", "lost", "twice", "changed", "wrong", "left wrong", "first verdict after s")
    table(head, [
        (name, *(str(sum(one[of] for one in measured)) for of in counts), " ".join(f"{one['back']:.1f}" for one in measured))
        for name, measured in rows.items()
    ])  # fmt: skip
    save("peers-kill", started, options, rows)


if __name__ == "__main__":
    main()
