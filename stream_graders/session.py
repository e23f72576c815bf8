"""One run from its first event to its last verdict.

`Session.feed` takes an event and the log time and offset of its record; `Session.advance` lets deadlines pass. Both
return effects for an edge to carry out. A session is a pure function of what it was fed: the same records give the same
effects wherever batches are cut and whenever `advance` is called (design 2).

A session is in one phase at a time:

- ``new``: nothing that opens a run was released; numbers are remembered, for 30 s.
- ``waiting``: the run is open, and no event named its agent yet.
- ``open``: its suites are pinned and their checks read.
- ``judging``: it is complete, and a run verdict waits for judges; an event may still amend what was said.
- ``closed``: its verdicts are out; an event may still amend them.
- ``ended``: only its numbers are remembered, so that a repetition is known and a continuation starts a segment.
- ``unselected``: no suite is for it.
- ``gone``: nothing need be remembered.
"""

from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from .answers import is_genuine
from .asking import Ask
from .entries import Decided, decided_by
from .events import (
    OPENERS,
    UNSENT,
    DeadLetter,
    Event,
    Expected,
    JudgeAnswer,
    Message,
    RunEnd,
    RunPause,
    RunStart,
    ToolCall,
    ToolResult,
    event_from,
    expected_from,
    from_json,
    stamp,
    to_json,
)
from .gradebook import Gradebook, Publish, See
from .grading import RunFacts
from .identity import are_many, cut, learned, started
from .suites import Completion, Fleet, Suite
from .trajectory import HELD_BYTES, HELD_EVENTS, HELD_MS, Arrival, Course, Order, Producer, bounded, is_aside, is_loss
from .verdicts import Identity, Outcome, Reason, identity_from, identity_with
from .weighing import Standpoint

STATE_VERSION = 2
_JUDGED = 2
"""The version since which a run may have asked judges. A state that knows of none is written as before, for a worker of
that version to go on from."""

EXPECTED_BYTES = 16 * 1024
"""What a run's own references may weigh as JSON; the checks that larger ones are meant for have no verdict."""


class At(NamedTuple):
    """Where a record stands in the journal."""

    time: int
    """Log time: the append time that the broker stamped, in milliseconds."""
    offset: int
    size: int = 0
    misplaced: bool = False
    """The partition is not the one that the run id belongs to."""
    behind: int = 0
    """How far behind the worker is, in milliseconds, as it wrote down before it read the record; 0 unless a suite sheds."""


@dataclass(frozen=True, slots=True)
class Bury:
    """An effect: the event that was just fed is to be dead-lettered."""

    reason: DeadLetter


Effect = Publish | Ask | Bury


@dataclass
class Ledger:
    """What became of the events: every one is in exactly one of these (design 5)."""

    graded: int = 0
    duplicates: int = 0
    buried: int = 0
    skipped: int = 0
    unselected: int = 0
    held: int = 0
    """A level, not a count: held events leave it when they are graded."""
    replayed: int = 0
    """Records at or below a run's watermark; their events were counted before."""
    opened: list[Identity] = field(default_factory=list)
    """Runs that were selected, for whoever counts them."""
    restarted: int = 0
    misplaced: int = 0
    answered: int = 0
    """Answers of judges that a check was waiting for."""
    unasked: int = 0
    """Answers that nothing was waiting for, or that nobody signed who has the key."""

    def sum(self) -> int:
        """The events accounted for."""
        return self.graded + self.duplicates + self.buried + self.skipped + self.unselected + self.held


class Reading(NamedTuple):
    """How a check stands while its run is open: what it would say if the run ended now, and whether that can change."""

    suite: str
    check: str
    outcome: Outcome
    reason: Reason
    evidence: str
    is_decided: bool


class StateError(ValueError):
    """A kept state that this program cannot read."""


