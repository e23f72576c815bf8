"""The demo: agents, broker, worker and view on one machine, and at the end the verdicts beside the truth."""

import asyncio
import logging
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from rich.console import Console

from ..config import load
from ..emit import Emitter
from ..emit.kafka import KafkaSink
from ..security import JUDGE_KEY
from ..stream.topics import Placement, apply, load_topics, place
from .agents import Shop
from .board import Board, compare
from .broker import BrokerError, EmbeddedBroker
from .judging import SUITE as JUDGED_SUITE
from .processes import JudgeProcess, Model, Reader, WorkerError, WorkerProcess
from .unruly import UnrulySink
from .view import Scene, Totals, View, summarise

SUITE = Path(__file__).parent / "shop.yaml"
PARTITIONS = 4
TICK = 0.05
SHARE = 0.3
"""How many of the conversations go a step on at each tick: a step takes about a sixth of a second."""
READY_WITHIN = 60.0
GRADED_WITHIN = 60.0
"""Seconds after the agents' last word."""
JUDGED_WITHIN = 150.0
"""Seconds after the last other verdict; at its deadline a judged check ends by itself."""
COUNTED_WITHIN = 5.0
"""Seconds after the last verdict; the worker counts a batch just after it wrote it."""


def play(seconds: int = 30, seed: int = 2, rate: float = 10.0, model: Model | None = None) -> int:
    """Run the demo and show it. To be called from the main thread, which signals reach.

    Args:
        seconds: how long the agents work.
        seed: of what they say and do wrong.
        rate: conversations that begin in a second.
        model: judges a sample of the runs too; without one there is no judge.

    Returns:
        0 if every run has its verdicts and each that has a truth is the true one, 1 if not, 2 if the broker cannot run here, 3 if the
        worker failed. What went wrong is told on standard error in one line.
    """
    try:
        with _calm():
            return Demo(seed, rate, model).run(seconds)
    except BrokerError as error:
        return _told(error, 2)
    except WorkerError as error:
        return _told(error, 3)
    except KeyboardInterrupt:
        return _told("stopped before every run was graded", 1)


class Demo:
    """One showing."""

    def __init__(self, seed: int, rate: float, model: Model | None) -> None:
        self._seed = seed
        self._rate = rate
        self._model = model
        self._judge: JudgeProcess | None = None
        self._console = Console()
        self._suite = load(SUITE)
        self._board = Board()
        self._scene = Scene(self._suite, self._board, is_judged=model is not None)

    def run(self, seconds: float) -> int:
        """Play, compare, and tell; the exit code."""
        with ExitStack() as stack:
            broker = stack.enter_context(EmbeddedBroker())
            asyncio.run(_make_topics(broker.bootstrap))
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stream-graders-")))
            suites, environment = [SUITE], {}
            if self._model is not None:
                stack.enter_context(self._model.runs)
                suites.append(JUDGED_SUITE)
                environment[JUDGE_KEY[0]] = secrets.token_hex(32)  # For this showing alone.
                self._judge = stack.enter_context(JudgeProcess(broker.bootstrap, self._model, environment, folder))
            worker = WorkerProcess(broker.bootstrap, suites, folder / "worker.log", environment)
            self._worker = stack.enter_context(worker)
            stack.enter_context(Reader(broker.bootstrap, self._board))
            sink = UnrulySink(KafkaSink(broker.bootstrap), self._seed)
            emitter = Emitter(sink, environment="demo")
            stack.callback(emitter.close)
            shop = Shop(emitter, self._seed)
            with View(self._console) as view:
                self._view = view
                self._play(shop, emitter, seconds)
                self._await_verdicts(shop, emitter.stats().sent)
            return self._tell(shop, emitter, sink)

    def _play(self, shop: Shop, emitter: Emitter, seconds: float) -> None:
        self._wait_until(self._worker.is_ready, "the worker starts", READY_WITHIN)
        begun = time.monotonic()
        # Enough seen: what was begun is finished and graded. A second interrupt, after the loop, ends that too.
        with _noted(signal.SIGINT, signal.SIGTERM) as interrupted:
            while not interrupted and (spent := time.monotonic() - begun) < seconds:
                while len(shop.truths) < spent * self._rate:
                    shop.open()
                shop.advance(SHARE)
                self._scene.begun, self._scene.left = len(shop.truths), seconds - spent
                self._look("the agents work")
        self._scene.left = 0.0
        shop.finish()
        emitter.close(timeout=30)

    def _await_verdicts(self, shop: Shop, sent: int) -> None:
        def graded() -> bool:
            return not compare(self._board, shop.truths, self._suite).missing

        def counted() -> bool:
            return self._worker.restarts > 0 or self._worker.ledger().get("graded", 0) >= sent

        self._scene.begun = len(shop.truths)
        self._wait_until(graded, "the last runs are graded", GRADED_WITHIN)
        self._wait_until(self._is_judged, "the judge answers", JUDGED_WITHIN)
        self._wait_until(counted, "the ledger is closed", COUNTED_WITHIN)

    def _is_judged(self) -> bool:
        return self._judge is None or len(self._board.judged.runs) >= self._scene.begun

    def _wait_until(self, condition: Any, doing: str, within: float) -> None:
        """Wait for a condition; whoever asks looks for himself whether it came true in time."""
        ends = time.monotonic() + within
        while time.monotonic() < ends and not condition():
            self._look(doing)

    def _look(self, doing: str) -> None:
        self._worker.watch()
        if self._judge is not None:
            self._judge.watch()
        self._scene.doing, self._scene.restarts = doing, self._worker.restarts
        if self._view.is_due(self._scene):
            self._scene.ledger = self._worker.ledger()
            self._view.show(self._scene)
        time.sleep(TICK)

    def _tell(self, shop: Shop, emitter: Emitter, sink: UnrulySink) -> int:
        self._scene.ledger = self._worker.ledger()
        stats = emitter.stats()
        totals = Totals(stats.sent, sink.late, sink.twice, stats.enqueued - stats.sent)
        comparison = compare(self._board, shop.truths, self._suite)
        summarise(self._console, self._scene, comparison, totals, SUITE)
        is_whole = comparison.agrees and not self._board.conflicts and not totals.lost
        return 0 if is_whole and self._is_judged() else 1


async def _make_topics(bootstrap: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await apply(admin, place(load_topics(), Placement(partitions=PARTITIONS, replication=1)))
    finally:
        await admin.close()


@contextmanager
def _noted(*signals: signal.Signals) -> Iterator[list[int]]:
    """Write signals down instead of raising: an exception that comes in the middle of a clean-up is lost with it."""
    noted: list[int] = []
    before = {number: signal.signal(number, lambda number, frame: noted.append(number)) for number in signals}
    try:
        yield noted
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _calm() -> Iterator[None]:
    """Keep the Kafka client's logs off the picture, and end in good order when told to end."""
    client = logging.getLogger("aiokafka")
    level = client.level
    client.setLevel(logging.CRITICAL)
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        client.setLevel(level)


def _told(what: object, code: int) -> int:
    Console(stderr=True).print(f"stream-graders demo: {what}", soft_wrap=True, highlight=False, markup=False)
    return code
