"""Grades the records of one partition: sessions in memory, states as bytes, outputs as batches.

No Faust, no broker, no clock: a test hands it records and a dict. A desk belongs to one generation of the consumer
group; the next generation starts with a new one, since another worker may have moved the runs on.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ..asking import Ask
from ..events import SCHEMA, DeadLetter, Event, Tick, Unknown, to_json
from ..gradebook import Publish
from ..session import At, Bury, Effect, Ledger, Session, StateError, kept_deadline, watermark
from ..suites import Fleet
from ..verdicts import RunVerdict, Verdict, Violation
from ..wire import Refused, decode
from .overload import KEY, Overload
from .topics import partition_of

LIVE = 20_000
"""Sessions kept decoded; the rest are bytes."""
SETTLED = frozenset({"judging", "closed", "ended"})
"""Phases of a run that hardly an event comes for any more, so that its state is kept as bytes alone: decoded it takes ten times the
memory, and there are six hundred seconds of such runs."""
NEVER = 2**63
ADVANCES = 200
"""Runs whose deadline passed that are moved on together: a hundred thousand may fall silent at once, and a worker that
moved them all would stand still."""

REPEATED = 10_000
"""Records that a worker may have graded and published, without keeping their states, when it died: no batch is larger."""
_at = tuple.__new__  # What `At` does in a call of its own, which costs three times as much, for each event.
Headers = list[tuple[str, bytes]]
Output = tuple[bytes | None, bytes | None, Headers]


class Record(Protocol):
    """What a desk reads of a journal record."""

    key: bytes | None
    value: bytes | None
    offset: int
    timestamp: int


@dataclass
class Outputs:
    """What a batch of one partition wants written."""

    verdicts: list[Output] = field(default_factory=list)
    run_verdicts: list[Output] = field(default_factory=list)
    violations: list[Output] = field(default_factory=list)
    judge_requests: list[Output] = field(default_factory=list)
    dead_letters: list[Output] = field(default_factory=list)
    states: dict[bytes, bytes | None] = field(default_factory=dict)
    removed: dict[bytes, int] = field(default_factory=dict)
    """Of the states that are to be removed, the watermark."""


class Counts:
    """What a worker counted since it started."""

    def __init__(self) -> None:
        self.ledger = Ledger()
        self.consumed = 0
        self.events: Counter[type[Event] | type[Tick]] = Counter()
        self.dead: Counter[str] = Counter()
        self.asked = 0
        """Questions to judges."""
        self.inherited = 0
        """Held events of live sessions that somebody else read, less those that somebody else will release."""
        self.published: list[tuple[Verdict | RunVerdict | Violation, int]] = []
        """Records made since somebody last took them, for metrics, with the log time of what settled them."""

    @property
    def held(self) -> int:
        """Events that wait in the live sessions."""
        return self.ledger.held + self.inherited

    def let_go(self) -> None:
        """The live sessions are another worker's to go on with, or to be loaded anew."""
        self.inherited = -self.ledger.held

    def difference(self) -> int:
        """Events that the ledger does not account for; not 0 is a defect."""
        return self.consumed - self.ledger.sum() - self.ledger.replayed


@dataclass(slots=True)
class _Live:
    """A run whose session is kept decoded."""

    session: Session
    misplaced: bool
    """Does the run belong to another partition? Hashing its key costs more than grading an event."""
    fed: list[tuple[Event, At]] = field(default_factory=list)
    """What it was fed in the batch at work, to rebuild it without a record that it fails on."""


