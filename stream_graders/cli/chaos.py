"""``stream-graders chaos``: workers that are killed, stopped and cut short while they grade, and what came of it.

The journal is fed with what befalls journals (`stream_graders.chaos`). In the end it is graded again, undisturbed, and what the
workers published is held against that: lost, different, or only repeated.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

import typer
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from ..chaos import Disturbed
from ..config import load_fleet
from ..events import compact
from ..security import from_environment, listening
from ..session import kept_phase
from ..stream.steps import DIED, VARIABLE, Step
from ..stream.topics import Placement, apply, load_topics, place
from .errors import Exit, UserError, leave, unreachable
from .journal import opened
from .replay import compare, graded_again

SUITE = """
suite: chaos
completion: {idle_user: 3s, idle_agent: 3s, idle_tool: 3s}
checks:
  - {check: no-drop, grader: agentlasso.tool_not_called, severity: critical, notify: page, settings: {tool: db.drop}}
  - {check: welcome, grader: vally.transcript_contains, severity: minor, settings: {substring: welcome}}
  - {check: no-promise, grader: vally.transcript_not_contains, severity: minor, turn: each, settings: {substring: guarantee}}
  - {check: real-id, grader: vally.assistant_contains_tool_output, severity: minor, settings: {tools: [orders.find], path: id}}
  - {check: login-first, grader: trajectory.precedes, severity: critical, settings: {first: auth.login, then: orders.refund}}
  - {check: same-call, grader: trajectory.repeated_call, severity: info, settings: {times: 2}}
  - {check: grounded, grader: trajectory.ungrounded_reply, severity: info}
"""
"""What the runs are graded by, unless suites are named; a run that does not end falls silent soon."""
AHEAD = 4_000
"""Records that may wait to be graded: the workers are always at work."""
PIECE = 100
"""Records that are told at a time."""
STOPPED = 15.0
"""Seconds that a stopped worker stands still: beyond the session timeout, so that another one has its runs by then."""
AIMED = 30.0
"""Seconds that a worker has to come to the step it is to die at before another fault may befall it."""
LEFT = 0.2
"""The share of the records that is told after the last fault: what is to die of it still has work to come to its step."""
PATIENCE = 180.0
"""Seconds without any progress after which something is stuck."""
AGAIN = 3
"""The exit code of a worker that is to be started again."""


@dataclass(frozen=True)
class Asked:
    """The options of ``chaos``."""

    bootstrap: str
    suites: list[Path] = field(default_factory=list)
    events: int = 20_000
    workers: int = 2
    faults: int = 20
    partitions: int = 4
    seed: int = 1
    stops: bool = True
    broker: str | None = None
    """A command that kills the broker and starts it again."""
    keep: bool = False
    as_json: bool = False


class StuckError(Exception):
    """Nothing moved any more, or a worker ended for good."""


class Hand:
    """A worker, and the hand over it."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._wakes: float | None = None
        self._aimed = 0.0
        """Until when it may come to the step it is to die at."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end(signal.SIGKILL)

    def start(self, dies_at: str = "") -> None:
        """Start it; with ``dies_at`` it dies at that step of its work."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  (our own command)
                self._command, stdout=log, stderr=log, start_new_session=True, env={**os.environ, VARIABLE: dies_at}
            )
        self._aimed = time.monotonic() + AIMED if dies_at else 0.0

    def end(self, number: signal.Signals) -> None:
        """Send it a signal that ends it, and see it gone."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)
            self._process.send_signal(number)
            self._process.wait()
        self._wakes = None

    def stop(self) -> None:
        """Let it stand still for a while."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)
            self._wakes = time.monotonic() + STOPPED

    def look_after(self) -> None:
        """Let it go on when it has stood long enough, and start it again when it ended.

        Raises:
            StuckError: it ended for good.
        """
        assert self._process is not None
        if self._wakes is not None and time.monotonic() > self._wakes:
            self._process.send_signal(signal.SIGCONT)
            self._wakes = None
        code = self._process.poll()
        if code is None:
            return
        if code not in (AGAIN, 0, -signal.SIGKILL, -signal.SIGTERM):  # Asked to stop before it could listen.
            lines = self._log.read_text(errors="replace").splitlines()
            raise StuckError(f"a worker ended with exit code {code}: {lines[-1] if lines else 'it said nothing'}")
        self._wakes = None
        self.start()

    @property
    def is_aimed(self) -> bool:
        """Is it on its way to the step it is to die at?"""
        return time.monotonic() < self._aimed and self._process is not None and self._process.poll() is None

    @property
    def is_free(self) -> bool:
        """Is it running, not standing still, and not on its way to the step it is to die at?"""
        return self._wakes is None and self._process is not None and self._process.poll() is None and not self.is_aimed


