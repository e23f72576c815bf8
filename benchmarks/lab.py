"""What the benchmarks on Apache Kafka share: a broker, topics of a measurement's own, a feeder, a worker, a file of results."""

import asyncio
import atexit
import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from aiokafka.admin import AIOKafkaAdminClient

from stream_graders.stream.topics import Placement, apply, load_topics, place
from tests.kafka.broker import POM, KafkaBroker, free_ports, missing_tools

from .data import ROOT
from .machine import Foreign, Started, cpu_of

HERE = Path(__file__).resolve().parent
CACHE = ROOT / ".cache" / "benchmarks"
RESULTS = HERE / "results"
PARTITIONS = 4
JOURNAL, VERDICTS, RUN_VERDICTS = "agent.events.v1", "agent.verdicts.v1", "agent.run_verdicts.v1"
PATIENCE = 120.0
"""Seconds until a worker or an engine has to be ready."""
Records = Iterable[tuple[bytes, bytes]]
T = TypeVar("T")


@dataclass(frozen=True)
class Written:
    """Records as a file that the feeder reads: key, tab, value, a line each."""

    path: Path
    count: int
    size: float
    """Bytes of a value, on the average."""


@dataclass(frozen=True)
class Place:
    """What one measurement has for itself: topics, a group, a folder, a port."""

    bootstrap: str
    journal: str
    folder: Path
    app: str = field(default_factory=lambda: f"b{uuid.uuid4().hex[:8]}")
    port: int = field(default_factory=lambda: free_ports(1)[0])

    @property
    def names(self) -> dict[str, str]:
        """The physical names of the topics that a worker uses."""
        names = {topic.name: f"{self.app}.{topic.name}" for topic in load_topics() if "{app}" not in topic.name}
        return {**names, JOURNAL: self.journal}

    def worker(self, suite: Path | None, slot: str = "a", port: int | None = None) -> list[str]:
        """The command of a worker as its user starts it; without a suite, of one that has no check."""
        program = ["stream_graders.cli.main", "worker", "--suite", str(suite)]
        if suite is None:
            program = ["benchmarks.unchecked"]
        topics = [word for name, physical in self.names.items() for word in ("--topic", f"{name}={physical}")]
        where = ["--bootstrap", self.bootstrap, "--app", self.app, "--slot", slot]
        return [sys.executable, "-m", *program, *where, *topics, "--metrics-port", str(port or self.port)]


class Lab:
    """One Apache Kafka for all measurements of a command, gone with all that they made at its end."""

    def __enter__(self) -> Self:
        if missing := missing_tools():
            raise SystemExit(f"benchmarks: Apache Kafka needs {' and '.join(missing)} on the path")
        # Whoever ends a benchmark wants its processes gone too: an interrupt leaves by every `finally`.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        self._folder = tempfile.TemporaryDirectory(prefix="benchmarks-")
        self.folder = Path(self._folder.name)
        self.broker = KafkaBroker(self.folder / "kafka").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.broker.stop()
        self._folder.cleanup()

    def write(self, records: Records) -> Written:
        """Put records into a file for the feeder."""
        path, count, size = self.folder / f"{uuid.uuid4().hex}.records", 0, 0
        with path.open("wb") as out:
            for key, value in records:
                out.write(key + b"\t" + value + b"\n")
                count += 1
                size += len(value)
        return Written(path, count, size / max(1, count))

    def place(self, journal: str = "") -> Place:
        """A place of its own for a measurement, with our topics; the journal may be one that is there already."""
        app = f"b{uuid.uuid4().hex[:8]}"
        folder = self.folder / app
        folder.mkdir()
        made = Place(self.broker.bootstrap, journal or f"{app}.{JOURNAL}", folder, app)
        asyncio.run(_create(made))
        return made

    def filled(self, written: Written) -> str:
        """The name of a new journal that holds these records."""
        made = self.place()
        self.feed(made, written).wait()
        return made.journal

    def feed(self, at: Place, written: Written, rate: float = 0.0, count: int | None = None) -> "Feed":
        """A feeder that has begun: as fast as it can, or at a rate; each record once, or so many, again under other keys."""
        return Feed(at, written, rate, written.count if count is None else count)

    def clear(self, *places: Place) -> None:
        """Delete what a measurement left: disks are small."""
        asyncio.run(_delete(self.broker.bootstrap, [made.app for made in places]))

    def foreign(self, *pids: int) -> Foreign:
        """Watch what others do on the machine from now on, without the broker and these processes."""
        return Foreign(self.broker.pid, *pids)

    def broker_cpu(self) -> float:
        """CPU seconds that the broker has used so far."""
        return cpu_of(self.broker.pid)


