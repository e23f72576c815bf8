"""What waits to be sent: bounded in events and bytes, and how room is made when it is full."""

from collections import Counter, OrderedDict
from collections.abc import Iterable
from itertools import islice
from typing import Any

MAX_EVENTS = 10_000
MAX_BYTES = 64 * 1024 * 1024
HEAD = 400
"""Bytes reckoned for an event without its body."""

BODY = {"message": "content", "tool.call": "args", "tool.result": "result"}
"""The field of a type that may be large, and that a full backlog leaves out before it drops an event."""
_SAMPLE = 16
_LOOKS = 256


class Pending:
    """An event as the agent's thread leaves it: nothing in it is encoded yet."""

    __slots__ = ("body", "emptied", "envelope", "kind", "number", "run_id", "seq", "size", "ts")

    def __init__(self, kind: str, run_id: str, ts: int, envelope: dict[str, Any], body: dict[str, Any]) -> None:
        self.kind = kind
        self.run_id = run_id
        self.ts = ts
        self.envelope = envelope
        self.body = body
        self.size = HEAD + weight(body)
        self.seq = self.number = 0
        self.emptied = False

    def empty(self) -> None:
        """Leave out the body."""
        self.body.pop(BODY[self.kind], None)
        self.size = HEAD + weight(self.body)
        self.emptied = True


class Backlog:
    """Events in their order, until somebody settles them. Not thread-safe: its owner holds a lock.

    When it is full, room is made by class, the oldest first: `custom` events go; then the contents of messages, then
    those of tool calls and results, whose events stay; then messages. What is left are starts, ends, calls and results:
    when even those are too many, the newest goes. Whatever went is counted by type.
    """

    def __init__(self, max_events: int = MAX_EVENTS, max_bytes: int = MAX_BYTES) -> None:
        self._max_events = max_events
        self._max_bytes = max_bytes
        self._queued: OrderedDict[int, Pending] = OrderedDict()
        self._custom: OrderedDict[int, Pending] = OrderedDict()
        self._messages: OrderedDict[int, Pending] = OrderedDict()
        self._texts: OrderedDict[int, Pending] = OrderedDict()
        """Messages that still have their content."""
        self._payloads: OrderedDict[int, Pending] = OrderedDict()
        """Calls and results that still have theirs."""
        self.count = 0
        """Events that wait or are on their way."""
        self.bytes = 0
        self.dropped: Counter[str] = Counter()
        self.emptied: Counter[str] = Counter()

    def __bool__(self) -> bool:
        return bool(self._queued)

    def put(self, event: Pending) -> bool:
        """Add the newest event; False if something had to go for it."""
        for place in self._places(event):
            place[event.number] = event
        self.count += 1
        self.bytes += event.size
        fits = True
        while event.number in self._queued and (self.count > self._max_events or self.bytes > self._max_bytes):
            fits = False
            self._make_room(event)
        return fits

    def take(self, events: int, size: int) -> list[Pending]:
        """The oldest events, at least one if any wait; they keep their room until they are settled."""
        taken: list[Pending] = []
        while self._queued and len(taken) < events and (size > 0 or not taken):
            _, event = self._queued.popitem(last=False)
            for place in (self._custom, self._messages, self._texts, self._payloads):
                place.pop(event.number, None)
            taken.append(event)
            size -= event.size
        return taken

    def settle(self, events: Iterable[Pending]) -> None:
        """These need no room any more: they were sent, or never will be."""
        for event in events:
            self.count -= 1
            self.bytes -= event.size

    def drop_all(self) -> None:
        """Nobody will send what waits."""
        while self._queued:
            self._drop(next(iter(self._queued.values())))

    def _places(self, event: Pending) -> list[OrderedDict[int, Pending]]:
        places = [self._queued]
        if event.kind == "custom":
            places.append(self._custom)
        elif event.kind == "message":
            places += [self._messages, self._texts]
        elif event.kind in BODY:
            places.append(self._payloads)
        return places

    def _make_room(self, newest: Pending) -> None:
        bodies = self._texts or self._payloads
        if self._custom:
            self._drop(next(iter(self._custom.values())))
        elif self.bytes > self._max_bytes and bodies:
            self._empty(bodies.popitem(last=False)[1])
        elif self._messages:
            self._drop(next(iter(self._messages.values())))
        else:
            self._drop(newest)

    def _drop(self, event: Pending) -> None:
        for place in self._places(event):
            place.pop(event.number, None)
        self.dropped[event.kind] += 1
        self.emptied[event.kind] -= event.emptied
        self.settle([event])

    def _empty(self, event: Pending) -> None:
        before = event.size
        event.empty()
        self.bytes += event.size - before
        self.emptied[event.kind] += 1


def weight(body: dict[str, Any]) -> int:
    """About how many bytes a body takes; of a large one a sample is asked, for the agent's thread waits for this."""
    try:
        looks = [_LOOKS]
        return sum(len(value) if type(value) is str else _weigh(value, looks) for value in body.values())
    except Exception:  # noqa: BLE001  (another thread may change it meanwhile, or it is a mapping with a mind of its own)
        return HEAD


def _weigh(value: Any, looks: list[int]) -> int:
    looks[0] -= 1
    if isinstance(value, str | bytes | bytearray):
        return len(value) + 3
    if looks[0] <= 0 or not isinstance(value, dict | list | tuple | set | frozenset) or not value:
        return 8
    total = seen = 0
    for item in islice(value.values() if isinstance(value, dict) else value, _SAMPLE):
        total += _weigh(item, looks)
        seen += 1
    return total * len(value) // seen + 8 * len(value)