class Desk:
    """The runs of one partition in one generation."""

    def __init__(
        self,
        fleet: Fleet,
        place: tuple[str, int, int],
        kept: Mapping[bytes, bytes],
        counts: Counts,
        live: int = LIVE,
    ) -> None:
        """Take over a partition.

        Args:
            fleet: the loaded suites.
            place: the journal, the partition, and how many partitions the journal has.
            kept: the durable states of its runs; read, never written.
            counts: where to count.
            live: how many sessions to keep decoded.
        """
        self.fleet = fleet
        self.journal, self.partition, self.partitions = place
        self.counts = counts
        self.clock = 0
        """The latest log time read."""
        self.read = -1
        """The last offset read."""
        self._limit = live
        self._kept = kept
        self._live: dict[bytes, _Live] = {}
        """The least recently used stands first."""
        self._touched: dict[bytes, _Live] = {}
        """Those of the batch at work."""
        self._gone: dict[bytes, int] = {}
        """Kept states that need not be remembered, with their watermark."""
        self._out = Outputs()
        self._overload = Overload(kept.get(KEY))
        self._settled = max((watermark(data) for key, data in kept.items() if key != KEY), default=-1)
        """Up to where states tell that records were graded; who graded them may have published a batch more."""
        self.behind_by = self._overload.last
        """How far behind the worker was when it last looked, in milliseconds; counts once it is written down."""
        self._due_of = {key: due for key, data in kept.items() if (due := kept_deadline(data)) is not None}
        self._due = [(due, key) for key, due in self._due_of.items()]
        """By time, when to look at a run: at its deadline, or at one that it had before and that has moved on since. With an entry for
        each deadline that a run ever had, the heap would grow by every event of the last quarter of an hour."""
        self._looks = dict(self._due_of)
        """When a run is looked at: its entry in the heap that counts."""
        heapq.heapify(self._due)

    # -- in ----------------------------------------------------------------------------------------------------------

    def grade(self, records: Iterable[Record]) -> None:
        """Grade records, in their order."""
        counts = self.counts
        for record in records:
            counts.consumed += 1
            self.clock = max(self.clock, record.timestamp)
            if self.read < 0:
                self._settled = max(self._settled, record.offset - 1)
            self.read = record.offset
            event: Event | Tick | Refused | None = decode(record.value, record.key)
            if isinstance(event, Refused):
                counts.ledger.buried += 1
                self._bury(record, event.reason, event.detail)
                if event.taken is not None:
                    counts.ledger.skipped -= 1  # Its stand-in will be counted, and the record is by now.
                    self._feed(record, event.taken)
            elif isinstance(event, Event):
                counts.events[type(event)] += 1
                self._feed(record, event)
            else:
                counts.events[Tick] += 1
                counts.ledger.skipped += 1

    def advance(self, limit: int = ADVANCES) -> None:
        """Move on the runs whose deadline log time has passed, at most ``limit`` of them."""
        while limit and (due := self._next_due()) is not None and due <= self.clock:
            _, key = heapq.heappop(self._due)
            limit -= 1
            del self._due_of[key], self._looks[key]
            session = (self._touched.get(key) or self._at_work(key)).session
            self._publish(session, session.advance(self.clock))

    @property
    def behind(self) -> bool:
        """Are there runs left whose deadline log time has passed?"""
        due = self._next_due()
        return due is not None and due <= self.clock

    def deadline(self) -> int | None:
        """The earliest log time at which there is something to do; None when there is nothing."""
        return self.clock if self._gone else self._next_due()

    def _next_due(self) -> int | None:
        while self._due:
            look, key = self._due[0]
            due = self._due_of.get(key)
            if due == look and self._looks[key] == look:
                return look
            heapq.heappop(self._due)
            if self._looks.get(key) != look:
                continue  # Another entry of the run counts.
            if due is None:
                del self._looks[key]
            else:
                self._look(key, due)
        return None

    @property
    def runs(self) -> int:
        """Runs that are remembered, in whatever phase."""
        return len(self._kept) - (KEY in self._kept)

    def mark(self, since: int) -> bytes | None:
        """What is to be written down before the next record is graded, under `overload.KEY`; None if nothing changed.

        ``since`` is a log time after which nobody else read the partition.
        """
        # What another worker published before it died, and did not come to keep, must not be decided anew.
        if self.read < self._settled + REPEATED and self.clock <= since:
            return None
        return self._overload.snapshot() if self._overload.mark(self.read + 1, self.behind_by) else None

    # -- out ---------------------------------------------------------------------------------------------------------

    def take(self, committed: int) -> Outputs:
        """What the batch wants written; ``committed`` is the partition's committed offset."""
        out, self._out = self._out, Outputs()
        for key, live in self._touched.items():
            session = live.session
            live.fed = []
            if session.phase != "gone":
                out.states[key] = session.snapshot()
                self._schedule(key, session)
                self._gone.pop(key, None)
                if session.phase in SETTLED:
                    self._drop(key)
            elif key in self._kept:
                self._gone[key] = session.offset
        self._touched = {}
        # Only what is committed: were a state removed before, a redelivered event would open its run anew.
        for key in [key for key, mark in self._gone.items() if committed > mark]:
            out.states[key] = None
            out.removed[key] = self._gone.pop(key)
            self._drop(key)
        while len(self._live) > self._limit:
            self._drop(next(iter(self._live)))
        return out

    # -- one event ---------------------------------------------------------------------------------------------------

    def _feed(self, record: Record, event: Event) -> None:
        key = record.key or event.run_id.encode()
        live = self._touched.get(key) or self._at_work(key)
        behind = self._overload.at(record.offset)
        at = _at(At, (record.timestamp, record.offset, len(record.value or b""), live.misplaced, behind))
        try:
            effects = live.session.feed(event, at)
        except StateError:
            raise
        except Exception as error:  # noqa: BLE001  (whatever it raised, one record must not stop the stream)
            self._bury(record, DeadLetter.SESSION_FAILED, f"{type(error).__name__} in the session")
            self._rebuild(key, live)
            event = _in_place_of(event)
            effects = live.session.feed(event, at)
        live.fed.append((event, at))
        if effects:
            self._publish(live.session, effects, record)

    def _at_work(self, key: bytes) -> _Live:
        """A run that the batch at work comes to for the first time."""
        live = self._live.pop(key, None)
        if live is None:
            session = self._loaded(key, self.counts.ledger)
            self.counts.inherited += _held(session)
            live = _Live(session, partition_of(key, self.partitions) != self.partition)
        self._live[key] = self._touched[key] = live
        return live

    def _drop(self, key: bytes) -> None:
        live = self._live.pop(key, None)
        if live is not None:
            self.counts.inherited -= _held(live.session)

    def _loaded(self, key: bytes, ledger: Ledger) -> Session:
        data = self._kept.get(key)
        run_id = key.decode()
        return Session(self.fleet, run_id, ledger) if data is None else Session.resume(self.fleet, run_id, data, ledger)

    def _rebuild(self, key: bytes, live: _Live) -> None:
        """Make the session from its stored state and what it was fed in this batch; the effects of that are out already."""
        session = self._loaded(key, Ledger())
        for event, at in live.fed:
            session.feed(event, at)
        session.ledger = self.counts.ledger
        live.session = session
        # The failed call may have counted before it failed: what is counted too much is the difference.
        self.counts.ledger.buried += 1
        self.counts.ledger.skipped -= 1
        self.counts.ledger.graded += self.counts.difference() - 1

    def _schedule(self, key: bytes, session: Session) -> None:
        due = session.deadline()
        if due is None:
            self._due_of.pop(key, None)
        else:
            self._due_of[key] = due
            if due < self._looks.get(key, NEVER):
                self._look(key, due)

    def _look(self, key: bytes, at: int) -> None:
        self._looks[key] = at
        heapq.heappush(self._due, (at, key))

    def _publish(self, session: Session, effects: list[Effect], record: Record | None = None) -> None:
        key = session.run_id.encode()
        for effect in effects:
            if isinstance(effect, Bury):
                if record is not None:
                    self._bury(record, effect.reason, effect.reason.meaning)
                continue
            if isinstance(effect, Publish):
                self.counts.published.append((effect.record, self.clock if record is None else record.timestamp))
            else:
                self.counts.asked += 1
            self._topic_of(effect).append((key, to_json(effect.record), self._headers(effect)))

    def _topic_of(self, effect: Publish | Ask) -> list[Output]:
        if isinstance(effect, Ask):
            return self._out.judge_requests
        if isinstance(effect.record, Verdict):
            return self._out.verdicts
        return self._out.run_verdicts if isinstance(effect.record, RunVerdict) else self._out.violations

    def _headers(self, effect: Publish | Ask) -> Headers:
        place = "" if effect.offset is None else f"{self.journal}/{self.partition}/{effect.offset}"
        return [("sg-schema", effect.record.schema.encode()), ("sg-at", place.encode())]

    def _bury(self, record: Record, reason: DeadLetter, detail: str) -> None:
        self.counts.dead[reason] += 1
        headers = {
            "dlq.original.topic": self.journal,
            "dlq.original.partition": str(self.partition),
            "dlq.original.offset": str(record.offset),
            "dlq.original.timestamp": str(record.timestamp),
            "dlq.error.reason": reason,
            "dlq.error.message": detail[:512],
        }
        told = [(name, value.encode()) for name, value in headers.items()]
        self._out.dead_letters.append((record.key, record.value, told))


def _in_place_of(event: Event) -> Unknown:
    return Unknown(
        schema=SCHEMA, id=event.id, run_id=event.run_id, ts=event.ts, seq=event.seq, producer=event.producer, lost=True
    )


def _held(session: Session) -> int:
    return session.order.held + len(session.waiting)
