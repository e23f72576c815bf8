"""One Apache Kafka 4 broker on this machine, for tests and benchmarks: real log, real groups, real compaction.

Nothing is mocked and no container is needed: the jars come from Maven (54 MB, once, into .cache/kafka), a broker is
ready about four seconds after `start`. It binds 127.0.0.1 on free ports and keeps them, so that a client finds it
again after `kill` and `start`.
"""

import asyncio
import atexit
import base64
import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
CACHE = HERE.parent.parent / ".cache" / "kafka"
STARTS_WITHIN = 60.0
"""Seconds. A start takes four on an idle machine; two loaded cores have taken twenty."""


class BrokerError(RuntimeError):
    """The broker could not be fetched, formatted or started; the message says which, with the last of its output."""


def missing_tools() -> list[str]:
    """The programs that running a broker needs and that are not on the path."""
    return [tool for tool in ("java", "mvn") if shutil.which(tool) is None]


def fetch_jars() -> Path:
    """The folder of the broker's jars, filled by Maven at the first call after a change of pom.xml.

    Raises BrokerError when Maven fails.
    """
    jars = CACHE / f"jars-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Two test runs may begin at once; the second finds the first one's jars.
        if not jars.exists():
            partial = CACHE / "partial"
            shutil.rmtree(partial, ignore_errors=True)
            goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
            _run("fetch the broker's jars", ["mvn", "-q", "-B", "-f", str(POM), *goal])
            partial.rename(jars)
    return jars


class KafkaBroker:
    """A single combined broker and controller over one data directory.

    `start` after `stop` or `kill` goes on with the same data and port. `settings` are lines of server.properties that
    replace or join those in server.properties.in; `formatting` are words for the tool that makes the data directory.
    """

    def __init__(
        self, directory: Path, settings: Mapping[str, str] | None = None, formatting: Sequence[str] = ()
    ) -> None:
        self.directory = directory
        self.port, self.controller_port = free_ports(2)
        self._formatting = formatting
        self._properties = directory / "server.properties"
        self._log = directory / "output.log"
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)
        template = (HERE / "server.properties.in").read_text()
        lines = template.format(port=self.port, controller_port=self.controller_port, data=directory / "data")
        self._properties.write_text(lines)
        self.set(settings or {})

    def set(self, settings: Mapping[str, str]) -> None:
        """Add lines to server.properties; the next start reads them."""
        with self._properties.open("a") as properties:
            # The last of two equal keys counts.
            properties.writelines(f"{key}={value}\n" for key, value in settings.items())

    @property
    def bootstrap(self) -> str:
        """What clients take as bootstrap servers."""
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The running broker's process id, for faults that this class has no method for (SIGSTOP)."""
        if self._process is None:
            raise BrokerError("the broker is not running; call start() first")
        return self._process.pid

    def has_ended(self) -> bool:
        """Did the running broker end by itself?"""
        return self._process is not None and self._process.poll() is not None

    def start(self) -> Self:
        """Starts the broker and returns once it would create a topic.

        Raises BrokerError when it ends, or is not ready within STARTS_WITHIN seconds.
        """
        if self._process is not None:
            raise BrokerError("the broker is already running; call stop() or kill() first")
        classes = f"{fetch_jars()}/*"
        if not (self.directory / "data" / "meta.properties").exists():
            cluster = base64.urlsafe_b64encode(uuid.uuid4().bytes)[:22].decode()
            tool = [
                "kafka.tools.StorageTool",
                "format",
                "--standalone",
                f"--cluster-id={cluster}",
                "-c",
                str(self._properties),
                *self._formatting,
            ]
            _run("format the broker's directory", ["java", "-Xmx256m", "-cp", classes, *tool])
        memory = ["-Xms512m", "-Xmx768m", "-XX:+UseSerialGC"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                ["java", *memory, "-cp", classes, "kafka.Kafka", str(self._properties)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # An interrupt from the terminal is for the test run, which then stops it.
            )
        atexit.register(self.kill)
        try:
            self._wait_until_ready()
        except BaseException:
            self.kill()
            raise
        return self

    def stop(self) -> None:
        """Ends the broker as its operator would: it hands over, flushes, and writes its clean-shutdown mark."""
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=30)
        self.kill()

    def kill(self) -> None:
        """Ends the broker at once, as a power cut would; also one that is stopped or already gone."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None
            atexit.unregister(self.kill)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def _wait_until_ready(self) -> None:
        # In a thread of its own: a caller may stand inside a running event loop.
        with ThreadPoolExecutor(max_workers=1) as pool:
            pool.submit(lambda: asyncio.run(self._until_a_topic_can_be_created())).result()

    async def _until_a_topic_can_be_created(self) -> None:
        deadline = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < deadline:
            if self._process is not None and self._process.poll() is not None:
                raise BrokerError(f"the broker ended with {self._process.returncode}: {_tail(self._log.read_bytes())}")
            if _is_open(self.port) and await _would_create_a_topic(self.bootstrap):
                return
            await asyncio.sleep(0.1)
        raise BrokerError(f"the broker was not ready within {STARTS_WITHIN:g} s: {_tail(self._log.read_bytes())}")


async def _would_create_a_topic(bootstrap: str) -> bool:
    """The port opens before the controller has let the broker in; until then every topic is refused."""
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=2_000)
    try:
        await client.start()
        reply = await client.create_topics([NewTopic("ready", 1, 1)], validate_only=True)
    except KafkaError:
        return False
    finally:
        await client.close()
    return all(error["error_code"] == 0 for error in reply.to_object()["topic_errors"])


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    # All at once: one that is closed before the next is asked for may be given twice.
    with contextlib.ExitStack() as sockets:
        probes = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


def _run(purpose: str, command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise BrokerError(f"could not {purpose}: {command[0]} ended with {done.returncode}: {_tail(done.stdout)}")


def _tail(output: bytes) -> str:
    return output.decode(errors="replace")[-2_000:].strip()
