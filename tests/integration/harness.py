"""What the stories on Apache Kafka are told with: topics of a story's own, events in, a worker as a process, records out."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.records_to_delete import RecordsToDelete
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaConnectionError, KafkaError
from aiokafka.structs import ConsumerRecord

from stream_graders.cli.runs import Graded, records
from stream_graders.config import load_fleet
from stream_graders.events import Event, from_json, to_json
from stream_graders.gradebook import Publish
from stream_graders.stream.start import ROLES
from stream_graders.stream.topics import Placement, apply, load_topics, place
from stream_graders.suites import Fleet
from stream_graders.testing import run
from stream_graders.verdicts import RunVerdict, Verdict

PATIENCE = 120.0
"""Seconds that a condition may take before a story has failed; it takes a few."""
PAUSE = 0.02
"""Seconds between two looks: asked without a pause, a worker does nothing but answer."""
HERE = Path(__file__).parent
STARTED: list[subprocess.Popen[bytes]] = []
"""Every worker process that was started, so that none is left behind."""

SHOP = """
suite: shop
checks:
  - {check: no-drop, grader: agentlasso.tool_not_called, severity: critical, notify: page, settings: {tool: db.drop}}
  - {check: polite, grader: vally.transcript_contains, severity: minor, notify: ticket, settings: {substring: welcome}}
  - {check: real-id, grader: vally.assistant_contains_tool_output, severity: minor, settings: {tools: [find], path: id}}
  - {check: finds-first, grader: trajectory.precedes, severity: critical, settings: {first: find, then: db.drop}}
"""
"""The suite that the stories below are graded by."""


@dataclass
class Stage:
    """Topics and a consumer group that no other story uses."""

    bootstrap: str
    partitions: int = 4
    message_bytes: int | None = None
    """For the journal and the dead letters, where a story needs records larger than the files allow."""
    app: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")
    front: str = ""
    """What the topics' names begin with, where they are another stage's; else the app."""

    @property
    def names(self) -> dict[str, str]:
        """The physical topic names by the names in the files."""
        front = self.front or self.app
        return {topic.name: f"{front}.{topic.name}" for topic in load_topics() if not topic.name.startswith("{app}")}

    def topic(self, role: str) -> str:
        """The physical name of the topic in this role."""
        return self.names[ROLES[role]]

    def set(self) -> "Stage":
        """Create the topics."""
        asyncio.run(self._create())
        return self

    async def _create(self) -> None:
        placement = Placement(app=self.app, names=self.names, partitions=self.partitions, replication=1)
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            wanted = place(load_topics(), placement)
            if self.message_bytes is not None:
                large = {self.topic("journal"): 0, self.topic("dead_letters"): 64 * 1024}
                wanted = [
                    replace(
                        each, configs={**each.configs, "max.message.bytes": str(self.message_bytes + large[each.name])}
                    )
                    if each.name in large
                    else each
                    for each in wanted
                ]
            await apply(admin, wanted)
        finally:
            await admin.close()

    def send(
        self, items: Iterable[tuple[bytes | None, bytes | None]], partition: int | None = None, role: str = "journal"
    ) -> None:
        """Write raw records to the journal, or another topic, in order."""
        asyncio.run(self._send(items, partition, self.topic(role)))

    def tell(self, events: Iterable[Event]) -> None:
        """Write events to the journal under their run's key."""
        self.send((event.run_id.encode(), to_json(event)) for event in events)

    async def _send(
        self, items: Iterable[tuple[bytes | None, bytes | None]], partition: int | None, topic: str
    ) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap, enable_idempotence=True, linger_ms=5, max_request_size=4_000_000
        )
        await producer.start()
        try:
            futures = [await producer.send(topic, value, key, partition=partition) for key, value in items]
            await asyncio.gather(*futures)
        finally:
            await producer.stop()

    def remove(self, before: Mapping[int, int]) -> None:
        """Remove the journal's records before these offsets, as retention does."""
        asyncio.run(self._remove(before))

    async def _remove(self, before: Mapping[int, int]) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            journal = self.topic("journal")
            await admin.delete_records({TopicPartition(journal, n): RecordsToDelete(at) for n, at in before.items()})
        finally:
            await admin.close()

    def read(self, role: str) -> list[ConsumerRecord[bytes, bytes]]:
        """All records that the topic in this role holds now."""
        topic = f"{self.app}-runs-changelog" if role == "changelog" else self.topic(role)
        return asyncio.run(self._read(topic))

    async def _read(self, topic: str) -> list[ConsumerRecord[bytes, bytes]]:
        consumer = AIOKafkaConsumer(
            topic, bootstrap_servers=self.bootstrap, enable_auto_commit=False, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            ends = await consumer.end_offsets(list(consumer.assignment()))
            assert len(ends) == self.partitions
            found: list[ConsumerRecord[bytes, bytes]] = []
            while any([await consumer.position(place) < end for place, end in ends.items()]):
                for batch in (await consumer.getmany(timeout_ms=200)).values():
                    found += batch
            return found
        finally:
            await consumer.stop()

    def write_states(self, records: Iterable[ConsumerRecord[bytes, bytes]]) -> None:
        """Append records to the changelog once more, each to its partition, as a late writer would."""
        asyncio.run(self._write_states(records))

    async def _write_states(self, records: Iterable[ConsumerRecord[bytes, bytes]]) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap) as producer:
            for record in records:
                await producer.send_and_wait(record.topic, record.value, record.key, partition=record.partition)

    def write(self, role: str, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        """Append records to the topic in this role, in order."""
        asyncio.run(self._write(self.topic(role), records))

    async def _write(self, topic: str, records: Iterable[tuple[bytes | None, bytes | None]]) -> None:
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap) as producer:
            for key, value in records:
                await producer.send_and_wait(topic, value, key)

    def committed(self, group: str = "", role: str = "journal") -> int:
        """The records of a topic that a group has committed, all partitions together; by default those that the workers graded."""
        return asyncio.run(self._committed(group or self.app, self.topic(role)))

    async def _committed(self, group: str, topic: str) -> int:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            offsets = await admin.list_consumer_group_offsets(group)
            return sum(at.offset for place, at in offsets.items() if place.topic == topic)
        except GroupCoordinatorNotAvailableError:
            return 0  # The first group of a broker: its offsets topic is being made.
        finally:
            await admin.close()


