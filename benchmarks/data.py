"""The work: recorded runs, interleaved, as journal records."""

import gzip
import os
import random
from collections.abc import Iterator
from itertools import count as count_up
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from stream_graders.adapters import chat_transcript
from stream_graders.events import Event, Expected, RunStart, from_json, to_json

ROOT = Path(__file__).resolve().parent.parent
REAL_DATA = (ROOT / os.environ.get("SG_REAL_DATA", "../shared/data")).resolve()
OPENED = 500
"""Runs open at a time."""
T = TypeVar("T")


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


def recorded() -> Iterator[tuple[str, str, str, bool, list[Event]]]:
    """The recorded runs with what is known of them: set, agent, task, is the reward below 1, events.

    The task's reference calls, those of the agent, come with each run's start as ``expected_tools``.
    """
    files = sorted(REAL_DATA.glob("tau_bench/*.jsonl.gz")) + sorted(REAL_DATA.glob("tau2_bench/*.jsonl.gz"))
    if not files:
        raise SystemExit("benchmarks: the recorded runs are not here; name their folder in SG_REAL_DATA")
    for file in files:
        agent = file.name.removesuffix(".jsonl.gz")
        domain = "airline" if file.parent.name == "tau_bench" else agent.partition("_")[0]
        group = f"{'tau' if file.parent.name == 'tau_bench' else 'tau2'}-{domain}"
        tasks = {} if file.parent.name == "tau_bench" or "toolorchestra" in agent else _tasks(domain)
        with gzip.open(file) as lines:
            for number, line in enumerate(lines):
                record = from_json(line)
                info = record.get("reward_info") or {}
                calls, task = _reference(record, info, tasks)
                events = chat_transcript.events(record, agent, number)
                start = events[0]
                assert isinstance(start, RunStart)
                events[0] = msgspec.structs.replace(start, expected=Expected(expected_tools=calls))
                reward = record["reward"] if "reward" in record else info["reward"]
                yield group, agent, f"{domain}-{task}", reward < 1, events


def _tasks(domain: str) -> dict[str, Any]:
    value = from_json(gzip.decompress((REAL_DATA / "tau2_bench" / f"tasks_{domain}.json.gz").read_bytes()))
    return {str(task["id"]): task for task in (value["tasks"] if isinstance(value, dict) else value)}


def _reference(record: Any, info: Any, tasks: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """A run's reference calls and its task."""
    if "traj" in record:
        actions = record["info"]["task"]["actions"]
        return [{"tool": a["name"], "args": a["kwargs"]} for a in actions], str(record["task_id"])
    actions = [check["action"] for check in info.get("action_checks") or ()]
    # Some files number their tasks anew: the number in front of an action's id is the task's own.
    own = next((str(a["action_id"]).rpartition("_")[0] for a in actions if a.get("action_id")), None)
    task = tasks.get(str(record["task_id"]))
    if not actions and task is not None:
        actions = task["evaluation_criteria"].get("actions") or []
    mine = [a for a in actions if a.get("requestor") in (None, "assistant")]
    return [{"tool": a["name"], "args": a["arguments"]} for a in mine], own or str(record["task_id"])


def records(count: int, seed: int = 7) -> list[tuple[bytes, bytes]]:
    """Key and value of at least ``count`` journal records: whole runs, repeated under other ids, 500 open at a time."""
    return list(interleaved(_repeated(), random.Random(seed), count=count))


def broken_off(count: int, opened: int = OPENED, seed: int = 7) -> list[tuple[bytes, bytes]]:
    """The first ``count`` of such records with so many runs open at a time, and at the end."""
    return list(islice(interleaved(_repeated(), random.Random(seed), opened), count))


def interleaved(
    waiting: Iterator[Iterator[T]], draw: random.Random, opened: int = OPENED, count: int | None = None
) -> Iterator[T]:
    """What runs hold, an item of a random one at a time; begins none once it has given ``count`` items."""
    live: list[Iterator[T]] = []
    told = 0
    more = True
    while live or more:
        while more and len(live) < opened:
            run = next(waiting, None) if count is None or told < count else None
            if run is None:
                more = False
            else:
                live.append(run)
        if not live:
            return
        n = draw.randrange(len(live))
        item = next(live[n], None)
        if item is not None:
            told += 1
            yield item
        else:
            live[n] = live[-1]
            live.pop()


def _repeated() -> Iterator[Iterator[tuple[bytes, bytes]]]:
    recorded = [[(event.run_id, to_json(event)) for event in run] for run in runs()]
    for turn in count_up():
        for run in recorded:
            yield _renamed(run, turn)


def _renamed(run: list[tuple[str, bytes]], turn: int) -> Iterator[tuple[bytes, bytes]]:
    name = run[0][0]
    old, new = f'"{name}'.encode(), f'"{turn}-{name}'.encode()
    for _, value in run:
        yield new[1:], value.replace(old, new)