class Chaos:
    """One performance."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.told: Counter[str] = Counter()
        """How often each fault came."""
        self.died: Counter[str] = Counter()
        """At which steps workers died: one that is killed before it comes to its step does not."""
        self._draw = Random(f"faults/{asked.seed}")  # noqa: S311  (no secrets)
        self._app = f"chaos-{os.getpid()}-{asked.seed}"
        names = [topic.name for topic in load_topics() if not topic.name.startswith("{app}")]
        self.names = {name: f"{self._app}.{name}" for name in names}
        self.placement = Placement(app=self._app, names=self.names, partitions=asked.partitions, replication=1)
        self.journal = self.names["agent.events.v1"]

    async def perform(self, folder: Path, suites: list[Path], told: Callable[[str], None]) -> Disturbed:
        """Feed, disturb, and wait until all is graded; what was fed.

        Raises:
            StuckError: nothing moved any more, or a worker ended for good.
            KafkaError: the cluster cannot be used.
        """
        feed = Disturbed(self.asked.seed, self.asked.events)
        client = from_environment().client()
        admin = AIOKafkaAdminClient(bootstrap_servers=self.asked.bootstrap, **client)
        await admin.start()
        producer = AIOKafkaProducer(
            bootstrap_servers=self.asked.bootstrap, enable_idempotence=True, linger_ms=5, **client
        )
        await producer.start()
        try:
            await apply(admin, place(load_topics(), self.placement))
            with ExitStack() as stack:
                hands = [
                    stack.enter_context(Hand(self._command(n, suites), folder / f"{n}.log"))
                    for n in range(self.asked.workers)
                ]
                await self._disturb(feed, hands, admin, producer, told)
                await self._settle(hands, admin)
                for n, hand in enumerate(hands):
                    hand.end(signal.SIGTERM)
                    lines = (folder / f"{n}.log").read_text(errors="replace").splitlines()
                    self.died.update(line.removeprefix(DIED) for line in lines if line.startswith(DIED))
        finally:
            await producer.stop()
            await admin.close()
        return feed

    async def clear(self) -> None:
        """Remove the topics."""
        admin = AIOKafkaAdminClient(bootstrap_servers=self.asked.bootstrap, **from_environment().client())
        await admin.start()
        try:
            await admin.delete_topics([self.placement.name(topic) for topic in load_topics()])
        finally:
            await admin.close()

    def _command(self, n: int, suites: list[Path]) -> list[str]:
        names = [part for name, physical in self.names.items() for part in ("--topic", f"{name}={physical}")]
        suite = [part for path in suites for part in ("--suite", str(path))]
        options = ["--bootstrap", self.asked.bootstrap, "--app", self._app, "--slot", f"w{n}", "--metrics-port", "0"]
        return [sys.executable, "-m", "stream_graders.cli.main", "worker", *options, *names, *suite]

    async def _disturb(
        self,
        feed: Disturbed,
        hands: list[Hand],
        admin: AIOKafkaAdminClient,
        producer: AIOKafkaProducer,
        told: Callable[[str], None],
    ) -> None:
        """Tell the journal in pieces, with a fault now and then: the next one once there was progress after the last."""
        faults = self._faults()
        fault = next(faults)
        at_fault = 0
        progress = _Progress()
        waiting: list[asyncio.Future[object]] = []
        for fed, (key, value) in enumerate(feed, 1):
            waiting.append(await producer.send(self.journal, value, key))
            if fed % PIECE:
                continue
            await asyncio.gather(*waiting)
            waiting.clear()
            told_by = self.asked.events * (1 - LEFT)
            due = min(int(fed * self.asked.faults / told_by), self.asked.faults)
            while True:
                committed = await self._committed(admin)
                progress.note(committed)
                for hand in hands:
                    hand.look_after()
                room = 1 if any(hand.is_aimed for hand in hands) else AHEAD
                if self.told.total() < due and committed > at_fault and self._can_befall(fault, hands):
                    told(f"{fed} records told, {committed} graded: {fault}")
                    await self._befall(fault, hands)
                    at_fault, fault = committed, next(faults)
                elif self.told.total() >= due and fed - committed < room:
                    break
                await asyncio.sleep(0.1)
        await asyncio.gather(*waiting)

    def _faults(self) -> Iterator[str]:
        """Each named step once, each other kind once, then any of them."""
        kinds = ["kill", "kill all", "restart", *(["stop"] if self.asked.stops and self.asked.workers > 1 else [])]
        kinds += [f"die at {step}" for step in Step] + (["broker"] if self.asked.broker else [])
        yield from self._draw.sample(kinds, len(kinds))
        while True:
            yield self._draw.choice(kinds)

    @staticmethod
    def _can_befall(fault: str, hands: list[Hand]) -> bool:
        """Would no other fault be cut short by this one?"""
        if fault == "kill all":
            return not any(hand.is_aimed for hand in hands)
        return fault == "broker" or any(hand.is_free for hand in hands)

    async def _befall(self, fault: str, hands: list[Hand]) -> None:
        self.told[fault] += 1
        hand = self._draw.choice([hand for hand in hands if hand.is_free] or hands)
        if fault == "broker":
            assert self.asked.broker is not None
            process = await asyncio.create_subprocess_shell(self.asked.broker)
            if await process.wait():
                raise StuckError(f"--broker ended with exit code {process.returncode}: {self.asked.broker}")
        elif fault == "stop":
            hand.stop()
        elif fault == "kill all":
            for each in hands:
                await asyncio.to_thread(each.end, signal.SIGKILL)
        elif fault == "restart":
            await asyncio.to_thread(hand.end, signal.SIGTERM)
        else:
            await asyncio.to_thread(hand.end, signal.SIGKILL)
            step = fault.removeprefix("die at ")
            if step != fault:
                # Of a start there is one recovery and one rebalance; batches come one after another.
                once = step in (Step.RECOVERY, Step.REBALANCE)
                hand.start(f"{step}:{1 if once else self._draw.randint(1, 3)}")

    async def _committed(self, admin: AIOKafkaAdminClient) -> int:
        try:
            offsets = await admin.list_consumer_group_offsets(self._app)
        except (KafkaError, OSError):
            return 0  # The broker is away, or its first group is being made.
        return sum(at.offset for where, at in offsets.items() if where.topic == self.journal)

    async def _settle(self, hands: list[Hand], admin: AIOKafkaAdminClient) -> None:
        """Wait until the journal is read to its end and no run goes on: then its workers have no tick left to write."""
        progress, calm = _Progress(), 0
        while calm < 3 or any(hand.is_aimed for hand in hands):
            for hand in hands:
                hand.look_after()
            committed, end = await self._committed(admin), await asyncio.to_thread(self._end)
            progress.note(end)
            going_on = await asyncio.to_thread(self._going_on) if committed == end else 1
            calm = calm + 1 if committed == end and not going_on else 0
            await asyncio.sleep(0.5)

    def _end(self) -> int:
        with opened(self.asked.bootstrap, self.journal) as log:
            return sum(end for _, end in log.spans.values())

    def _going_on(self) -> int:
        """How many runs go on, by the states that the workers keep."""
        phases: dict[bytes, str] = {}
        with opened(self.asked.bootstrap, f"{self._app}-runs-changelog") as log:
            for record in log.records():
                phases[record.key or b""] = "" if record.value is None else kept_phase(record.value)
        return sum(phase in ("new", "waiting", "open") for phase in phases.values())


class _Progress:
    """Knows how long a number has stood."""

    def __init__(self) -> None:
        self._number = -1
        self._since = time.monotonic()

    def note(self, number: int) -> None:
        """Take the number in.

        Raises:
            StuckError: it has stood for too long.
        """
        if number != self._number:
            self._number, self._since = number, time.monotonic()
        elif time.monotonic() - self._since > PATIENCE:
            raise StuckError(f"nothing was graded for {PATIENCE:.0f} s")


def run_chaos(asked: Asked) -> None:
    """Perform, compare, and print; exit code 1 if a verdict was lost or differs."""
    chaos = Chaos(asked)
    with tempfile.TemporaryDirectory(prefix="stream-graders-chaos-") as name:
        folder = Path(name)
        suites = asked.suites
        if not suites:
            suites = [folder / "chaos.yaml"]
            suites[0].write_text(SUITE)
        fleet = load_fleet(suites)
        if fleet.asks_judges:
            raise UserError("--suite: a check asks a judge, and chaos has none to answer: give it suites without")
        with listening() as ear:  # Of brokers that are away the client tells at length.
            try:
                feed = asyncio.run(chaos.perform(folder, suites, lambda line: typer.echo(line, err=True)))
            except (KafkaError, OSError) as error:
                raise unreachable(asked.bootstrap, error, ear) from error
            except StuckError as error:
                raise UserError(
                    f"{error}; its topics stay, they begin with {chaos.journal.partition('.')[0]}"
                ) from error
    again = graded_again((asked.bootstrap, chaos.journal), [fleet], keeps=True)
    versions = {suite.name: suite.version for suite in fleet}
    partial = again.replays[0].going_on(amendable=False)
    compared = [
        compare(asked.bootstrap, chaos.names[topic], again.said[0], partial, versions)
        for topic in ("agent.verdicts.v1", "agent.run_verdicts.v1")
    ]
    result = {
        "verdicts": sum(one.same - one.repeated for one in compared),
        "lost": sum(one.not_published for one in compared),
        "different": sum(one.different + one.not_given_again for one in compared),
        "duplicate": sum(one.repeated for one in compared),
    }
    is_whole = not (result["lost"] or result["different"]) and bool(result["verdicts"])
    if asked.as_json:
        typer.echo(
            compact({"fed": feed.counts, "runs": len(feed.runs), "faults": chaos.told, "died_at": chaos.died, **result})
        )
    else:
        typer.echo(f"{len(feed.runs)} runs; " + ", ".join(f"{count} {what}" for what, count in feed.counts.items()))
        typer.echo("faults: " + ", ".join(f"{count} {what}" for what, count in sorted(chaos.told.items())))
        typer.echo("died at: " + ", ".join(f"{count} {step}" for step, count in sorted(chaos.died.items())))
        typer.echo(", ".join(f"{count} {what}" for what, count in result.items()))
        for line in (line for one in compared for line in one.shown):
            typer.echo(f"  {line}")
    if is_whole and not asked.keep:
        asyncio.run(chaos.clear())
    leave(Exit.OK if is_whole else Exit.GATE_MISSED)
