"""What processes cost, read from /proc: CPU seconds, memory, and what the rest of the machine did meanwhile."""

import atexit
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

PROC = Path("/proc")
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
STOPS_WITHIN = 15.0


def cpu_of(pid: int) -> float:
    """CPU seconds that a process has used so far; 0 of one that is gone."""
    fields = _fields(pid)
    return 0.0 if fields is None else _cpu(fields)


def peak_of(pid: int) -> float:
    """The most megabytes that a process has ever held in memory."""
    lines = (PROC / str(pid) / "status").read_text().splitlines()
    return next(int(line.split()[1]) * 1_024 / 1e6 for line in lines if line.startswith("VmHWM"))


def busy() -> float:
    """CPU seconds that all processes of the machine have used so far."""
    spent = [int(field) for field in (PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(spent) - spent[3] - spent[4]) / TICK  # Without idle, and waiting for a disk.


class Started:
    """A program with all its processes: they share a session, so each is found, and ended, by its id."""

    def __init__(self, command: Sequence[Any], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._cpu: dict[int, float] = {}
        self.peak = 0.0
        """The most megabytes in memory, all processes together, at any sample."""
        self.at = time.time()
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                list(map(str, command)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self._log = log
        atexit.register(self.kill)

    @property
    def pid(self) -> int:
        """The first process's id, and the session's."""
        return self.process.pid

    def sample(self) -> float:
        """CPU seconds of all its processes so far; notes their memory."""
        memory = 0
        for pid, fields in self._processes().items():
            self._cpu[pid] = _cpu(fields)
            memory += int(fields[21]) * PAGE
        self.peak = max(self.peak, memory / 1e6)
        return sum(self._cpu.values())

    def memory(self) -> float:
        """Megabytes in memory now."""
        return sum(int(fields[21]) * PAGE for fields in self._processes().values()) / 1e6

    def check(self) -> None:
        """See that it runs.

        Raises:
            SystemExit: it has ended, and should not have.
        """
        if self.process.poll() is not None:
            tail = self._log.read_text(errors="replace")[-3_000:]
            raise SystemExit(f"benchmarks: {self.process.args!r} ended with {self.process.returncode}:\n{tail}")

    def kill(self) -> None:
        """kill -9 of each of its processes, and see them gone."""
        while left := self._processes():
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)
        self.process.wait()
        atexit.unregister(self.kill)

    def stop(self) -> None:
        """Ask it to end, and end it if it does not."""
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(STOPS_WITHIN)
        self.kill()

    def _processes(self) -> dict[int, list[str]]:
        found = {}
        for entry in PROC.iterdir():
            if entry.name.isdigit():
                fields = _fields(int(entry.name))
                if fields is not None and int(fields[3]) == self.pid and fields[0] != "Z":
                    found[int(entry.name)] = fields
        return found


class Foreign:
    """How many cores everybody else kept busy: the machine's CPU seconds without those of a benchmark's own processes."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._busy, self._own, self._at = busy(), self._ours(), time.monotonic()

    def cores(self, *, but: float = 0.0) -> float:
        """Busy cores since the start; ``but`` are the CPU seconds of processes that began since."""
        passed = time.monotonic() - self._at
        others = busy() - self._busy - (self._ours() - self._own) - but
        return max(0.0, others / passed)

    def _ours(self) -> float:
        return time.process_time() + sum(map(cpu_of, self._pids))


def _fields(pid: int) -> list[str] | None:
    """A process's line in /proc from its state on: the name before it may hold blanks."""
    try:
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def _cpu(fields: Sequence[str]) -> float:
    return (int(fields[11]) + int(fields[12])) / TICK
