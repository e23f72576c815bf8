"""What runs beside the agents: the worker under a supervisor, a judge worker if there is a judge, and the reader of verdicts."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.error import URLError
from urllib.request import urlopen

from aiokafka import AIOKafkaConsumer

from .board import Board

VERDICTS, RUN_VERDICTS = "agent.verdicts.v1", "agent.run_verdicts.v1"
START_AGAIN = 3
"""The exit code of a worker that is to be started again."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 10.0
"""Seconds before a worker is started again; each time twice as long."""
STOPS_WITHIN = 20.0

_SAMPLE = re.compile(
    r'^stream_graders_(events_total|events_held|ledger_difference_events)(?:{fate="(\w+)"})? (\S+)$', re.M
)


class WorkerError(RuntimeError):
    """The worker, or the judge worker, ended for a reason that another start would not mend; the message holds its last line."""


class Supervisor:
    """Keeps a process running, as a container's or a system's supervisor would.

    One that ends with `START_AGAIN`, or was killed, is started again after a pause; any other end is final.
    """

    def __init__(
        self,
        command: Sequence[str],
        output: Path,
        *,
        name: str = "the worker",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """``name`` is what an error calls it; to our own environment is added ``environment``."""
        self._command = list(command)
        self._output = output
        self._name = name
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._pause = FIRST_PAUSE
        self._again_at: float | None = None
        self.restarts = 0

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """The running process; None while it is away."""
        return None if self._process is None or self._process.poll() is not None else self._process.pid

    def watch(self) -> None:
        """Look after the process; to be called every now and then.

        Raises:
            WorkerError: it ended, and is not to be started again.
        """
        if self._process is None or self._process.poll() is None:
            return
        code = self._process.returncode
        if code != START_AGAIN and code >= 0:
            raise WorkerError(f"{self._name} ended with exit code {code}: {self._last_line()}")
        if self._again_at is None:
            self._again_at = time.monotonic() + self._pause
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        elif time.monotonic() >= self._again_at:
            self.restarts += 1
            self._start()

    def stop(self) -> None:
        """Ask the process to end, and see it gone."""
        if self._process is None:
            return
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(STOPS_WITHIN)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _start(self) -> None:
        self._again_at = None
        with self._output.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603  (our own command)
                self._command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the demo, which then stops it in its turn.
            )

    def _last_line(self) -> str:
        lines = self._output.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


class WorkerProcess(Supervisor):
    """The worker of the demo."""

    def __init__(
        self, bootstrap: str, suites: Sequence[Path], output: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._address = f"http://127.0.0.1:{_free_port()}"
        port = self._address.rpartition(":")[2]
        super().__init__(
            [
                sys.executable, "-m", "stream_graders.cli.main", "worker", "--bootstrap", bootstrap,
                *(part for suite in suites for part in ("--suite", str(suite))), "--slot", "demo", "--metrics-port", port,
            ],
            output,
            environment=environment,
        )  # fmt: skip

    def is_ready(self) -> bool:
        """Does it grade by now?"""
        return bool(self._page("readyz"))

    def ledger(self) -> Mapping[str, int]:
        """What became of the events since its last start, by their fate; empty while it is away."""
        return {fate or name: int(float(value)) for name, fate, value in _SAMPLE.findall(self._page("metrics"))}

    def _page(self, name: str) -> str:
        with suppress(URLError, OSError), urlopen(f"{self._address}/{name}", timeout=1) as page:  # noqa: S310  (http, ours)
            return str(page.read().decode())
        return ""


@dataclass(frozen=True)
class Model:
    """A model to judge with: what runs it while the demo does, and where it then answers."""

    runs: AbstractContextManager[object]
    url: str
    name: str


class JudgeProcess(Supervisor):
    """The judge worker of the demo."""

    def __init__(self, bootstrap: str, model: Model, environment: Mapping[str, str], folder: Path) -> None:
        settings = {
            "base_url": model.url,
            "model": model.name,
            "at_once": 1,
            "timeout": "50s",
            "max_output_tokens": 150,
        }
        file = folder / "judges.yaml"
        file.write_text(
            json.dumps({"models": {"default": settings}, "folder": str(folder / "judge")}), encoding="utf-8"
        )
        words = ["judge", "--bootstrap", bootstrap, "--judges", str(file), "--metrics-port", "0"]
        command: Sequence[str] = [sys.executable, "-m", "stream_graders.cli.main", *words]
        super().__init__(command, folder / "judge.log", name="the judge worker", environment=environment)


class Reader:
    """Puts the worker's verdicts on a board as they come, in a thread of its own."""

    def __init__(self, bootstrap: str, board: Board) -> None:
        self._bootstrap = bootstrap
        self._board = board
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._read()), name="verdicts", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stopped.set()
        self._thread.join()

    async def _read(self) -> None:
        consumer = AIOKafkaConsumer(
            VERDICTS,
            RUN_VERDICTS,
            bootstrap_servers=self._bootstrap,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        async with consumer:
            while not self._stopped.is_set():
                for place, records in (await consumer.getmany(timeout_ms=100)).items():
                    for record in records:
                        if record.value is not None:
                            self._board.hear(record.value, of_run=place.topic == RUN_VERDICTS)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
