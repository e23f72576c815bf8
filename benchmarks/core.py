"""The core alone: decode, grade and snapshot, without Kafka. CPU time of one process."""

import gc
import json
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from stream_graders.config import load_fleet
from stream_graders.events import to_json
from stream_graders.session import At, Ledger, Session
from stream_graders.stream.desk import Counts, Desk
from stream_graders.testing import run

from . import data

BATCH = 8_000


@dataclass
class Record:
    key: bytes | None
    value: bytes | None
    offset: int
    timestamp: int


def per_event(suite: Path, count: int) -> float:
    """Microseconds of CPU an event, in batches as a worker cuts them."""
    fleet = load_fleet([suite])
    records = [Record(key, value, n, 1_000 + n) for n, (key, value) in enumerate(data.records(count))]
    kept: dict[bytes, bytes] = {}
    desk = Desk(fleet, ("journal", 0, 1), kept, Counts())
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # As a worker does.
    began = time.process_time()
    for start in range(0, len(records), BATCH):
        desk.grade(records[start : start + BATCH])
        desk.advance()
        kept.update({key: state for key, state in desk.take(0).states.items() if state is not None})
        desk.counts.published.clear()
        desk.counts.ledger.opened.clear()
    return (time.process_time() - began) / len(records) * 1e6


def growth(suite: Path) -> float:
    """How much dearer a run's 200th message is than its second: the ratio of medians over many runs."""
    fleet = load_fleet([suite])
    second, late = [], []
    for n in range(200):
        story = run(f"run-{n}").starts()
        for k in range(110):
            story.asks(f"and then {k}?").says(f"then came {k}, please confirm")
        session = Session(fleet, f"run-{n}", Ledger())
        for k, event in enumerate(story):
            began = time.perf_counter_ns()
            session.feed(event, At(1_000 + k, k, len(to_json(event)) if k == 0 else 300))
            took = time.perf_counter_ns() - began
            if 2 <= k <= 5:
                second.append(took)
            elif 200 <= k <= 203:
                late.append(took)
    return statistics.median(late) / statistics.median(second)


if __name__ == "__main__":
    path = Path(sys.argv[1])
    print(json.dumps({"us_per_event": per_event(path, int(sys.argv[2])), "growth": growth(path)}))
