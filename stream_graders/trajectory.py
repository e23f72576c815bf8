"""One run in order: each event once, gaps held back, calls and results paired, turns counted.

`Order` turns what arrives into what happened; `Course` reads what happened and knows where the run stands. Neither
knows a grader. Times are log times in milliseconds, handed in by the caller; both keep bounded state made of JSON values.
"""

from dataclasses import dataclass, field
from enum import Enum, auto
from hashlib import blake2b
from typing import Any

from .events import ASIDES, Event, Message, RunStart, ToolCall, ToolResult, Unknown, event_from, to_json
from .grading import Seen

HELD_EVENTS = 64
HELD_BYTES = 128 * 1024
HELD_MS = 30_000
"""A gap is given up when this much waits behind it, or this long."""
FAR_AHEAD = 10_000
"""A ``seq`` this far beyond the expected one is a broken counter, not a gap."""
RECENT_IDS = 256
PRODUCERS = 16
RANGES = 16
OPEN_CALLS = 256
OPEN_BYTES = 32 * 1024
"""What open calls may weigh together; beyond it, as beyond their number, the oldest is forgotten."""
FLAGS = 32
"""Flags of events that a run carries on; a flag is a short word, and a run has few."""
NAME = 64
"""Characters of a producer's name or a call's id that are kept as they are; of a longer one, its hash."""


class Arrival(Enum):
    """What became of an event on arrival."""

    RELEASED = auto()
    HELD = auto()
    DUPLICATE = auto()
    FAR_AHEAD = auto()


@dataclass(slots=True)
class Producer:
    """How far one producer's numbers were applied, and what waits behind a gap."""

    first_id: str = ""
    next: int = 0
    held: dict[int, tuple[Event, int, int]] = field(default_factory=dict)
    """Number to event, its bytes, and since when it waits."""

    def waits_until(self) -> int | None:
        """When the gap is given up that the longest held event waits behind."""
        return min(since for _, _, since in self.held.values()) + HELD_MS if self.held else None