class WorkerProcess:
    """A worker in a process group of its own, so that a stopped one is not taken down with its parent's terminal."""

    def __init__(
        self,
        stage: Stage,
        suites: Sequence[Path],
        slot: str = "a",
        *options: str,
        bootstrap: str | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.stage = stage
        self.environment = {**os.environ, **(environment or {})}
        self.log = Path(os.environ.get("TMPDIR", "/tmp")) / f"{stage.app}-{slot}.log"
        names = [part for name, physical in stage.names.items() for part in ("--topic", f"{name}={physical}")]
        suite = [part for path in suites for part in ("--suite", str(path))]
        self.command = [
            sys.executable, "-m", "stream_graders.cli.main", "worker", "--bootstrap", bootstrap or stage.bootstrap,
            "--app", stage.app, "--slot", slot, *names, *suite, *(options or ("--metrics-port", "0")),
        ]  # fmt: skip
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> "WorkerProcess":
        """Start it, or start it again."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, stdout=log, stderr=log, start_new_session=True, env=self.environment
            )
        STARTED.append(self.process)
        return self

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def wait(self, timeout: float = 60.0) -> int:
        """Wait for its end; its exit code."""
        assert self.process is not None
        return self.process.wait(timeout)

    def kill(self) -> None:
        """kill -9, and see it gone."""
        self.signal(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """Ask it to stop; its exit code."""
        assert self.process is not None
        if self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            try:
                return self.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
        return self.process.returncode

    def __enter__(self) -> "WorkerProcess":
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def output(self) -> str:
        """What it wrote."""
        return self.log.read_text() if self.log.exists() else ""


class Feed:
    """Tells events in pieces, each once the one before is committed: whatever befalls a worker, it is at work."""

    def __init__(self, stage: Stage, events: Sequence[Event], piece: int = 100) -> None:
        self._stage = stage
        self._events = events
        self._piece = piece
        self._at_once = threading.Event()
        self._telling: Future[None] = Future()

    def __enter__(self) -> "Feed":
        # A daemon: in a story that failed the broker may be gone, and a producer waits for it.
        threading.Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._at_once.set()
        if kind is None:
            self._telling.result()

    def finish(self, worker: WorkerProcess) -> None:
        """Tell the rest at once, and wait until as many records are graded; ticks may be among them."""
        assert not self._telling.done(), "the story ran out of events before its end"
        self._at_once.set()
        self._telling.result()
        until(lambda: self._stage.committed() >= len(self._events), "the journal being read to its end", worker)

    def _run(self) -> None:
        try:
            self._tell()
        except BaseException as error:  # noqa: BLE001  (for whoever asks for the result)
            self._telling.set_exception(error)
        else:
            self._telling.set_result(None)

    def _tell(self) -> None:
        for told in range(0, len(self._events), self._piece):
            while not self._at_once.wait(0.05) and not self._is_committed(told):
                pass
            if self._at_once.is_set():
                self._send(self._events[told:])
                return
            self._send(self._events[told : told + self._piece])

    def _is_committed(self, told: int) -> bool:
        with suppress(KafkaError):  # The broker may be away.
            return self._stage.committed() >= told
        return False

    def _send(self, events: Sequence[Event]) -> None:
        while True:
            with suppress(KafkaConnectionError):  # Nothing was sent: a producer that has begun waits for its broker.
                return self._stage.tell(events)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Metrics:
    """What a worker's metrics page says now."""

    def __init__(self, port: int) -> None:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            self.text = page.read().decode()

    def of(self, name: str, **labels: str) -> float:
        """The sum of a metric's series that carry these labels."""
        wanted = [f'{key}="{value}"' for key, value in labels.items()]
        rows = [row for row in self.text.splitlines() if re.match(rf"stream_graders_{name}[ {{]", row)]
        return sum(float(row.rsplit(" ", 1)[1]) for row in rows if all(label in row for label in wanted))


def is_ready(port: int) -> bool:
    """Does the worker that serves this port say that it is ready?"""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz") as page:
            return bool(page.status == 200)
    except OSError:  # Not there yet, or 503.
        return False


def unreachable_since(port: int) -> float:
    """Since when the worker that serves this port misses its broker; 0 if it does not."""
    return Metrics(port).of("broker_unreachable_since_timestamp_seconds")


def graded_by(port: int) -> float:
    """How many events the worker that serves this port has graded."""
    return Metrics(port).of("events_total", fate="graded")


def hold(seconds: float, condition: Callable[[], bool], what: str, worker: WorkerProcess) -> None:
    """Let a fault last; fail if the worker ends in that time, or a condition does not hold at its end."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        assert worker.process is not None
        with suppress(subprocess.TimeoutExpired):
            worker.wait(min(1.0, seconds))
        assert worker.process.poll() is None, f"the worker ended\n{worker.output()[-4000:]}"
    assert condition(), f"{what} is not so after {seconds:.0f} s\n{worker.output()[-4000:]}"


def until(
    condition: Callable[[], bool], what: str, worker: WorkerProcess | None = None, patience: float = PATIENCE
) -> None:
    """Wait for a condition; fail, with the worker's output, if it does not come true or the worker ends before."""
    ends = time.monotonic() + patience
    while not condition():
        gone = worker is not None and worker.process is not None and worker.process.poll() is not None
        if time.monotonic() > ends or gone:
            told = "" if worker is None else worker.output()[-4000:]
            raise AssertionError(
                f"{what} did not happen ({'the worker ended' if gone else f'{patience:.0f} s'})\n{told}"
            )
        time.sleep(PAUSE)


def graded_offline(fleet: Fleet, files: Sequence[Path]) -> dict[str, bytes]:
    """The final and amended verdicts and run verdicts that `grade` gives for files: bytes by id."""
    graded = Graded(fleet)
    return published(effect.record for effect in records(graded, files) if isinstance(effect, Publish))


def published(found: Iterable[object]) -> dict[str, bytes]:
    """Verdicts and run verdicts but the early ones: bytes by id."""
    return {
        record.id: to_json(record)
        for record in found
        if isinstance(record, Verdict | RunVerdict) and record.state != "early"
    }


def verdicts(stage: Stage) -> dict[str, bytes]:
    """The final and amended verdicts and run verdicts in the topics: bytes by id. Equal ids must have equal bytes."""
    told: dict[str, bytes] = {}
    for role in ("verdicts", "run_verdicts"):
        for record in stage.read(role):
            assert record.value is not None
            value = from_json(record.value)
            assert told.setdefault(value["id"], record.value) == record.value, f"two records of id {value['id']} differ"
    return {key: value for key, value in told.items() if from_json(value)["state"] != "early"}


def differing(told: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> list[tuple[str, bytes | None, bytes | None]]:
    """The first of what is not said alike; to show the difference between thousands takes pytest longer than a test may."""
    ids = sorted(key for key in told.keys() | wanted.keys() if told.get(key) != wanted.get(key))
    return [(f"{key}, one of {len(ids)}", told.get(key), wanted.get(key)) for key in ids[:3]]


def written(path: Path, text: str) -> Path:
    """Write a file; its path."""
    path.write_text(text)
    return path


def stories(first: int, last: int, together: int = 24) -> list[Event]:
    """Nine events a run, so many runs at a time; what they do wrong differs from run to run."""
    told = [
        run(f"run-{n}")
        .starts()
        .asks("where is it?")
        .calls("find" if n % 5 else "db.drop")
        .returns({"id": f"A-{n}"})
        .says(f"it is A-{n if n % 3 else 0}")
        .calls("db.drop" if n % 4 == 0 else "close")
        .returns("ok")
        .says("welcome" if n % 7 else "bye")
        .ends()
        for n in range(first, last)
    ]
    waves = [told[at : at + together] for at in range(0, len(told), together)]
    return [event for wave in waves for step in zip(*wave, strict=True) for event in step]


def expected(suite: Path, events: Iterable[Event]) -> dict[str, bytes]:
    """What nothing disturbs: the verdicts of `grade` on the same events."""
    file = suite.with_suffix(".jsonl")
    file.write_bytes(b"".join(to_json(event) + b"\n" for event in events))
    return graded_offline(load_fleet([suite]), [file])
