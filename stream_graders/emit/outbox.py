"""Between the agent's threads and the sender's: numbers events, bounds what waits, and counts."""

import atexit
import logging
import os
import threading
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .backlog import Backlog, Pending
from .sender import Sender
from .sinks import Sink

RUNS = 10_000
"""Runs whose next number is remembered after their end, for one that goes on in another `with` block."""
COMPLAIN_EVERY = 60.0
"""Seconds between two lines in the log."""

_log = logging.getLogger("stream_graders.emit")


@dataclass(frozen=True)
class Stats:
    """What became of the events: ``enqueued == sent + failed + sum(dropped.values()) + waiting``.

    A run's missing numbers are its events that were dropped or failed.
    """

    enqueued: int
    sent: int
    """Events that the sink made durable."""
    failed: int
    """Events that the sink refused for good."""
    dropped: dict[str, int]
    """Events by type that were given up: the backlog was full, or `close` could not wait for them."""
    emptied: dict[str, int]
    """Events by type that were sent without their content, because the backlog was full."""
    waiting: int


class Outbox:
    """Takes events from any thread, never blocks it and never raises."""

    def __init__(self, sink: Sink) -> None:
        self.closing = False
        self._begin(sink)
        _OUTBOXES.add(self)
        atexit.register(self.close)

    def _begin(self, sink: Sink) -> None:
        self.sink = sink
        # Reentrant: a signal handler or a finalizer may emit while its own thread does.
        self.lock = threading.Condition(threading.RLock())
        self.producer = _unique()
        self._backlog = Backlog()
        self._under_way: dict[int, Pending] = {}
        self._numbers: OrderedDict[str, int] = OrderedDict()
        self._sender: Sender | None = None
        self._enqueued = self._sent = self._failed = 0
        self._given_up: Counter[str] = Counter()
        """Events that were dropped outside the backlog: too late to wait, or under way when the deadline passed."""
        self._complained = -COMPLAIN_EVERY

    def renew(self) -> None:
        """Begin anew in a forked child: what waits here is the parent's, and so are its numbers and its sender."""
        self._begin(self.sink.renewed())

    def put(self, run_id: str, envelope: dict[str, Any], kind: str, body: dict[str, Any]) -> None:
        """Number an event of a run and let it wait for the sender."""
        try:
            event = Pending(kind, run_id, time.time_ns(), envelope, body)
            with self.lock:
                fits = self._put(event)
            if not fits:
                self.complain("more are enqueued than are sent")
        except Exception as error:  # noqa: BLE001  (nothing in here may break the agent)
            self.complain(f"an event of type {kind} was dropped: {type(error).__name__}: {error}")

    def _put(self, event: Pending) -> bool:
        event.number = self._enqueued
        event.seq = self._numbers.pop(event.run_id, 0)
        self._numbers[event.run_id] = event.seq + 1
        if len(self._numbers) > RUNS:
            self._numbers.popitem(last=False)
        self._enqueued += 1
        if self.closing:
            self._given_up[event.kind] += 1
            return True
        fits = self._backlog.put(event)
        if self._sender is None or not self._sender.thread.is_alive():
            self._failed += self._release(list(self._under_way.values()))
            self._sender = Sender(self, self.sink)
        self._sender.wake()
        return fits

    def take(self, events: int, size: int) -> list[Pending]:
        """What the sender delivers next. It holds the lock."""
        taken = self._backlog.take(events, size)
        self._under_way.update((event.number, event) for event in taken)
        return taken

    def settle(self, sent: Sequence[Pending], failed: Sequence[Pending] = ()) -> None:
        """These are durable, and those never will be."""
        with self.lock:
            self._sent += self._release(sent)
            self._failed += self._release(failed)

    def flush(self, timeout: float) -> bool:
        """Wait until everything enqueued so far is settled; False if it was not in time."""
        with self.lock:
            until = self._enqueued
            return self.lock.wait_for(lambda: self._settled() >= until, timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Take nothing more, deliver what waits within ``timeout`` seconds, and drop and count the rest."""
        atexit.unregister(self.close)
        with self.lock:
            self.closing = True
            sender = self._sender
            if sender is not None:
                sender.wake()
        if sender is not None and sender.thread is not threading.current_thread():
            sender.thread.join(timeout)
            with self.lock:
                sender.cancel()
            sender.thread.join(1.0)
        with self.lock:
            self._give_up()

    def stats(self) -> Stats:
        """The counts of this moment."""
        with self.lock:
            return Stats(
                self._enqueued,
                self._sent,
                self._failed,
                dict(self._dropped()),
                dict(+self._backlog.emptied),
                self._backlog.count,
            )

    def complain(self, reason: str) -> None:
        """Tell whoever reads the log, at most once a minute."""
        with self.lock:
            now = time.monotonic()
            if now - self._complained < COMPLAIN_EVERY:
                return
            self._complained = now
            waiting, dropped = self._backlog.count, self._dropped().total()
        _log.warning("agent events cannot be sent: %s; %d wait, %d were dropped so far", reason, waiting, dropped)

    def _give_up(self) -> None:
        under_way = list(self._under_way.values())
        self._given_up.update(event.kind for event in under_way)
        self._release(under_way)
        self._backlog.drop_all()
        self.lock.notify_all()

    def _release(self, events: Sequence[Pending]) -> int:
        """Give their room back, except of those that `close` gave up before."""
        known = [event for event in events if self._under_way.pop(event.number, None) is not None]
        self._backlog.settle(known)
        self.lock.notify_all()
        return len(known)

    def _dropped(self) -> Counter[str]:
        return self._backlog.dropped + self._given_up

    def _settled(self) -> int:
        return self._sent + self._failed + self._dropped().total()


def _unique() -> str:
    """An id that no other process has; it sorts by its time (in the form of a UUID of version 7)."""
    milliseconds = time.time_ns() // 1_000_000
    return f"{milliseconds:012x}7{os.urandom(10).hex()[:19]}"


_OUTBOXES: weakref.WeakSet[Outbox] = weakref.WeakSet()


def _renew_all() -> None:
    for outbox in _OUTBOXES:
        outbox.renew()


os.register_at_fork(after_in_child=_renew_all)