class Order:
    """Releases a run's events in the order of their producers' numbers, each once (design 5.2)."""

    def __init__(self) -> None:
        self.producers: dict[str, Producer] = {}
        self.restarts: dict[str, int] = {}
        self.recent: list[str] = []
        self.missing: list[list[Any]] = []
        """Given-up gaps: producer, first and last number, position in the run."""
        self.inferred = False
        self.restarted = 0
        self.held = 0
        """Events held back behind gaps."""
        self.broken = False
        """More producers or gaps than are kept: the run is incomplete for good."""

    def take(self, event: Event, size: int, now: int, position: int) -> tuple[Arrival, list[tuple[Event, int | None]]]:
        """What an event's arrival releases: events in order, each with the position of the gap it fills (or None)."""
        seq = event.seq
        if seq is None:
            return self._take_unnumbered(event)
        producer = self._producer(event)
        if producer is None:
            self.broken = True
            return self._take_unnumbered(event)
        if seq == producer.next:
            return Arrival.RELEASED, self._release(producer, event)
        if seq < producer.next:
            return self._take_known(producer, event, seq)
        if seq > producer.next + FAR_AHEAD:
            if producer.next == 0 and not producer.held:
                del self.producers[self._scope(event)]  # A broken counter takes no place among the producers.
            return Arrival.FAR_AHEAD, []
        if seq in producer.held:
            return Arrival.DUPLICATE, []
        producer.held[seq] = (event, size, now)
        self.held += 1
        released: list[tuple[Event, int | None]] = []
        while self._holds_too_much():
            released += self._give_up(self._oldest_wait(), position + _places(released))
        return (Arrival.RELEASED if released else Arrival.HELD), released

    def deadline(self) -> int | None:
        """When the oldest gap is given up."""
        return min((wait for p in self.producers.values() if (wait := p.waits_until()) is not None), default=None)

    def expire(self, deadline: int, position: int) -> list[tuple[Event, int | None]]:
        """Give up the gap that waits until ``deadline``; what stands behind it."""
        name = next(name for name, p in self.producers.items() if p.waits_until() == deadline)
        return self._give_up(name, position)

    def give_up_all(self, position: int) -> list[tuple[Event, int | None]]:
        """Give up every gap, the oldest first; what stands behind them."""
        released: list[tuple[Event, int | None]] = []
        while any(p.held for p in self.producers.values()):
            released += self._give_up(self._oldest_wait(), position + _places(released))
        return released

    def is_known(self, event: Event) -> bool:
        """Was this event applied before, by its number or id?"""
        if event.seq is None:
            return _short(event.id) in self.recent
        producer = self.producers.get(self._scope(event))
        return producer is not None and event.seq < producer.next and not self._restarts(producer, event)

    def expected(self, name: str) -> int:
        """The number that a producer's next event should have."""
        producer = self.producers.get(self._name(name))
        return 0 if producer is None else producer.next

    def lose(self, name: str, last: int, position: int) -> None:
        """Note that a producer's events up to ``last`` will not come."""
        producer = self.producers.get(self._name(name))
        if producer is not None and producer.next <= last:
            self._note_missing(self._name(name), producer.next, last, position)
            producer.next = last + 1

    def snapshot(self) -> list[Any]:
        """The state as JSON values; held events as they are."""
        producers = [[name, p.first_id, p.next, list(p.held.values())] for name, p in self.producers.items()]
        return [producers, self.restarts, self.recent, self.missing, self.inferred, self.restarted, self.broken]

    @classmethod
    def resume(cls, values: list[Any]) -> "Order":
        """The order that gave this snapshot."""
        order = cls()
        producers, order.restarts, order.recent, order.missing, order.inferred, order.restarted, order.broken = values
        for name, first_id, following, held in producers:
            events = [(event_from(value), size, since) for value, size, since in held]
            order.producers[name] = Producer(first_id, following, {item[0].seq or 0: item for item in events})
            order.held += len(events)
        return order

    def marks(self) -> list[Any]:
        """What a tombstone keeps: how far each producer got, and the first and last ids of unnumbered events."""
        recent = [*self.recent[:1], *self.recent[1:][-3:]]
        return [[[name, p.first_id, p.next] for name, p in self.producers.items()], self.restarts, recent]

    @classmethod
    def from_marks(cls, values: list[Any]) -> "Order":
        """An order that knows what a tombstone kept."""
        order = cls()
        producers, order.restarts, order.recent = values
        order.producers = {name: Producer(first_id, following) for name, first_id, following in producers}
        return order

    def _take_unnumbered(self, event: Event) -> tuple[Arrival, list[tuple[Event, int | None]]]:
        self.inferred = True
        short = _short(event.id)
        if short in self.recent:
            return Arrival.DUPLICATE, []
        self.recent.append(short)
        del self.recent[:-RECENT_IDS]
        return Arrival.RELEASED, [(event, None)]

    def _take_known(self, producer: Producer, event: Event, seq: int) -> tuple[Arrival, list[tuple[Event, int | None]]]:
        if self._restarts(producer, event):
            name = bounded(event.producer)
            self.restarts[name] = self.restarts.get(name, 0) + 1
            self.restarted += 1
            return self.take(event, 0, 0, 0)  # Number 0 of a producer of its own: neither held nor given up.
        name = self._scope(event)
        for n, (of, first, last, position) in enumerate(self.missing):
            if of == name and first <= seq <= last:
                self.missing[n : n + 1] = [
                    [of, a, b, position] for a, b in ((first, seq - 1), (seq + 1, last)) if a <= b
                ]
                return Arrival.RELEASED, [(event, position)]
        return Arrival.DUPLICATE, []

    def _restarts(self, producer: Producer, event: Event) -> bool:
        """A number 0 with another id than the first: the process started again under its old name."""
        if event.seq != 0 or not producer.first_id:
            return False
        name, short = bounded(event.producer), _short(event.id)
        earlier = [name, *(f"{name}#{n}" for n in range(1, self.restarts.get(name, 0) + 1))]
        # A repetition of an earlier start is no start: without this, two of them would take turns for ever.
        return all(self.producers[known].first_id != short for known in earlier if known in self.producers)

    def _name(self, name: str) -> str:
        name = bounded(name)
        again = self.restarts.get(name)
        return f"{name}#{again}" if again else name

    def _scope(self, event: Event) -> str:
        return self._name(event.producer)

    def _producer(self, event: Event) -> Producer | None:
        name = self._scope(event)
        producer = self.producers.get(name)
        if producer is None and len(self.producers) < PRODUCERS:
            producer = self.producers[name] = Producer()
        return producer

    def _release(self, producer: Producer, event: Event) -> list[tuple[Event, int | None]]:
        if producer.next == 0:
            producer.first_id = _short(event.id)
        producer.next += 1
        released: list[tuple[Event, int | None]] = [(event, None)]
        if producer.held:
            released += self._drain(producer)
        return released

    def _drain(self, producer: Producer) -> list[tuple[Event, int | None]]:
        released: list[tuple[Event, int | None]] = []
        while producer.next in producer.held:
            released.append((producer.held.pop(producer.next)[0], None))
            self.held -= 1
            producer.next += 1
        return released

    def _holds_too_much(self) -> bool:
        held = [size for p in self.producers.values() for _, size, _ in p.held.values()]
        return len(held) > HELD_EVENTS or sum(held) > HELD_BYTES

    def _oldest_wait(self) -> str:
        waiting = [(wait, name) for name, p in self.producers.items() if (wait := p.waits_until()) is not None]
        return min(waiting, key=lambda pair: pair[0])[1]

    def _give_up(self, name: str, position: int) -> list[tuple[Event, int | None]]:
        producer = self.producers[name]
        lowest = min(producer.held)
        self._note_missing(name, producer.next, lowest - 1, position)
        producer.next = lowest
        return self._drain(producer)

    def _note_missing(self, name: str, first: int, last: int, position: int) -> None:
        if len(self.missing) < RANGES:
            self.missing.append([name, first, last, position])
        else:
            self.broken = True