class Session:
    """One run under the suites that select it."""

    def __init__(self, fleet: Fleet, run_id: str, ledger: Ledger) -> None:
        self.fleet = fleet
        self.run_id = run_id
        self.ledger = ledger
        self.phase = "new"
        self.now = 0
        self.offset = -1
        self._calm_until = 0
        self._lane: Producer | None = None
        """The run's only producer, while its events come in order and nothing waits: the way most events take."""
        self._lane_name = ""
        self._reset()

    def _reset(self) -> None:
        self.phase = "new"
        self.order = Order()
        self.course = Course()
        self._books: list[Gradebook] = []
        self._shelved: list[list[Any]] = []
        """The books of a run that is closed, as they were kept: most such runs only end, and no check is looked at again."""
        self._longest: Completion | None = None
        """The times of its suites, once somebody has asked."""
        self.waiting: list[tuple[Event, int, int, int | None]] = []
        """Released events that wait for the agent's name: event, bytes, offset, gap filled."""
        self.identity = Identity()
        self.started = False
        """A `RunStart` gave the identity; before it, what the first events said."""
        self.expected: Expected | None = None
        """The references that the run brought along."""
        self.reports: list[str] | None = None
        self.pins: list[str] = []
        """Suites that an earlier segment of the run was graded by."""
        self.since = self.now
        """Log time at which the phase began."""
        self.quiet_since = self.now
        self.paused = False
        self.opened_at = ""
        self.first_event_id = ""
        self.last_event_at: datetime | int | str = ""
        """As the event has it: it is stamped when somebody looks, for most events nobody does."""
        self.tools_seen = False
        self.no_messages = self.no_results = False
        """Content of messages or results was left out by their sender."""
        self.tail_unknown = False
        self.unreadable = False
        """An event of the run could not be read, or the run lies on the wrong partition."""
        self.lost = False
        """Unreadable, or a gap was given up."""
        self.disordered = False
        """A gap was given up among several producers: what comes after what is not known."""
        self.end: list[Any] | None = None
        """The run's end: producer, last number, when to stop waiting for it, decided, status."""
        self.completion = ""
        self.until = 0
        """When the phase ends: ``closed``, ``ended``, ``unselected``."""
        self.refusal = ""
        self.flags: set[str] = set()

    @property
    def books(self) -> list[Gradebook]:
        """The suites that grade this run."""
        if self._shelved:
            shelved, self._shelved = self._shelved, []
            by_name, expected = self.fleet.by_name, self.expected
            self._books = [Gradebook.resume(value, by_name.get(value[0]), expected) for value in shelved]
        return self._books

    # -- in --------------------------------------------------------------------------------------------------------

    def feed(self, event: Event, at: At) -> list[Effect]:
        """Take one event of this run.

        Deadlines at or before its log time take effect first. A record at or below the watermark changes nothing.

        Raises:
            StateError: the state belongs to another journal.
        """
        if at.offset <= self.offset:
            if at.time > self.now:
                raise StateError(_made_anew(self, at))
            self.ledger.replayed += 1
            return []
        now = max(at.time, self.now)
        lane = self._lane
        if (
            lane is not None
            and event.seq == lane.next
            and event.producer == self._lane_name
            and now < self._calm_until
            and type(event) in _PLAIN_KINDS
            and (event.tenant is None or event.tenant == self.identity.tenant)
        ):
            lane.next += 1
            self.now, self.offset = now, at.offset
            effects: list[Effect] = []
            self._apply(event, at.offset, None, effects)
            return effects
        self._lane = None
        effects = [] if now < self._calm_until else self.advance(now)
        if self.phase == "gone":
            self._reset()
        self.now, self.offset = now, at.offset
        if self.phase == "new" and not self.order.producers and not self.order.recent:
            self.since = now
        held = self._held()
        reason = self._take(event, at, effects)
        if reason is not None:
            self.ledger.buried += 1
            effects.append(Bury(reason))
        self.ledger.held += self._held() - held
        if self.phase != "open" or self.order.held or self.end is not None:
            self._calm_until = 0
        elif len(self.order.producers) == 1 and not self.order.restarts:
            ((self._lane_name, self._lane),) = self.order.producers.items()
        return effects

    def advance(self, now: int) -> list[Effect]:
        """Let log time pass: each deadline at or before ``now`` takes effect, in their order."""
        effects: list[Effect] = []
        while (due := self.deadline()) is not None and due <= now:
            self.now = max(self.now, due)
            self._lane = None
            held = self._held()
            self._expire(due, effects)
            self.ledger.held += self._held() - held
        self._calm_until = self._nothing_before(due)
        return effects

    def _nothing_before(self, due: int | None) -> int:
        """A time before which nothing can be due, whatever events come: asking for the deadline at each costs more.

        Only in an open run that nothing waits in: events move its silence on, and whose move it is changes how long
        that lasts, but never to less than the shortest.
        """
        if self.phase != "open" or self.order.held or self.end is not None or due is None:
            return 0
        times = self._times()
        return min(due, self.now + min(times.idle_user, times.idle_agent, times.idle_tool))

    def finish(self) -> list[Effect]:
        """The input has ended: complete what is open, as `grade` does with a file."""
        effects: list[Effect] = []
        held = self._held()
        self._give_up_gaps(effects)
        if self.phase == "waiting":
            self._select(effects, force=True)
        if self.phase == "open":
            if self.end is None:
                self.flags.add("end_implied")
                self._complete("end_of_input", effects)
            else:
                self._lose_tail(effects)
        if self.phase == "judging":
            self._wait_no_longer(None, effects)
        self.ledger.held += self._held() - held
        return effects

    def readings(self) -> list[Reading]:
        """How the checks of an open run stand, for whoever looks in; nothing is published and nothing changes."""
        at = self._standpoint()
        return [
            Reading(book.suite.name, name, found.outcome, found.reason, found.evidence, decided)
            for book in self.books
            for name, found, decided in book.readings(at)
        ]

    def deadline(self) -> int | None:
        """The log time at which something of this run is due; None when nothing is."""
        if self.phase in ("ended", "unselected"):
            return self.until
        if self.phase == "gone":
            return None
        due = self.order.deadline() if self.order.held else None
        if self.phase == "new" and due is not None:
            return due  # What waits behind the gap may open the run.
        if self.phase == "new" or self.phase == "waiting":
            return _earliest(due, self.since + HELD_MS)
        if self.phase == "closed":
            return _earliest(due, self.until)
        if self.phase == "judging":
            dues = [late for late in (due, *(book.due for book in self.books)) if late is not None]
            return min(dues, default=self.now)  # What it waited for may be gone from its suite.
        times = self._times()
        due = _earliest(due, self.since + times.max_age)
        if self.end is not None and self.end[2] is not None:
            due = _earliest(due, self.end[2])
        if not self.paused:
            idle = {"user": times.idle_user, "agent": times.idle_agent, "tool": times.idle_tool}[self.course.move]
            due = _earliest(due, self.quiet_since + idle)
        return due

    # -- arrival ---------------------------------------------------------------------------------------------------

    def _take(self, event: Event, at: At, effects: list[Effect]) -> DeadLetter | None:
        if event.tenant is not None:
            tenant = cut(event.tenant)
            if self.identity.tenant is not None and tenant != self.identity.tenant:
                return DeadLetter.TENANT_MISMATCH
            if self.identity.tenant is None:
                self.identity = identity_with(self.identity, {"tenant": tenant})
        if type(event) is JudgeAnswer and event.seq is None:
            self._hear_judge(event, effects)
        if self.phase == "unselected":
            self.ledger.unselected += 1
            self._remember_unselected()
            return None
        if self.phase == "ended":
            decided = self._reopen(event)
            if decided is not None:
                return decided if isinstance(decided, DeadLetter) else None
        if event.seq is None and (is_aside(event) or (self.phase == "new" and not isinstance(event, OPENERS))):
            self.ledger.skipped += 1  # It neither opens a run nor leaves a hole.
            if is_loss(event):
                self._lose()
            if self.phase == "new" and not self.order.producers:
                self.phase = "gone"
            return None
        if at.misplaced and "wrong_partition" not in self.flags:
            self.flags.add("wrong_partition")
            self.ledger.misplaced += 1
            self._lose()
        restarted = self.order.restarted
        arrival, released = self.order.take(event, at.size, self.now, self._position())
        if self.order.restarted != restarted:
            self.flags.add("seq_restarted")
            self.ledger.restarted += 1
        if arrival is Arrival.DUPLICATE:
            self.ledger.duplicates += 1
        elif arrival is Arrival.FAR_AHEAD:
            return DeadLetter.SEQ_FAR_AHEAD
        self._note_gaps()
        self._release(released, effects, at)
        self._complete_if_ended(effects)
        return None

    def _hear_judge(self, event: JudgeAnswer, effects: list[Effect]) -> None:
        """Take a judge's answer: the first to a request that is outstanding counts, if who holds the key signed it."""
        decided = decided_by(event, self.offset)
        genuine = self.phase in ("judging", "closed") and is_genuine(self.fleet.judge_key, event)
        book = next((b for b in self.books if genuine and b.answer(event.request_id, event.answer, decided)), None)
        if book is None:
            self.ledger.unasked += 1
            return
        self.ledger.answered += 1
        at = self._standpoint()
        effects += book.conclude(at, decided)
        self._say_run(book, at, effects)
        self._close_if_judged()

    def _say_run(self, book: Gradebook, at: Standpoint, effects: list[Effect]) -> None:
        """The run verdict, if it is due and says something new."""
        if not book.waits and (book.moved or book.revision == 0):
            effects.append(book.run_verdict(at, self._figures()))

    def _close_if_judged(self) -> None:
        """Begin the amend window once every run verdict is out; a question that came up in it is waited for again."""
        if any(book.waits for book in self.books):
            self.phase = "judging"
        elif self.phase == "judging":
            self.phase, self.since = "closed", self.now
            self.until = self.now + self._times().amend_window

    def _wait_no_longer(self, due: int | None, effects: list[Effect]) -> None:
        """Judges are late, or nobody is there to ask: say so, and go on."""
        at = self._standpoint()
        ending: Decided | None = None if self.end is None else _decided(self.end[3])
        for book in self.books:
            if book.waits or book.revision == 0:
                book.give_up(due)
                effects += book.conclude(at, ending)
                self._say_run(book, at, effects)
        self._close_if_judged()

    def _reopen(self, event: Event) -> DeadLetter | bool | None:
        """An event of a run that ended: None if it opens a segment, else what became of it."""
        if self.order.is_known(event):
            self.ledger.duplicates += 1
            return True
        if is_aside(event):
            if event.seq is not None and event.seq == self.order.expected(event.producer):
                self.order.take(event, 0, self.now, 0)
            self.ledger.skipped += 1
            return True
        starts = isinstance(event, RunStart) or (isinstance(event, Message) and event.role == "user")
        if not isinstance(event, OPENERS) or (event.seq is None and not starts):
            if event.seq is not None and event.seq == self.order.expected(event.producer):
                self.order.take(event, 0, self.now, 0)  # It is refused, not missing: no gap for the next segment.
            return DeadLetter.LATE
        kept = (self.order, self.identity, self.reports, self.pins)
        self._reset()
        self.order, self.identity, self.reports, self.pins = kept
        self.flags.add("resumed")
        return None

    def _release(self, released: list[tuple[Event, int | None]], effects: list[Effect], at: At | None = None) -> None:
        for event, filled in released:
            if is_loss(event):
                self._lose()
                self.ledger.skipped += 1
            elif is_aside(event):
                self.ledger.skipped += 1
            elif self.phase == "unselected":
                self.ledger.unselected += 1
            elif self.phase == "new" and not isinstance(event, OPENERS):
                self.ledger.skipped += 1
            elif self.phase in ("new", "waiting"):
                self._await_agent(event, at, filled, effects)
            else:
                self._apply(event, self.offset, filled, effects)
                if self.phase in ("closed", "judging"):
                    self._amend(event, effects)
        if self.order.inferred:
            self.flags.add("order_inferred")

    def _await_agent(self, event: Event, at: At | None, filled: int | None, effects: list[Effect]) -> None:
        if self.phase == "new":
            self.phase, self.since, self.quiet_since = "waiting", self.now, self.now
        self.waiting.append((event, 0 if at is None else at.size, self.offset, filled))
        self._learn(event)
        too_much = len(self.waiting) > HELD_EVENTS or sum(item[1] for item in self.waiting) > HELD_BYTES
        if self.identity.agent is not None or too_much:
            self._select(effects, force=too_much, behind=0 if at is None else at.behind)

    # -- selection -------------------------------------------------------------------------------------------------

    def _select(self, effects: list[Effect], *, force: bool, behind: int = 0) -> None:
        """Pin the suites for this run; ``force`` where nobody will name the agent in time."""
        unknown = self.identity.agent is None
        refusals: list[str] = []
        for suite in self.fleet:
            refusal = suite.select.refusal(self.identity, but_agent=unknown)
            if suite.name in self.pins or refusal is None:
                blind = unknown and suite.select.asks_agent
                sheds = suite.shed is not None and suite.shed.leaves_out(self.run_id, behind)
                barred = Reason.AGENT_UNKNOWN if blind else Reason.SHED if sheds else None
                book = Gradebook.open(suite, self.expected, barred)
                if "expected_dropped" in self.flags:
                    book.lack(None, Reason.STATE_LIMIT)
                self.books.append(book)
                self._longest = None
            else:
                refusals.append(f"{suite.name}: {refusal}")
        if unknown and force:
            self.flags.add("agent_unknown")
        waiting, self.waiting = self.waiting, []
        if not self.books:
            self.phase = "unselected"
            self.refusal = "; ".join(refusals) or "no suite is loaded"
            self.ledger.unselected += len(waiting) + self.order.held
            self.order = Order()
            self.until = 0
            self._remember_unselected()
            return
        self.phase = "open"
        self.ledger.opened.append(self.identity)
        for event, _, offset, filled in waiting:
            self._apply(event, offset, filled, effects)

    def _remember_unselected(self) -> None:
        # Moved on rarely, so that an unselected run does not cost a state write an event.
        hour = Completion().remember
        if self.until < self.now + hour // 2:
            self.until = self.now + hour

    def _learn(self, event: Event) -> None:
        """Fill the identity from an event: a `RunStart` wins, else the first event that says."""
        if isinstance(event, RunStart) and not self.started:
            self.started = True
            self.identity = started(self.identity, event)
            if are_many(event.labels):
                self.flags.add("labels_cut")
            if event.reports is not None:
                self.reports = list(event.reports)
            if event.expected is not None:
                self._expect(event.expected)
        self.identity = learned(self.identity, event)

    def _expect(self, expected: Expected) -> None:
        """Take over the references that a run's start brings along, if nothing was compared without them yet."""
        if self.books:
            for book in self.books:
                book.lack(expected, Reason.EXPECTED_LATE)
        elif len(to_json(expected)) > EXPECTED_BYTES:
            self.flags.add("expected_dropped")
        else:
            self.expected = expected

    # -- the run's course ------------------------------------------------------------------------------------------

    def _apply(self, event: Event, offset: int, filled: int | None, effects: list[Effect]) -> None:
        if not self.opened_at:
            self.opened_at, self.first_event_id = stamp(event.ts), event.id
            self._learn(event)
        elif not self.started or self.identity.agent is None:
            self._learn(event)
        loose = len(self.order.producers) > 1 and (self.disordered or self.order.held > 0)
        seen = self.course.read(event, filled, loose=loose)
        self.ledger.graded += 1
        if seen.late:
            self.flags.add("late")
        else:
            self.quiet_since = self.now
            self.paused = isinstance(event, RunPause)
            self.last_event_at = event.ts
        self._note(event, offset)
        see = See(self._standpoint)
        for book in self.books:
            effects += book.take(seen, offset, see)

    def _note(self, event: Event, offset: int) -> None:
        kind = type(event)
        if kind is ToolCall:
            self.tools_seen = True
        elif kind is ToolResult:
            self.tools_seen = True
            if event.result is UNSENT and event.result_raw is None:  # type: ignore[attr-defined]  # kind says so
                self.no_results = True
                self.flags.add("content_missing")
        elif kind is Message:
            if event.content is UNSENT:  # type: ignore[attr-defined]  # kind says so
                self.no_messages = True
                self.flags.add("content_missing")
        elif isinstance(event, RunEnd):
            self._note_end(event, offset)
        if event.flags and "content_missing" in event.flags:
            self.no_messages = self.no_messages or kind is not ToolResult
            self.no_results = self.no_results or kind is not Message

    def _note_end(self, event: RunEnd, offset: int) -> None:
        short = event.seq is not None and event.last_seq is not None
        short = short and self.order.expected(event.producer) <= (event.last_seq or 0)
        until = self.now + HELD_MS if short else None
        last = event.last_seq if short else None
        self.end = [bounded(event.producer), last, until, decided_by(event, offset), event.status]
        if event.implied:
            self.flags.add("end_implied")

    def _lose(self) -> None:
        """An event of the run is missing for good."""
        self.unreadable = self.lost = True
        self.course.last_gap = self._position()
        self.flags.add("incomplete")

    def _note_gaps(self) -> None:
        if self.order.missing or self.order.broken:
            places = [position for _, _, _, position in self.order.missing]
            self.course.last_gap = max([self.course.last_gap, *places, 0])
            # What waited behind a gap is released after what other producers sent later.
            self.disordered = self.disordered or self.order.broken or len(self.order.producers) > 1
            self.flags.add("incomplete")
            self.lost = True

    def _give_up_gaps(self, effects: list[Effect]) -> bool:
        """Give up every gap and grade what waited behind it; was there any?"""
        released = self.order.give_up_all(self._position())
        self._note_gaps()
        self._release(released, effects)
        return bool(released)

    def _position(self) -> int:
        """The place in the run that the next released event will take."""
        return self.course.applied + len(self.waiting)

    # -- completion ------------------------------------------------------------------------------------------------

    def _complete_if_ended(self, effects: list[Effect]) -> None:
        if self.end is None or self.phase != "open" or self.order.held:
            return
        if self._is_whole():
            self._complete("run_end", effects)

    def _is_whole(self) -> bool:
        """Did the run end, and did all come that its end counts?"""
        if self.end is None:
            return False
        producer, last = self.end[0], self.end[1]
        return last is None or self.order.expected(producer) > last

    def _lose_tail(self, effects: list[Effect]) -> None:
        assert self.end is not None
        producer, last = self.end[0], self.end[1]
        if last is not None:
            self.order.lose(producer, last, self._position())
            self._note_gaps()
        self._complete("run_end", effects)

    def _complete(self, reason: str, effects: list[Effect]) -> None:
        self.completion = reason
        if self.course.calls:
            self.flags.add("call_unpaired")
        ending: Decided | None = None if self.end is None else _decided(self.end[3])
        at = self._standpoint()
        for book in self.books:
            effects += book.conclude(at, ending)
            self._say_run(book, at, effects)
        self.phase, self.since = "closed", self.now
        self.until = self.now + self._times().amend_window
        self._close_if_judged()

    def _amend(self, event: Event, effects: list[Effect]) -> None:
        if self.tail_unknown and self._is_whole():
            self.tail_unknown = False
            self.completion = "run_end"
            if not self.lost:
                self.flags.discard("incomplete")
        at = self._standpoint()
        for book in self.books:
            effects += book.conclude(at, decided_by(event, self.offset))
            self._say_run(book, at, effects)
        self._close_if_judged()

    def _expire(self, due: int, effects: list[Effect]) -> None:
        if self.phase in ("ended", "unselected"):
            self.phase = "gone"
        elif self.order.deadline() == due:
            released = self.order.expire(due, self._position())
            self._note_gaps()
            self._release(released, effects)
            self._complete_if_ended(effects)
        elif self.phase == "new":
            self.phase = "gone"  # Numbers without a run: nothing opened it in time.
        elif self.phase == "waiting":
            self._select(effects, force=True)
            self._complete_if_ended(effects)
        elif self.phase == "judging":
            self._wait_no_longer(due, effects)
        elif self.phase == "closed":
            self._give_up_gaps(effects)  # After the window it would be late.
            self.phase, self.until = "ended", self.now + self._times().remember
            self.pins = [suite.name for suite in self._suites()]
            self._books, self._shelved, self.flags = [], [], set()
            self.order = Order.from_marks(self.order.marks())
        elif self.end is not None and self.end[2] == due:
            self._lose_tail(effects)
        elif self.since + self._times().max_age == due:
            self._end_without_end("max_age", effects)
        else:
            self._end_without_end("silence", effects)

    def _end_without_end(self, reason: str, effects: list[Effect]) -> None:
        if self._give_up_gaps(effects):
            self._complete_if_ended(effects)
            if self.phase != "open" or reason == "silence":
                return  # What waited behind a gap broke the silence.
        if self.end is not None:
            self._lose_tail(effects)
            return
        if reason == "silence" and self.reports is not None and "end" not in self.reports:
            self.flags.add("end_implied")
        else:
            self.tail_unknown = True
            self.flags.add("incomplete")
        self._complete(reason, effects)

    # -- kept ------------------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The state as JSON: versioned, its watermark and deadline first."""
        asked = any(entry.asked is not None for book in self.books for entry in book.entries)
        head: list[Any] = [_JUDGED if asked else 1, self.offset, self.deadline(), self.phase, self.now]
        if self.phase == "gone":
            return to_json(head)
        if self.phase == "unselected":
            return to_json([*head, self.until, self.refusal, self.identity.tenant])
        if self.phase == "ended":
            return to_json([*head, self.until, self.order.marks(), self.identity, self.reports, self.pins])
        self.last_event_at = stamp(self.last_event_at)  # As it will come back: the spelling must not depend on a move.
        return to_json(
            [
                *head,
                self.order.snapshot(),
                self.course.snapshot(),
                [book.snapshot() for book in self.books],
                self.waiting,
                self.identity,
                self.expected,
                sorted(self.flags),
                *_plain(self),
            ]
        )

    @classmethod
    def resume(cls, fleet: Fleet, run_id: str, data: bytes, ledger: Ledger) -> "Session":
        """The session that gave this snapshot, under the suites that are loaded now.

        Raises:
            StateError: a newer version of the program wrote it.
        """
        values = from_json(data)
        if values[0] > STATE_VERSION:
            message = f"the state of run {run_id} has version {values[0]}, this program reads up to {STATE_VERSION}"
            raise StateError(f"{message}: run the version that wrote it, or a later one")
        session = cls(fleet, run_id, ledger)
        _, session.offset, _, session.phase, session.now, *rest = values
        if session.phase == "gone":
            pass
        elif session.phase == "unselected":
            session.until, session.refusal, tenant = rest
            session.identity = identity_with(session.identity, {"tenant": tenant})
        elif session.phase == "ended":
            session.until, marks, identity, session.reports, session.pins = rest
            session.order, session.identity = Order.from_marks(marks), identity_from(identity)
        else:
            order, course, books, waiting, identity, expected, flags, *plain = rest
            session.order, session.course = Order.resume(order), Course.resume(course)
            session.expected = None if expected is None else expected_from(expected)
            session._shelved = books
            session.waiting = [(event_from(value), size, offset, filled) for value, size, offset, filled in waiting]
            session.identity, session.flags = identity_from(identity), set(flags)
            for name, value in zip(_PLAIN, plain, strict=True):
                setattr(session, name, value)
        return session

    # -- facts -----------------------------------------------------------------------------------------------------

    def _times(self) -> Completion:
        if self._longest is None:
            suites = self._suites()
            self._longest = suites[0].completion if suites else Completion()
            for suite in suites[1:]:
                self._longest = self._longest.longest(suite.completion)
        return self._longest

    def _suites(self) -> list[Suite]:
        if self._shelved:
            return [self.fleet.by_name.get(value[0]) or Suite(value[0], ()) for value in self._shelved]
        return [book.suite for book in self._books]

    def _held(self) -> int:
        return self.order.held + len(self.waiting)

    def _standpoint(self) -> Standpoint:
        flags = tuple(sorted(self.flags | self.course.flags))
        ordered = self._facts(lost=self.lost, last_gap=self.course.last_gap)
        # A gap that late events filled is none to graders that do not mind order.
        places = [position for _, _, _, position in self.order.missing]
        broken = bool(places) or self.unreadable or self.order.broken
        free = self._facts(lost=broken, last_gap=self.course.last_gap if self.unreadable else max(places, default=-1))
        if self.disordered:
            ordered.last_gap = free.last_gap = self.course.applied
        held = self.order.held > 0 and len(self.order.producers) > 1
        opened = (self.run_id, self.opened_at, self.first_event_id)
        return Standpoint(*opened, self.identity, flags, free, ordered, held, self.now)

    def _facts(self, *, lost: bool, last_gap: int) -> RunFacts:
        reports = self.reports
        end = self.end
        return RunFacts(
            tools_known=self.tools_seen or (reports is not None and "tools" in reports),
            messages_known=not self.no_messages and (reports is None or "messages" in reports),
            results_known=not self.no_results and (reports is None or "results" in reports),
            reports=reports,
            lost=lost,
            tail_unknown=self.tail_unknown,
            last_gap=last_gap,
            disordered=self.disordered,
            ended=end is not None,
            status=None if end is None else end[4],
        )

    def _figures(self) -> dict[str, Any]:
        return {
            "completion": self.completion,
            "status": None if self.end is None else self.end[4],
            "first_event_at": self.opened_at,
            "last_event_at": stamp(self.last_event_at),
            "events": self.course.applied,
            "turns": self.course.turn + 1,
        }


