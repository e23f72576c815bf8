"""The thread that encodes and delivers, so that the agent's never waits."""

import asyncio
import contextlib
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from .backlog import Pending
from .encoding import Record, encode
from .sinks import THREAD, Fault, Sink

if TYPE_CHECKING:
    from .outbox import Outbox

TAKE_EVENTS = 1_000
TAKE_BYTES = 4 * 1024 * 1024
"""What is delivered at a time."""
_Item = tuple[Pending, Record]

GATHER = 0.01
"""Seconds between the first event that wakes the sender and its delivery."""
PATIENCE = 30.0
"""Seconds that a delivery may take before somebody is told; a sink that can name a fault has done so by then."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""Seconds between two attempts; each pause is twice the one before."""


class Sender:
    """Takes events from an outbox and delivers them to a sink until they are durable or never will be."""

    def __init__(self, outbox: "Outbox", sink: Sink) -> None:
        self._outbox = outbox
        self._sink = sink
        self._idle = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._woken: asyncio.Event | None = None
        self.thread = threading.Thread(target=self._main, name=THREAD, daemon=True)
        self.thread.start()

    def wake(self) -> None:
        """There is something to do. The caller holds the outbox's lock."""
        if self._idle and self._loop is not None and self._woken is not None:
            self._idle = False
            self._loop.call_soon_threadsafe(self._woken.set)

    def cancel(self) -> None:
        """End now, whatever is under way. The caller holds the outbox's lock."""
        if self._loop is not None and self._task is not None and self.thread.is_alive():
            self._loop.call_soon_threadsafe(self._task.cancel)

    def _main(self) -> None:
        # Cancelled when the deadline of `close` passed; a runtime error when the interpreter is ending.
        with contextlib.suppress(asyncio.CancelledError, RuntimeError):
            asyncio.run(self._run())

    async def _run(self) -> None:
        self._woken = asyncio.Event()
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(_Here())
        self._loop.set_exception_handler(lambda loop, context: None)  # A client's loose ends are no news to the agent.
        try:
            while events := await self._next(self._woken):
                await self._deliver(self._encoded(events))
        finally:
            await self._sink.close()

    async def _next(self, woken: asyncio.Event) -> list[Pending]:
        """The next events; none once the outbox is closing and empty."""
        while True:
            with self._outbox.lock:
                events = self._outbox.take(TAKE_EVENTS, TAKE_BYTES)
                if events or self._outbox.closing:
                    return events
                woken.clear()
                self._idle = True
            await woken.wait()
            # An agent says several things at once: to wake for each of them would cost its thread more than the rest.
            await asyncio.sleep(GATHER)

    def _encoded(self, events: Sequence[Pending]) -> list[_Item]:
        items = []
        for event in events:
            try:
                items.append((event, encode(event, self._outbox.producer)))
            except Exception as error:  # noqa: BLE001  (a bug of ours, or no memory: the event is lost, not its neighbours)
                self._outbox.settle([], [event])
                self._outbox.complain(f"an event of type {event.kind} failed: {type(error).__name__}: {error}")
        return items

    async def _deliver(self, waiting: list[_Item]) -> None:
        pause = FIRST_PAUSE
        alone = False
        while waiting:
            # A fault that will stay is one record's, but the broker reports it for all that were sent with it.
            part = waiting[:1] if alone else waiting
            faults = await self._attempt([record for _, record in part])
            lost = part if alone and faults[0] is not None and faults[0].final else []
            sent = [item for item, fault in zip(part, faults, strict=True) if fault is None]
            self._outbox.settle([event for event, _ in sent], [event for event, _ in lost])
            settled = {event.number for event, _ in (*sent, *lost)}
            waiting = [item for item in waiting if item[0].number not in settled]
            alone = any(fault is not None and fault.final for fault in faults)
            if settled or alone:
                pause = FIRST_PAUSE
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _attempt(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        sending = asyncio.ensure_future(self._send(records))
        try:
            while not (await asyncio.wait({sending}, timeout=PATIENCE))[0]:
                self._outbox.complain(f"{self._sink.describe()} has not answered for {PATIENCE:g} s")
        except asyncio.CancelledError:
            sending.cancel()
            raise
        faults = sending.result()
        if reason := next((fault.reason for fault in faults if fault is not None), None):
            self._outbox.complain(f"{self._sink.describe()}: {reason}")
        return faults

    async def _send(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        try:
            return await self._sink.send(records)
        except Exception as error:  # noqa: BLE001  (a sink of the user's own: its fault is one of delivery)
            return [Fault(f"{type(error).__name__}: {error}")] * len(records)


class _Here(ThreadPoolExecutor):
    """Looks up host names in the sender's own thread: at the interpreter's exit no pool takes work any more."""

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(function(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  (handed on to whoever waits)
            done.set_exception(error)
        return done