class Course:
    """Where a run stands: its turn, whose move it is, which calls are open, what is missing."""

    def __init__(self) -> None:
        self.applied = 0
        self.turn = 0
        self.users = 0
        self.move = "agent"
        """Whose move it is: ``user``, ``agent`` or ``tool``."""
        self.calls: list[list[Any]] = []
        """Open calls: call id, tool, position."""
        self.last_gap = -1
        self.flags: set[str] = set()

    def read(self, event: Event, filled: int | None, *, loose: bool = False) -> Seen:
        """Place an event in the run. One that fills a given-up gap (``filled``) moves nothing on.

        Its turn is the one it names, else the one that is counted; a late event that names none has none (-1).
        """
        late = filled is not None
        if not late:
            self._turn_to(event)
        turn = event.turn if event.turn is not None else -1 if late else self.turn
        place = self.applied if filled is None else filled
        seen = Seen(event, place, turn, loose or self.last_gap >= 0, late, loose)
        if isinstance(event, ToolCall):
            seen.tool = event.name
            if not late:
                self._open(event)
        elif isinstance(event, ToolResult):
            self._pair(event, seen)
        if not late:
            self.applied += 1
            self._move(event)
        if event.flags:
            self._note_flags(event.flags)
        return seen

    def snapshot(self) -> list[Any]:
        """The state as JSON values."""
        return [self.applied, self.turn, self.users, self.move, self.calls, self.last_gap, sorted(self.flags)]

    @classmethod
    def resume(cls, values: list[Any]) -> "Course":
        """The course that gave this snapshot."""
        course = cls()
        course.applied, course.turn, course.users, course.move, course.calls, course.last_gap, flags = values
        course.flags = set(flags)
        return course

    def _note_flags(self, flags: tuple[str, ...]) -> None:
        for flag in flags:
            if len(flag) <= NAME and len(self.flags) < FLAGS:
                self.flags.add(flag)

    def _turn_to(self, event: Event) -> None:
        is_user = type(event) is Message and event.role == "user"
        if event.turn is not None:
            if event.turn < self.turn:
                self.flags.add("late")  # Its turn may have ended, and an ended turn is not amended.
            self.turn = max(self.turn, event.turn)
        elif is_user and self.users:
            self.turn += 1
        self.users += is_user

    def _open(self, event: ToolCall) -> None:
        self.calls.append([bounded(event.call_id or ""), event.name, self.applied])
        # Few runs have more than a handful of open calls: only then is it worth weighing them.
        while len(self.calls) > 32 and (len(self.calls) > OPEN_CALLS or len(to_json(self.calls)) > OPEN_BYTES):
            del self.calls[0]
            self.flags.add("call_unpaired")

    def _pair(self, event: ToolResult, seen: Seen) -> None:
        """The open call that a result answers.

        With an id, the oldest call with that id, else the oldest without one. Without an id, the oldest call of the
        named tool that has none either, else the only call it can be; two or more are not guessed at, nor is one
        where a second may be missing.
        """
        seen.tool = event.name
        fits = [call for call in self.calls if event.name in (None, call[1])]
        bare = [call for call in fits if not call[0]]
        if event.call_id:
            call_id = bounded(event.call_id)
            found = [call for call in fits if call[0] == call_id]
            found = found or (bare if event.name or (len(bare) == 1 and not seen.gap) else [])
        else:
            # Without ids the calls of one tool are answered in their order.
            found = bare if event.name and bare else fits if len(fits) == 1 and not seen.gap else []
        if not found:
            self.flags.add("result_unpaired")
            return
        call = found[0]
        self.calls.remove(call)
        seen.tool = event.name or call[1]
        seen.call = call[2]

    def _move(self, event: Event) -> None:
        if type(event) is Message:
            if event.role == "user":
                self.move = "agent"
            elif event.role == "assistant":
                self.move = "user"
        elif type(event) is ToolCall or type(event) is ToolResult:
            self.move = "tool" if self.calls else "agent"
        elif type(event) is RunStart and self.applied == 1:
            self.move = "agent"


def is_aside(event: Event) -> bool:
    """Does the event only take its number: a label, a judge's answer, something no grader reads?"""
    return isinstance(event, ASIDES)


def is_loss(event: Event) -> bool:
    """Does the event stand for one that could not be read?"""
    return type(event) is Unknown and event.lost


def _places(released: list[tuple[Event, int | None]]) -> int:
    """How many places in the run these events will take: asides take none."""
    return sum(not is_aside(event) for event, _ in released)


def bounded(name: str) -> str:
    """A name that a sender chose, at a length that state can bear."""
    return name if len(name) <= NAME else f"{name[:NAME]}~{_short(name)}"


def _short(event_id: str) -> str:
    return blake2b(event_id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
