"""Deterministic verdicts beside a judge that is absent, down, slow, or well: how late they come, and whether they are the same bytes.

    python -m benchmarks.judges                         1,000 events/s, 15 s after 5 s each, three rounds
    python -m benchmarks.judges --rounds 1 --seconds 5     to see that it works

The recorded runs, twelve checks, one worker; a second suite asks a judge about every run. Down answers each call with an error, slow
never answers. The variants take turns, so that a busy machine is busy for all.
"""

import argparse
import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any

from stream_graders.events import from_json
from tests.judges.server import Does, ScriptedServer, always, fails, scores

from . import data
from .account import spread
from .lab import HERE, VERDICTS, Lab, Place, circumstances, in_turn, save, table
from .latency import places, trigger
from .machine import Started
from .watch import Watch
from .working import Working, closed

SUITES = HERE / "judged"
KEY = "a key of this benchmark alone"


@contextmanager
def judging(at: Place, how: str) -> Iterator[None]:
    """A judge worker with an endpoint that is well, down or slow; none if it is to be absent."""
    if how == "absent":
        yield
        return
    does = {"well": scores(4), "down": fails(500), "slow": Does(waits=threading.Event())}[how]
    with ScriptedServer(always(does)) as server:
        model = {"base_url": server.url, "model": "m", "at_once": 16, "timeout": "5s"}
        file = at.folder / "judges.yaml"
        file.write_text(json.dumps({"models": {"default": model}, "folder": str(at.folder / "judges")}))
        topics = [word for name, physical in at.names.items() for word in ("--topic", f"{name}={physical}")]
        command = [
            sys.executable,
            "-m",
            "stream_graders.cli.main",
            "judge",
            "--bootstrap",
            at.bootstrap,
            "--app",
            at.app,
        ]
        program = Started([*command, "--judges", str(file), "--metrics-port", "0", *topics], at.folder / "judge.log")
        try:
            yield
            program.check()
        finally:
            program.kill()


def measure(lab: Lab, how: str, rate: float, seconds: float, warm: float) -> dict[str, Any]:
    """Feed a worker at a rate, and see when the verdicts come that no judge has a part in."""
    at = lab.place()
    records = closed(data.broken_off(int(rate * (seconds + warm))))
    written = lab.write(records)
    with (
        Watch(at.bootstrap, [at.names[VERDICTS]]) as watch,
        judging(at, how),
        Working(at, SUITES) as workers,
    ):
        workers.until_ready()
        foreign, cpu = lab.foreign(), workers.sample()
        feed = lab.feed(at, written, rate)
        told = feed.wait()
        sent = feed.times()
        workers.until_closed()
        cpu = workers.sample() - cpu
        others = foreign.cores(but=cpu + told["cpu"])
        where = places(records)
        late: list[float] = []
        said: dict[str, bytes] = {}
        for arrived, value in watch.new():
            verdict = from_json(value)
            if verdict["suite"] != "tau":
                continue
            said[verdict["id"]] = value
            event = trigger(value)
            n = None if event is None else where[event]
            if n is not None and sent[n] >= feed.began + warm:
                late.append(arrived - sent[n])
    lab.clear(at)
    digest = hashlib.sha256(b"\n".join(said[name] for name in sorted(said))).hexdigest()[:16]
    return {"how": how, "bytes": digest, "said": len(said), "cpu": cpu, "foreign_cores": others, **spread(late)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judges", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rate", type=float, default=1_000, help="events a second")
    parser.add_argument("--seconds", type=float, default=15.0, help="that count")
    parser.add_argument("--warm", type=float, default=5.0, help="seconds before them")
    parser.add_argument("--rounds", type=int, default=3, help="times each is measured, in turn")
    options = parser.parse_args()
    os.environ["SG_JUDGE_KEY"] = KEY
    started = circumstances()
    with Lab() as lab:
        jobs = {
            how: partial(measure, lab, how, options.rate, options.seconds, options.warm)
            for how in ("absent", "down", "slow", "well")
        }
        rows = in_turn(options.rounds, jobs)
    head = ("judge", "p50 ms", "p99 ms", "p99 of absent", "verdicts", "the same bytes", "others")
    table(head, _lines(rows))
    save("judges", started, options, rows)


def _lines(rows: dict[str, list[dict[str, Any]]]) -> Iterator[tuple[str, ...]]:
    absent = rows["absent"]
    for how, rounds in rows.items():
        ratios = [row["p99"] / of["p99"] for row, of in zip(rounds, absent, strict=True)]
        yield (
            how,
            *(f"{median(row[of] for row in rounds):.0f}" for of in ("p50", "p99")),
            f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})",
            f"{rounds[0]['said']:,}",
            "yes" if {row["bytes"] for row in rounds} == {absent[0]["bytes"]} else "NO",
            f"{median(row['foreign_cores'] for row in rounds):.2f}",
        )


if __name__ == "__main__":
    main()
