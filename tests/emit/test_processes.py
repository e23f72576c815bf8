"""The emitter and its process: forks, exits, and what an import costs. Each in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def ran(script: str, *args: str | Path) -> None:
    command = [sys.executable, "-W", "error::ResourceWarning", "-c", script, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_forked_child_is_a_producer_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    ran(
        """
import os, sys, warnings
from pathlib import Path
from stream_graders.emit import Emitter
from stream_graders.emit.sinks import FileSink

warnings.simplefilter("ignore", DeprecationWarning)
emitter = Emitter(FileSink(Path(sys.argv[1])))
run = emitter.run("shared")
assert emitter.flush()
run.user("enqueued before the fork, and the parent's to send")
child = os.fork()
run.user("child" if child == 0 else "parent")
emitter.close()
if child == 0:
    assert emitter.stats().enqueued == 1
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert emitter.stats().sent == 3
""",
        path,
    )
    events = lines(path)
    parent = [event for event in events if event["producer"] == events[0]["producer"]]
    [child] = [event for event in events if event not in parent]
    assert [event["seq"] for event in parent] == [0, 1, 2]
    assert (child["seq"], child["content"]) == (0, "child")
    assert parent[2]["content"] == "parent"
    assert len({event["id"] for event in events}) == 4


def test_a_process_that_just_ends_has_sent_everything(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    ran(
        """
import sys
from pathlib import Path
from stream_graders.emit import Emitter
from stream_graders.emit.sinks import FileSink

with Emitter(FileSink(Path(sys.argv[1]))).run() as run:
    run.user("hello")
""",
        path,
    )
    assert [event["type"] for event in lines(path)] == ["run.start", "message", "run.end"]


def test_the_agent_does_not_pay_for_the_client_library() -> None:
    ran(
        """
import sys
from stream_graders.emit import Emitter

heavy = {"aiokafka", "faust", "pydantic", "yaml", "rich"} & set(sys.modules)
assert not heavy, heavy
"""
    )


def test_a_file_that_cannot_be_written_is_a_fault_that_passes(tmp_path: Path) -> None:
    path = tmp_path / "not yet" / "events.jsonl"
    ran(
        """
import logging, sys
from pathlib import Path
from stream_graders.emit import Emitter
from stream_graders.emit.sinks import FileSink

logging.disable()
path = Path(sys.argv[1])
emitter = Emitter(FileSink(path))
emitter.run()
assert not emitter.flush(timeout=0.2)
path.parent.mkdir()
assert emitter.flush(timeout=30)
""",
        path,
    )
    assert [event["type"] for event in lines(path)] == ["run.start"]