_PLAIN_KINDS = frozenset({Message, ToolCall, ToolResult})
_PLAIN = (
    "started", "reports", "pins", "since", "quiet_since", "paused", "opened_at", "first_event_id", "last_event_at",
    "tools_seen", "no_messages", "no_results", "tail_unknown", "unreadable", "lost", "disordered", "end", "completion", "until",
)  # fmt: skip
_plain = attrgetter(*_PLAIN)


def watermark(data: bytes) -> int:
    """The journal offset up to which a kept state has read, without reading the rest."""
    return int(data[data.index(b",") + 1 : data.index(b",", data.index(b",") + 1)])


def kept_deadline(data: bytes) -> int | None:
    """The deadline of a kept state, without reading the rest."""
    due = data.split(b",", 3)[2]
    return None if due == b"null" else int(due)


def kept_phase(data: bytes) -> str:
    """The phase of a kept state, without reading the rest."""
    return data.split(b",", 4)[3].rstrip(b"]").strip(b'"').decode()


def _made_anew(session: Session, at: At) -> str:
    """A record that a run has read was appended before what it read last; one appended later lies in another log."""
    told = (
        f"run {session.run_id} has read up to offset {session.offset}, and offset {at.offset} was appended after that"
    )
    return f"{told}: the journal was made anew under these states; start with a new --app"


def _earliest(one: int | None, other: int) -> int:
    return other if one is None else min(one, other)


def _decided(values: Any) -> Decided:
    return (values[0], values[1], values[2], values[3])
