"""A worker that stops once it has graded so many events durably, and says how long that took."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from stream_graders.config import load_fleet
from stream_graders.settings import Settings
from stream_graders.stream import app, observer
from stream_graders.stream.worker import Worker
from stream_graders.suites import Fleet, Suite


class Timed(observer.Observer):
    """Takes the time from the first batch to the one that completes the count."""

    count = 0
    began = 0.0
    cpu = 0.0

    def observe(self) -> None:
        super().observe()
        if self._worker.counts.consumed >= self.count:
            wall, cpu = time.perf_counter() - Timed.began, time.process_time() - Timed.cpu
            print(json.dumps({"events": self._worker.counts.consumed, "wall": wall, "cpu": cpu}), flush=True)
            os._exit(0)


def main(bootstrap: str, group: str, journal: str, suite: str, count: int) -> None:
    grade = Worker._grade

    def timed(self: Worker, stream: Any, first: Any) -> Any:
        if not Timed.began:
            Timed.began, Timed.cpu = time.perf_counter(), time.process_time()
        return grade(self, stream, first)

    # Measured from outside, so that the product carries no clock for us.
    setattr(Worker, "_grade", timed)  # noqa: B010  (as the line above says)
    setattr(app, "Observer", Timed)  # noqa: B010
    Timed.count = count
    fleet = load_fleet([Path(suite)]) if suite else Fleet((Suite("none", ()),))
    app.run(Settings(bootstrap, group, "bench", {"agent.events.v1": journal}, metrics_port=0), fleet)


if __name__ == "__main__":
    bootstrap, group, journal, suite, count = sys.argv[1:]
    main(bootstrap, group, journal, suite, int(count))
