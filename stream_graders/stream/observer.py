"""Turns what a worker counts into metrics, batch by batch."""

import asyncio
import time
from collections import Counter
from typing import Any

from ..events import Event, Tick
from ..metrics import Metrics, Server
from ..settings import Settings
from . import batching
from .overload import KEY
from .table import StateTable
from .worker import Worker

FATES = ("graded", "duplicates", "buried", "skipped", "unselected")
EVERY = 1.0
"""Seconds between two measurements."""
UNREADABLE = "unreadable"
KINDS: tuple[type[Event] | type[Tick], ...] = (*Event.__subclasses__(), Tick)
TYPES = (*(str(kind.__struct_config__.tag) for kind in KINDS), UNREADABLE)
FATE = {"duplicates": "duplicate", "buried": "dead_lettered"}


class Observer:
    """Hears of each batch once it is durable."""

    def __init__(self, settings: Settings, app: Any, worker: Worker, table: StateTable) -> None:
        """Watch a worker, and serve what is seen if the settings name a port.

        Raises:
            OSError: the port is taken.
        """
        self.metrics = Metrics(worker.fleet)
        self._app, self._worker, self._table = app, worker, table
        self._told: Counter[str] = Counter()
        self._begin()
        self._lagging: set[int] = set()
        self._alone_since = 0.0
        self._server = None
        if settings.metrics_port:
            address = (settings.metrics_host, settings.metrics_port)
            self._server = Server(self.metrics, address, self._is_healthy, self._is_ready)

    def observe(self) -> None:
        """A batch is durable."""
        metrics, counts = self.metrics, self._worker.counts
        now = time.time()
        for identity in counts.ledger.opened:
            unnamed = identity.agent is None
            fleet = self._worker.fleet
            metrics.opened(identity, [s for s in fleet if s.select.refusal(identity, but_agent=unnamed) is None])
        counts.ledger.opened.clear()
        for record, settled in counts.published:
            metrics.published(record, max(0.0, now - settled / 1000))
        if counts.published:
            metrics.last_verdict.set(now)
        counts.published.clear()
        metrics.last_event.set(max((desk.clock for desk in self._worker.desks.values()), default=0) / 1000)
        for stage, seconds in self._worker.took.items():
            metrics.batch.labels(stage).observe(seconds)
        self._count()

    async def watch(self) -> None:
        """Measure for ever, also while no batch comes: a worker that waits for its broker falls behind."""
        while True:
            now = time.time()
            self.connected(now, batching.is_connected(self._app.consumer))
            self._measure(now)
            await asyncio.sleep(EVERY)

    def connected(self, now: float, is_connected: bool) -> None:
        """Note whether there is a connection to any broker."""
        self._alone_since = 0.0 if is_connected else self._alone_since or now
        self.metrics.unreachable.set(self._alone_since)

    def close(self) -> None:
        """The worker has stopped."""
        if self._server is not None:
            self._server.close()

    def _begin(self) -> None:
        """Show the counters at 0 before there is anything to count: the first one would be invisible to ``increase``."""
        for name in FATES:
            self.metrics.events.labels(FATE.get(name, name))
        for kind in TYPES:
            self.metrics.consumed.labels(kind)

    def _count(self) -> None:
        metrics, counts = self.metrics, self._worker.counts
        ledger = counts.ledger
        for name in FATES:
            self._raise_to(metrics.events.labels(FATE.get(name, name)), name, getattr(ledger, name))
        for kind, count in counts.events.items():
            name = str(kind.__struct_config__.tag)
            self._raise_to(metrics.consumed.labels(name), f"type {name}", count)
        unreadable = counts.consumed - sum(counts.events.values())
        self._raise_to(metrics.consumed.labels(UNREADABLE), f"type {UNREADABLE}", unreadable)
        for reason, count in counts.dead.items():
            self._raise_to(metrics.dead.labels(reason), f"dead {reason}", count)
        self._raise_to(metrics.replayed, "replayed", ledger.replayed)
        self._raise_to(metrics.misplaced, "misplaced", ledger.misplaced)
        self._raise_to(metrics.restarted, "restarted", ledger.restarted)
        self._raise_to(metrics.questions, "questions", counts.asked)
        self._raise_to(metrics.answers.labels("settled"), "settled", ledger.answered)
        self._raise_to(metrics.answers.labels("ignored"), "ignored", ledger.unasked)
        metrics.held.set(counts.held)
        metrics.difference.set(counts.difference())

    def _raise_to(self, counter: Any, name: str, value: int) -> None:
        # A stand-in that is held lowers `skipped` until it is released; a counter waits for it.
        if value > self._told[name]:
            counter.inc(value - self._told[name])
            self._told[name] = value

    def _measure(self, now: float) -> None:
        metrics, owned = self.metrics, set(self._worker.desks)
        for partition in self._lagging - owned:
            # Left in place, another worker's partition would be counted twice.
            for gauge in (metrics.lag, metrics.lag_seconds, metrics.shedding, metrics.committed):
                gauge.remove(str(partition))
        self._lagging = owned
        overdue = 0.0
        for partition, desk in self._worker.desks.items():
            end = batching.end_of(self._app, partition)
            # Before the first record it is the commit that tells where reading goes on: a worker may be stuck there.
            committed = self._worker.committed(partition)
            lag = max(0, (end or 0) - max(desk.read + 1, committed))
            age = now - desk.clock / 1000 if lag and desk.read >= 0 else 0.0
            metrics.lag.labels(str(partition)).set(lag)
            metrics.lag_seconds.labels(str(partition)).set(max(0.0, age))
            metrics.shedding.labels(str(partition)).set(desk.behind_by / 1000)
            metrics.committed.labels(str(partition)).set(committed)
            deadline = desk.deadline()
            if not lag and deadline is not None:  # Behind, it is the lag that has to be told of.
                overdue = max(overdue, now - deadline / 1000)
        metrics.overdue.set(overdue)
        metrics.state_keys.set(sum(len(kept) - (KEY in kept) for kept in self._table.kept.values()))
        metrics.state_bytes.set(self._table.size)
        self._raise_to(metrics.rebalances, "rebalances", self._table.rebalances)
        for seconds in self._table.recoveries:
            metrics.recovery.observe(seconds)
        self._table.recoveries.clear()
        metrics.recovering.set(not self._table.recovered)
        metrics.loop.observe(self._worker.stall.longest())

    def _is_healthy(self) -> bool:
        return self._worker.stall.age() < self._worker.stall.limit

    def _is_ready(self) -> bool:
        return bool(self._table.recovered and not self._app.rebalancing)
