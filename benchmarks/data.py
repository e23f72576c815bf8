"""The work: recorded runs, interleaved, as journal records."""

import gzip
import os
import random
from collections.abc import Iterator
from pathlib import Path

from stream_graders.adapters import chat_transcript
from stream_graders.events import Event, from_json, to_json

ROOT = Path(__file__).resolve().parent.parent
REAL_DATA = (ROOT / os.environ.get("SG_REAL_DATA", "../shared/data")).resolve()
OPENED = 500


def runs() -> list[list[Event]]:
    """The 656 recorded runs.

    Raises:
        SystemExit: the recorded runs are not on this machine.
    """
    files = sorted(REAL_DATA.glob("tau_bench/*.jsonl.gz")) + sorted(REAL_DATA.glob("tau2_bench/*.jsonl.gz"))
    if not files:
        raise SystemExit("benchmarks: the recorded runs are not here; name their folder in SG_REAL_DATA")
    return [run for path in files for run in _runs_of(path)]


def _runs_of(path: Path) -> Iterator[list[Event]]:
    with gzip.open(path, "rb") as lines:
        for number, line in enumerate(lines):
            yield chat_transcript.events(from_json(line), path.name.split(".")[0], number)


def records(count: int, seed: int = 7) -> list[tuple[bytes, bytes]]:
    """Key and value of at least ``count`` journal records: whole runs, repeated under other ids, 500 open at a time."""
    draw = random.Random(seed)
    recorded = [[(event.run_id, to_json(event)) for event in run] for run in runs()]
    waiting = _repeated(recorded)
    live: list[Iterator[tuple[bytes, bytes]]] = []
    told: list[tuple[bytes, bytes]] = []
    while live or len(told) < count:
        while len(live) < OPENED and len(told) < count:
            live.append(next(waiting))
        n = draw.randrange(len(live))
        record = next(live[n], None)
        if record is not None:
            told.append(record)
        else:
            live[n] = live[-1]
            live.pop()
    return told


def _repeated(recorded: list[list[tuple[str, bytes]]]) -> Iterator[Iterator[tuple[bytes, bytes]]]:
    turn = 0
    while True:
        for run in recorded:
            name = run[0][0]
            old, new = f'"{name}'.encode(), f'"{turn}-{name}'.encode()
            yield iter([(new[1:], value.replace(old, new)) for _, value in run])
        turn += 1
