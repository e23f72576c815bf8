"""A broker in one small process, for the demo and for tests that must run without Java.

noida-db speaks Kafka's protocol with the log semantics that grading rests on: append times, exact end offsets,
compaction, idempotent producers. Two things it does not do. It never evicts a group member that died, which `Janitor`
makes up for while a rebalance waits for the dead one, and which a static member does not need: its successor takes its
place at once. And it saves the log about once a second, so that a kill takes the last acknowledged records with it.
"""

import asyncio
import atexit
import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self

from aiokafka.client import AIOKafkaClient
from aiokafka.errors import KafkaError
from aiokafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from aiokafka.protocol.group import LeaveGroupRequest

STARTS_WITHIN = 20.0
"""Seconds. A start takes 0.2 on an idle machine."""
STUCK_AFTER = 4.0
"""Seconds that a rebalance may take; healthy ones take less than one here."""
LOOK_EVERY = 0.5
"""Seconds between two looks of the janitor."""

_LISTENS = re.compile(rb"kafka\s+127\.0\.0\.1:(\d+)")
_HARMLESS = b"weak version `GLIBC_"
"""The loader's remark on older systems about a symbol that the program can do without."""
_API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 1, -1)
"""The request that every client begins with: its size, key, version, correlation id, and no client id."""


class BrokerError(RuntimeError):
    """The broker is not installed or did not start; the message says which, with the last of its output."""


class EmbeddedBroker:
    """One broker on a free port of 127.0.0.1.

    `start` after `stop` or `kill` goes on with the same port and, as far as it was saved, the same data. Without a
    ``directory`` the data lie in a temporary one, which goes when the ``with`` block ends.
    """

    def __init__(self, directory: Path | None = None) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        if directory is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="stream-graders-", ignore_cleanup_errors=True)
            directory = Path(self._temporary.name)
        self._directory = directory
        self._directory.mkdir(parents=True, exist_ok=True)
        self._output = self._directory / "output.log"
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._janitor: Janitor | None = None

    @property
    def bootstrap(self) -> str:
        """What clients take as bootstrap servers.

        Raises:
            BrokerError: it was never started, so that it has no port yet.
        """
        if not self._port:
            raise BrokerError("the broker was not started yet; call start() first")
        return f"127.0.0.1:{self._port}"

    @property
    def pid(self) -> int:
        """The running broker's process id.

        Raises:
            BrokerError: it is not running.
        """
        if self._process is None:
            raise BrokerError("the broker is not running; call start() first")
        return self._process.pid

    def start(self) -> Self:
        """Start the broker; returns once it answers.

        Raises:
            BrokerError: it is running, not installed, ended, or did not answer in time.
        """
        if self._process is not None:
            raise BrokerError("the broker is already running; call stop() or kill() first")
        data = ["--data-dir", str(self._directory / "data"), "--host", "127.0.0.1"]
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603  (the program is the installed package's own)
                [str(_program()), "start", *data, "--only", "kafka", "--kafka-port", str(self._port)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,  # Ctrl-C is for the demo, which then stops it in its turn.
            )
        atexit.register(self.kill)
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise
        self._janitor = Janitor(self.bootstrap)
        return self

    def stop(self) -> None:
        """End the broker in good order: what was acknowledged is saved."""
        if self._process is not None:
            self._dismiss_janitor()
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=30)
        self.kill()

    def kill(self) -> None:
        """End the broker at once; records of the last second may be gone."""
        if self._process is not None:
            self._dismiss_janitor()
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
            atexit.unregister(self.kill)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self._clean_up()
            raise

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        self._clean_up()

    def _clean_up(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()

    def _dismiss_janitor(self) -> None:
        if self._janitor is not None:
            self._janitor.stop()
            self._janitor = None

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                raise BrokerError(f"the broker ended with {self._process.returncode}: {self._said()}")
            listens = _LISTENS.search(self._output.read_bytes())
            if listens is not None and _answers(int(listens[1])):
                self._port = int(listens[1])
                return
            time.sleep(0.02)
        raise BrokerError(f"the broker did not answer within {STARTS_WITHIN:g} s: {self._said()}")

    def _said(self) -> str:
        lines = [line for line in self._output.read_bytes().splitlines() if _HARMLESS not in line]
        return b" / ".join(lines[-5:]).decode(errors="replace") or "it said nothing"


class Janitor:
    """Unblocks groups whose rebalance waits for a member that died.

    Every member of a group that has been rebalancing for `STUCK_AFTER` seconds is made to leave; the live ones are
    told that they are unknown, join again, and the group settles.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._stopped = threading.Event()
        self._since: dict[str, float] = {}
        """When a group was first seen in the rebalance it is in."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._watch()), name="janitor", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the watch; returns when it has ended."""
        self._stopped.set()
        self._thread.join()

    async def _watch(self) -> None:
        client = AIOKafkaClient(bootstrap_servers=self._bootstrap, request_timeout_ms=2_000)
        try:
            with contextlib.suppress(KafkaError):  # A broker that is away again has no groups to look after.
                await client.bootstrap()
            while not await asyncio.to_thread(self._stopped.wait, LOOK_EVERY):
                with contextlib.suppress(KafkaError, OSError):
                    await self._look(client)
        finally:
            await client.close()

    async def _look(self, client: AIOKafkaClient) -> None:
        node = client.get_random_node()
        listed = await client.send(node, ListGroupsRequest())
        for name, _ in listed.groups:
            # One at a time: aiokafka cannot read a reply about several groups (it takes version 3 for version 2).
            described = await client.send(node, DescribeGroupsRequest(groups=[name]))
            [(_, _, state, _, _, members)] = described.groups
            if not state.endswith("Rebalance"):
                self._since.pop(name, None)
            elif time.monotonic() - self._since.setdefault(name, time.monotonic()) > STUCK_AFTER:
                del self._since[name]
                for member_id, *_ in members:
                    await client.send(node, LeaveGroupRequest(name, member_id))


def _program() -> Path:
    found = find_spec("noida_db")
    if found is None or found.origin is None:
        raise BrokerError("the demo's broker is not installed; run: pip install 'stream-graders[demo]'")
    return Path(found.origin).parent / "noida-db"


def _answers(port: int) -> bool:
    """Does it answer as a broker does?"""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as probe:
            probe.sendall(_API_VERSIONS)
            return len(probe.recv(4)) == 4
    except OSError:
        return False
