"""`grade` on 1,000 finished runs beside evaluation libraries that do the same work, whole processes, one after another.

    python -m benchmarks.offline               make what is missing (pip installs the libraries under .cache/), measure
    python -m benchmarks.offline --rounds 5    medians of more rounds

The work is two checks on the recorded runs: were all tools called that the task's reference names, and did the agent
say "confirm". Each process starts, reads its file, checks each run and writes a line of JSON a run and check; `grade`
writes JUnit besides. A library gets its own form of the runs, made before. `grade` is measured on two larger suites too.
The counts of passes stand beside the times: whoever counts otherwise does other work.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from stream_graders.events import Event, Message, RunStart, ToolCall, ToolResult, text_of, to_json
from stream_graders.grading import Seen
from stream_graders.matching.arguments import arguments_of

from . import data

CACHE = data.ROOT / ".cache" / "offline"
RUNS = 1_000
PROGRAM = Path(__file__).with_name("offline_peers.py")
PEERS = {"agentevals": "0.0.9", "openevals": "0.2.2", "pydantic-evals": "2.62.0", "deepeval": "4.3.1"}
SUITES = {
    "the same two checks": Path(__file__).with_name("two.yaml"),
    "12 checks": data.ROOT / "tests" / "integration" / "tau.yaml",
    "the starter suite": data.ROOT / "suites" / "starter.yaml",
}


@dataclass
class Took:
    """What one process took, and how many runs passed each check."""

    cpu: float
    wall: float
    megabytes: float
    passed: dict[str, int]


def thousand() -> Iterator[list[Event]]:
    """The recorded runs with their references, the first of them again under other ids until there are enough."""
    recorded = [events for _, _, _, _, events in data.recorded()]
    for n in range(RUNS):
        turn, place = divmod(n, len(recorded))
        for_turn = [msgspec.structs.replace(e, run_id=f"{e.run_id}-{turn}") for e in recorded[place]]
        yield for_turn if turn else recorded[place]


def write_work() -> None:
    """The runs as events for us, and as chat messages with reference calls for the libraries."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "events.jsonl").open("wb") as ours, (CACHE / "messages.jsonl").open("wb") as theirs:
        for events in thousand():
            for event in events:
                ours.write(to_json(event) + b"\n")
            theirs.write(to_json(_as_messages(events)) + b"\n")


def _as_messages(events: list[Event]) -> dict[str, Any]:
    start = events[0]
    assert isinstance(start, RunStart)
    messages: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event, Message):
            messages.append({"role": event.role, "content": text_of(event.content)})
        elif isinstance(event, ToolCall):
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": ""})
            function = {"name": event.name, "arguments": json.dumps(arguments_of(event).values or {})}
            calls = messages[-1].setdefault("tool_calls", [])
            calls.append({"id": event.call_id or event.id, "type": "function", "function": function})
        elif isinstance(event, ToolResult):
            text = Seen(event, 0, 0).text
            messages.append({"role": "tool", "tool_call_id": event.call_id or event.id, "content": text})
    expected = [] if start.expected is None else list(start.expected.expected_tools or ())
    return {"run": events[0].run_id, "messages": messages, "expected": expected}


def python_of(peer: str) -> Path:
    """The interpreter of a library's own environment, which is made at the first call."""
    place = data.ROOT / ".cache" / "peers" / f"{peer}-{PEERS[peer]}"
    python = place / "bin" / "python"
    if not (place / ".done").exists():
        print(f"installing {peer} {PEERS[peer]} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        install: list[Any] = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"{peer}=={PEERS[peer]}",
        ]
        subprocess.run(install, check=True)
        (place / ".done").touch()
    return python


def took(command: list[Any]) -> Took:
    """Run a command to its end, in an empty folder, so that no settings of ours reach it."""
    with tempfile.TemporaryDirectory() as folder, (Path(folder) / "out").open("w+b") as out:
        env = {**os.environ, "DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "LANGSMITH_TRACING": "false"}
        began = perf_counter()
        process = subprocess.Popen(list(map(str, command)), cwd=folder, env=env, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        wall = perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 1):  # A gate that is not met is 1.
            raise SystemExit(f"benchmarks: {command[0]} ended with {process.returncode}; run it by hand to see why")
        out.seek(0)
        passed: Counter[str] = Counter()
        for line in map(json.loads, out):
            if "check" in line:
                passed[line["check"]] += line["passed"] if "passed" in line else line["outcome"] == "pass"
    return Took(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1_024, dict(passed))


def main() -> int:
    parser = argparse.ArgumentParser(description="`grade` on 1,000 finished runs, beside evaluation libraries.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write every measurement to this file")
    options = parser.parse_args()
    write_work()
    grade = [Path(sys.executable).with_name("stream-graders"), "grade", CACHE / "events.jsonl"]
    report = ["--json", "--junit", CACHE / "junit.xml"]
    commands = {f"grade, {name}": [*grade, "--suite", suite, *report] for name, suite in SUITES.items()}
    for peer in PEERS:
        commands[peer] = [python_of(peer), PROGRAM, peer, CACHE / "messages.jsonl"]
    measured: dict[str, list[Took]] = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            measured[name].append(took(command))
    first = statistics.median(one.cpu for one in next(iter(measured.values())))
    print(f"{'':<32} {'CPU s':>7} {'ratio':>6} {'wall s':>7} {'MB':>5}")
    for name, rows in measured.items():
        cpu, wall, size = (statistics.median(getattr(row, of) for row in rows) for of in ("cpu", "wall", "megabytes"))
        print(f"{name:<32} {cpu:>7.2f} {cpu / first:>6.2f} {wall:>7.2f} {size:>5.0f}  {_told(rows[-1])}")
    if options.json:
        raw = {name: [vars(row) for row in rows] for name, rows in measured.items()}
        options.json.write_text(json.dumps({"load": os.getloadavg(), "rounds": raw}, indent=1) + "\n")
    return 0


def _told(took: Took) -> str:
    return ", ".join(f"{check} {took.passed[check]}" for check in ("all-tools", "confirms") if check in took.passed)


if __name__ == "__main__":
    sys.exit(main())