class Feed:
    """The feeder at work; see feeder.py."""

    def __init__(self, at: Place, written: Written, rate: float, count: int) -> None:
        self._times = at.folder / "times"
        told = (at.bootstrap, at.journal, written.path, rate, count, self._times)
        self._process = subprocess.Popen(
            list(map(str, (python_of("confluent"), HERE / "feeder.py", *told))),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        self._output = self._process.stdout
        atexit.register(self.kill)
        if self._output.readline() != "ready\n":
            raise SystemExit("benchmarks: the feeder did not start; its output is above")
        self.began = time.time()
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        """Its process id, while it runs."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Does it still send?"""
        return self._process.poll() is None

    def wait(self) -> dict[str, Any]:
        """Wait until all is acknowledged: how many records were sent, in which time, at which rate, the latest how late."""
        said = self._output.readline()
        if self._process.wait() or not said:
            raise SystemExit("benchmarks: the feeder failed; its output is above")
        atexit.unregister(self.kill)
        told: dict[str, Any] = json.loads(said)
        return told

    def times(self) -> "array[float]":
        """When each record was sent; to be asked for after `wait`."""
        sent = array("d")
        sent.frombytes(self._times.read_bytes())
        return sent

    def kill(self) -> None:
        """End it, if it still sends."""
        self._process.kill()
        self._process.wait()
        atexit.unregister(self.kill)


def python_of(name: str) -> Path:
    """The interpreter of an environment of its own, made at the first call from requirements/<name>.txt."""
    pins = HERE / "requirements" / f"{name}.txt"
    made = CACHE / f"{name}-{hashlib.sha256(pins.read_bytes()).hexdigest()[:12]}"
    python = made / "bin" / "python"
    if not (made / ".done").exists():
        print(f"installing {name} under {made.relative_to(ROOT)} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", made], check=True)
        quiet = ("--quiet", "--disable-pip-version-check")
        subprocess.run([python, "-m", "pip", "install", *quiet, "-r", pins], check=True)
        (made / ".done").touch()
    return python


def is_ready(port: int) -> bool:
    """Does the worker that serves this port say that it is ready?"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as page:
            return bool(page.status == 200)
    except OSError:  # Not there yet, or 503.
        return False


def until(condition: Callable[[], bool], what: str, program: Started, patience: float = PATIENCE) -> float:
    """Wait for a condition, asking a hundred times a second; when it was last seen not to hold.

    Raises:
        SystemExit: the program ended, or it took too long.
    """
    before = began = time.time()
    while not condition():
        before = time.time()
        program.check()
        if before - began > patience:
            raise SystemExit(f"benchmarks: {what} did not happen within {patience:.0f} s")
        time.sleep(0.01)
    return before


def in_turn(rounds: int, jobs: Mapping[str, Callable[[], T]]) -> dict[str, list[T]]:
    """Do each job so many times, one after another in turn. One that fails is told of, and left out with what it had."""
    found: dict[str, list[T]] = {name: [] for name in jobs}
    for n in range(rounds):
        for name, job in jobs.items():
            if name not in found:
                continue
            try:
                found[name].append(job())
            except SystemExit as error:
                print(f"{name}: left out\n{error}", file=sys.stderr)
                del found[name]
            else:
                print(f"{name}: measured, {n + 1} of {rounds}", file=sys.stderr)
    return found


def circumstances() -> dict[str, Any]:
    """What else a reader of results has to know: when, of which code, on what, beside what."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "versions": _versions(),
    }


def save(name: str, started: dict[str, Any], options: object, rows: object) -> None:
    """Write raw results to results/<name>.json, with what was so at the start and at the end."""
    RESULTS.mkdir(exist_ok=True)
    told = {**started, "load_at_end": os.getloadavg(), "options": {k: str(v) for k, v in vars(options).items()}}
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({**told, "rows": rows}, indent=1) + "\n")
    print(f"raw figures: {path.relative_to(ROOT)}; load of the machine {os.getloadavg()[0]:.1f}")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows under a head, the first column to the left."""
    lines = [list(head), *map(list, rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(head))]
    print()
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
        ]
        print("  ".join(cells).rstrip())


def _versions() -> dict[str, str]:
    ours = {name: version(name) for name in ("aiokafka", "faust-streaming", "msgspec", "orjson")}
    broker = re.findall(r"<(kafka).version>(.+?)<", POM.read_text())
    others = [
        (f"{pins.stem}: {name}", pin)
        for pins in sorted((HERE / "requirements").glob("*.txt"))
        for name, pin in re.findall(r"^(bytewax|confluent-kafka|quixstreams)==(.+)$", pins.read_text(), re.MULTILINE)
    ]
    return {**ours, **dict(broker), **dict(others)}


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()


async def _create(made: Place) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=made.bootstrap)
    await admin.start()
    try:
        await apply(
            admin, place(load_topics(), Placement(app=made.app, names=made.names, partitions=PARTITIONS, replication=1))
        )
    finally:
        await admin.close()


async def _delete(bootstrap: str, apps: Sequence[str]) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        mine = [name for name in await admin.list_topics() if any(app in name for app in apps)]
        await admin.delete_topics(mine)
    finally:
        await admin.close()
