"""The engines: how each is started, and how its verdicts are read."""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_graders.events import from_json

from ..account import Answer, Key
from ..data import ROOT
from ..lab import CACHE, VERDICTS, Place, is_ready, python_of
from ..machine import Started

HERE = Path(__file__).resolve().parent
SUITE = HERE / "suite.yaml"
STREAMS = HERE / "streams"


@dataclass(frozen=True)
class Engine:
    """Something that reads the topic of events and writes verdicts."""

    name: str
    command: Callable[[Place], list[Any]]
    is_ours: bool = False
    durable: bool = True
    """Does its state survive its process?"""
    small: bool = False
    """Is it measured on a fifth of the work, because it is slow?"""

    def prepare(self) -> None:
        """Install it, so that no measurement holds that."""
        self.command(Place("", "", Path()))

    def start(self, at: Place) -> Started:
        """Start it, or start it again."""
        told = {
            "BENCH_BOOTSTRAP": at.bootstrap,
            "BENCH_JOURNAL": at.journal,
            "BENCH_VERDICTS": at.names[VERDICTS],
            "BENCH_GROUP": at.app,
            "BENCH_PLACE": str(at.folder),
            "PYTHONPATH": str(ROOT),
        }
        return Started(self.command(at), at.folder / "output.log", {} if self.is_ours else told)

    def has_begun(self, at: Place) -> bool:
        """Has it begun to read? A program of others leaves a file at its first event; a worker of ours says that it is ready."""
        return is_ready(at.port) if self.is_ours else _first(at) is not None

    def began(self, at: Place, unready: float) -> float:
        """When it began. Of ours: when it was last seen not to be ready, which is before any event was read."""
        return unready if self.is_ours else _first(at) or unready

    def read(self, value: bytes) -> tuple[Key, Answer]:
        """A verdict's key and answer."""
        said = from_json(value)
        if self.is_ours:
            return (said["run_id"], said["check"], said["state"]), (said["outcome"], said["decided_by"].get("seq"))
        return (said["run_id"], said["check"], "final"), (said["outcome"], said["seq"])


def _first(at: Place) -> float | None:
    try:
        text = (at.folder / "first").read_text()
    except FileNotFoundError:
        return None
    return float(text) if text.endswith("\n") else None


def _program(environment: str | None, module: str, *words: str) -> Callable[[Place], list[Any]]:
    def command(at: Place) -> list[Any]:
        python = sys.executable if environment is None else python_of(environment)
        return [python, "-m", f"benchmarks.peers.programs.{module}", *words]

    return command


def _streams(at: Place) -> list[Any]:
    return ["java", "-Xmx1g", "-cp", _classes(), "Streams"]


def _classes() -> str:
    """The class path of the program on Kafka Streams: its jars from Maven, itself compiled, both once."""
    sources = sorted(STREAMS.iterdir())
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
    made = CACHE / f"streams-{digest}"
    if not made.exists():
        print(f"fetching and compiling Kafka Streams under {made.relative_to(ROOT)} ...", file=sys.stderr)
        partial = CACHE / "streams-partial"
        shutil.rmtree(partial, ignore_errors=True)
        goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial / 'jars'}"]
        subprocess.run(["mvn", "-q", "-B", "-f", STREAMS / "pom.xml", *goal], check=True)
        java = [source for source in sources if source.suffix == ".java"]
        subprocess.run(["javac", "-cp", partial / "jars" / "*", "-d", partial / "classes", *java], check=True)
        partial.rename(made)
    return f"{made / 'jars'}/*{os.pathsep}{made / 'classes'}"


def _ours(at: Place) -> list[Any]:
    return at.worker(SUITE)


OURS = Engine("stream-graders worker", _ours, is_ours=True)
BYTEWAX = Engine("Bytewax, recovery store", _program("bytewax", "on_bytewax", "--recover"))
QUIX = Engine("Quix Streams, at least once", _program("quix", "on_quix"))
KAFKA_STREAMS = Engine("Kafka Streams, exactly once", _streams)
AIOKAFKA = Engine("bare aiokafka loop", _program(None, "bare_aiokafka"), durable=False)
ENGINES = (
    OURS,
    BYTEWAX,
    Engine("Bytewax, no recovery", _program("bytewax", "on_bytewax"), durable=False),
    QUIX,
    KAFKA_STREAMS,
    Engine(
        "stock faust-streaming, a fifth",
        _program(None, "on_faust", "worker", "-l", "warn", "--without-web"),
        small=True,
    ),
    AIOKAFKA,
    Engine("bare confluent-kafka loop", _program("confluent", "bare_confluent"), durable=False),
)
LIVE = (OURS, BYTEWAX, QUIX, KAFKA_STREAMS, AIOKAFKA)
"""Those that are fed live, and killed."""
