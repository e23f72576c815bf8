"""Workers of ours at work, as their user starts them, seen from outside: when they are ready, and when they have read all.

The last records of a journal are those of closing runs, one a partition: whoever sees their run verdicts knows that all that
stands before them was graded and published.
"""

import re
import time
import urllib.request
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Self

from stream_graders.events import from_json, to_json
from stream_graders.stream.topics import partition_of
from stream_graders.testing import run
from tests.kafka.broker import free_ports

from .lab import PARTITIONS, RUN_VERDICTS, Place, Records, is_ready, until
from .machine import Started
from .watch import Watch

SAMPLED = 0.2
"""Seconds between two looks at the processes."""
READ_WITHIN = 1_200.0
"""Seconds in which a journal has to be read."""
STEADY = 1.0
"""Seconds for which several workers have to be ready together: until then one more may join, and move partitions."""


def closing(word: str = "closing") -> list[tuple[bytes, bytes]]:
    """Key and value of the records of closing runs, one run a partition; another word gives other runs."""
    missing, told = set(range(PARTITIONS)), []
    for n in count():
        name = f"{word}-{n}"
        place = partition_of(name.encode(), PARTITIONS)
        if place in missing:
            missing.remove(place)
            told += [(name.encode(), to_json(event)) for event in run(name).starts().says("goodbye").ends()]
        if not missing:
            return told
    raise AssertionError("count() does not end")


def closed(records: Records) -> list[tuple[bytes, bytes]]:
    """Records, and those of closing runs behind them."""
    return [*records, *closing()]


class Working:
    """Workers of one group, until the end of the block."""

    def __init__(self, at: Place, suite: Path | None, workers: int = 1) -> None:
        self.at, self._suite = at, suite
        self.ports = free_ports(workers)
        self.programs: list[Started] = []
        self._watch = Watch(at.bootstrap, [at.names[RUN_VERDICTS]])
        self._closed: dict[str, float] = {}

    def __enter__(self) -> Self:
        self._watch.__enter__()
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        self._watch.__exit__(kind, error, at)

    def start(self) -> float:
        """Start them, or start them again; when."""
        self.programs = [
            Started(self.at.worker(self._suite, f"slot-{n}", port), self.at.folder / f"worker-{n}.log")
            for n, port in enumerate(self.ports)
        ]
        return self.programs[0].at

    def kill(self) -> None:
        """kill -9 of each."""
        for program in self.programs:
            program.kill()

    def until_ready(self) -> float:
        """Wait until all are; when they were last seen not to be."""
        first = self.programs[0]
        if len(self.programs) == 1:
            return until(lambda: is_ready(self.ports[0]), "readiness of the worker", first)
        while True:
            before = until(lambda: all(map(is_ready, self.ports)), "readiness of all workers", first)
            ends = time.time() + STEADY
            while time.time() < ends and all(map(is_ready, self.ports)):
                time.sleep(0.05)
            if time.time() >= ends:
                return before

    def until_closed(self, word: str = "closing", runs: int = PARTITIONS) -> float:
        """Wait until the run verdicts of so many closing runs with this word are visible; when the last of them was."""
        looked = 0.0

        def seen() -> bool:
            nonlocal looked
            for arrived, name in self._runs():
                if name.startswith(word):
                    self._closed.setdefault(name, arrived)
            if time.time() - looked > SAMPLED:
                looked = time.time()
                for program in self.programs:
                    program.check()
                    program.sample()
            return sum(name.startswith(word) for name in self._closed) >= runs

        until(seen, "the run verdicts of the closing runs", self.programs[0], READ_WITHIN)
        return max(at for name, at in self._closed.items() if name.startswith(word))

    def sample(self) -> float:
        """CPU seconds of all of them so far."""
        return sum(program.sample() for program in self.programs)

    def _runs(self) -> Iterator[tuple[float, str]]:
        for arrived, value in self._watch.new():
            yield arrived, from_json(value)["run_id"]


def metric(port: int, name: str) -> float:
    """The sum of a metric's series on a worker's page."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as page:
        rows = page.read().decode().splitlines()
    return sum(float(row.rsplit(" ", 1)[1]) for row in rows if re.match(rf"stream_graders_{name}[ {{]", row))
