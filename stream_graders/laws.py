"""The laws that every grader and every session keeps. For tests, ours and yours.

A law raises `LawError` with what it saw. A grader's law takes the grader as it was configured and the events of one
complete run, in order::

    @pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
    def test_laws(law):
        law(MyGrader(words=3), list(run().starts().asks("hello").says("hello").ends()))

A session's law takes the suites and the journal records of one run (`testing.journal` makes them from events). Laws are
exact and need no randomness; fed with generated runs, they search.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from .events import UNSENT, Event, Message, RunEnd, RunStart, ToolCall, ToolResult, from_json, text_of, to_json
from .folding import decisive
from .gradebook import STATE_BYTES, Publish
from .grading import EXCERPT, Grader, RunFacts, Seen, result_text, state_fields
from .session import At, Bury, Effect, Ledger, Session
from .suites import Fleet
from .testing import Record, journal, suite_of
from .trajectory import HELD_BYTES, HELD_EVENTS, HELD_MS, Course, is_aside
from .verdicts import Outcome, Reason, RunVerdict, Verdict, Violation

SMALL_BYTES = 16 * 1024
"""What the state of a grader may weigh as JSON that does not declare that it ``grows``."""
SIZE_SLACK = 2 * 1024
"""How far the state of a growing grader may outweigh its own count of it."""
AGES = 7 * 24 * 3_600_000
"""Log time after which nothing of a run is left."""

Law = Callable[[Grader, Sequence[Event]], None]
SessionLaw = Callable[[Fleet, Sequence[Record], type[Session]], None]


SaidSoFar = dict[tuple[str, str, str, int | None], list[Verdict]]
"""The verdicts by segment, suite, check, and turn where each has one."""


class LawError(AssertionError):
    """A law does not hold; the message says what was seen."""


# -- graders ---------------------------------------------------------------------------------------------------------


def asking_changes_nothing(grader: Grader, events: Sequence[Event]) -> None:
    """`Grader.finding` may be asked at any time, any number of times: it leaves the state as it is."""
    asked, left = grader.fresh(), grader.fresh()
    for seen in _wanted(grader, events):
        for facts in (RunFacts(), RunFacts(lost=True, last_gap=0), _facts(events)):
            before = to_json(asked.snapshot())
            _hold(asked.finding(facts) == asked.finding(facts), "the second answer differs from the first")
            _hold(to_json(asked.snapshot()) == before, "the state is another after a question")
        asked.update(seen)
        left.update(seen)
    _hold(asked.finding(_facts(events)) == left.finding(_facts(events)), "the questions show in the finding")


def events_are_left_alone(grader: Grader, events: Sequence[Event]) -> None:
    """An event belongs to all graders: none writes into it, nor into the settings that its copies share."""
    before, settings = [to_json(event) for event in events], to_json(grader.settings())
    _shown(grader, _wanted(grader, events)).finding(_facts(events))
    _hold([to_json(event) for event in events] == before, "an event was written into")
    _hold(to_json(grader.settings()) == settings, "a setting was written into")


def a_move_through_json_does_not_show(grader: Grader, events: Sequence[Event]) -> None:
    """A grader that is moved to a fresh copy through JSON before each event says what one that stayed says."""
    stayed, moved = grader.fresh(), grader.fresh()
    for seen in _wanted(grader, events):
        kept = to_json(moved.snapshot())
        moved = grader.fresh()
        moved.restore(from_json(kept))
        _hold(to_json(moved.snapshot()) == kept, "restoring a state and asking for it again gives another one")
        moved.update(seen)
        stayed.update(seen)
        _hold(moved.finding(_facts(events)) == stayed.finding(_facts(events)), "the moved grader finds something else")
        _hold((moved.settled, moved.size()) == (stayed.settled, stayed.size()), "it settles or weighs otherwise")


def snapshots_stand_still(grader: Grader, events: Sequence[Event]) -> None:
    """Graders that were resumed from one encoded state go their ways without touching each other."""
    told = grader.fresh()
    for seen in _wanted(grader, events):
        kept = to_json(told.snapshot())
        one, other = grader.fresh(), grader.fresh()
        one.restore(from_json(kept))
        other.restore(from_json(kept))
        one.update(seen)
        _hold(to_json(other.snapshot()) == kept, "an update reached a grader that was not updated")
        _hold(to_json(told.snapshot()) == kept, "an update reached the grader that the state came from")
        told.update(seen)
        _hold(to_json(one.snapshot()) == to_json(told.snapshot()), "the same event makes equal graders unequal")


def state_stays_small(grader: Grader, events: Sequence[Event]) -> None:
    """State is bounded (design 5): 16 kB; for a grader that ``grows``, 64 kB and what it says itself."""
    told = grader.fresh()
    for seen in _wanted(grader, events):
        told.update(seen)
        weight = len(to_json(told.snapshot()))
        if grader.grows:
            _hold(weight <= told.size() + SIZE_SLACK, f"the state weighs {weight} bytes, and says {told.size()}")
        if not grader.grows or told.size() <= STATE_BYTES:
            _hold(weight <= (STATE_BYTES + SIZE_SLACK if grader.grows else SMALL_BYTES), f"it weighs {weight} bytes")


def settled_is_settled(grader: Grader, events: Sequence[Event]) -> None:
    """What a settled grader found, no event changes any more; in a run without gaps it is sound."""
    told, wanted = grader.fresh(), _wanted(grader, events)
    for n, seen in enumerate(wanted):
        told.update(seen)
        if told.settled:
            found = told.finding(RunFacts())
            _hold(found.sound or found.outcome is Outcome.NOT_GRADED, f"it settled on an unsound {found.outcome}")
            for later in [*wanted[n + 1 :], *wanted]:
                told.update(later)
                _hold(told.settled, "it unsettled")
                _hold(told.finding(RunFacts()) == found, f"it settled on {found.reason}, and an event changed that")
            return


def an_end_brings_a_verdict(grader: Grader, events: Sequence[Event]) -> None:
    """A complete run gets one final verdict, with a reason from the closed list and evidence of bounded size."""
    found = _shown(grader, _wanted(grader, events)).finding(_facts(events))
    _hold(isinstance(found.outcome, Outcome), f"{found.outcome!r} is no outcome")
    _hold(isinstance(found.reason, Reason), f"{found.reason!r} is not in the list of reasons")
    _hold(
        all(len(p.excerpt or "") <= EXCERPT + 2 for p in found.points), "an excerpt is longer than evidence may quote"
    )
    finals = [verdict for verdict in _verdicts(_alone(grader), events) if verdict.state == "final"]
    _hold(len(finals) == 1, f"{len(finals)} final verdicts")
    _hold(len(finals[0].points) <= 3, "evidence names more than three places")


def fresh_forgets(grader: Grader, events: Sequence[Event]) -> None:
    """`Grader.fresh` gives a grader that has seen nothing, whatever its siblings have seen."""
    before = to_json(grader.fresh().snapshot())
    sibling = _shown(grader, _wanted(grader, events))
    _hold(to_json(grader.fresh().snapshot()) == before, "a fresh grader knows what another one saw")
    for f in state_fields(type(grader)):
        mine, theirs = getattr(grader.fresh(), f.name), getattr(sibling, f.name)
        _hold(mine is not theirs or not isinstance(mine, list | dict | set), f"{f.name} is shared by two graders")


def order_free_means_any_order(grader: Grader, events: Sequence[Event]) -> None:
    """An ``order_free`` grader ends alike if events fill a gap late, in any order, or if each comes twice."""
    if not grader.order_free:
        return
    wanted, facts = _wanted(grader, events), _facts(events)
    whole = _shown(grader, wanted).finding(facts).outcome
    for first in range(len(wanted)):
        for last in range(first + 1, min(first + 3, len(wanted)) + 1):
            if len({seen.event.producer for seen in wanted[first:last]}) > 1:
                continue  # A gap is one producer's.
            late = [_late(seen, wanted[first].position) for seen in wanted[first:last]]
            rest = [*wanted[:first], *wanted[last:]]
            for filling in (late, late[::-1]):
                found = _shown(grader, [*rest, *filling]).finding(facts).outcome
                _hold(found is whole, f"{whole} in order, {found} with {last - first} events late")
    twice = _shown(grader, [seen for seen in wanted for _ in range(2)]).finding(facts).outcome
    _hold(twice is whole, f"{whole} with each event once, {twice} with each twice")


def unknown_is_never_a_verdict(grader: Grader, events: Sequence[Event]) -> None:
    """Where a record or a content was not sent, the outcome is that of the whole run, or ``not_graded``."""
    if grader.of_record:
        return
    fleet = _alone(grader)
    whole = _outcome(fleet, events)
    for record in sorted(grader.needs()):
        if isinstance(events[0], RunStart):
            _agree(whole, _outcome(fleet, _without_record(events, record)), f"without the record of {record}")
    for n, event in enumerate(events):
        for bare in _without_content(event):
            found = _outcome(fleet, [*events[:n], bare, *events[n + 1 :]])
            _agree(whole, found, f"with event {n} as {to_json(bare)!r}")


def incomplete_is_never_a_wrong_verdict(grader: Grader, events: Sequence[Event]) -> None:
    """With events lost, the outcome is that of the whole run, or ``not_graded``: no loss hides behind a pass."""
    if grader.of_record:
        return
    fleet = _alone(grader)
    whole = _outcome(fleet, events)
    for first in range(len(events)):
        for last in (first + 1, first + 3, len(events)):
            lost, rest = events[first:last], [*events[:first], *events[last:]]
            if rest and leaves_a_trace(lost, rest):
                _agree(whole, _outcome(fleet, rest), f"without events {first} to {last - 1}")


def late_events_mend_what_they_can(grader: Grader, events: Sequence[Event]) -> None:
    """Events that fill a given-up gap bring an ``order_free`` grader to the whole run's outcome, others to no wrong one.

    Three things cannot be mended: an aside amends nothing, so one that comes last leaves the verdict that was; a result
    that names no tool is not paired any more with a call that comes after it; and among several producers nobody knows
    any more whose event came first.
    """
    if grader.of_record:
        return
    fleet = _alone(grader)
    whole = _outcome(fleet, events)
    mendable = len({event.producer for event in events}) == 1
    mendable = mendable and all(event.name is not None for event in events if isinstance(event, ToolResult))
    for first in range(len(events) - 2):
        gap, rest = events[first : first + 2], [*events[:first], *events[first + 2 :]]
        of = {event.producer for event in gap}
        if len(of) > 1 or any(event.seq is None for event in gap) or rest[first].producer not in of:
            continue
        for late in (gap, gap[::-1]):
            found = _outcome(fleet, rest, late)
            _agree(whole, found, f"with events {first} and {first + 1} late")
            if grader.order_free and mendable and not is_aside(late[-1]):
                _hold(found is whole, f"{whole}, but {found} with events {first} and {first + 1} late")


def leaves_a_trace(lost: Iterable[Event], rest: Sequence[Event]) -> bool:
    """Can a reader of the rest know that these events are missing?

    By a later number of the same producer, or because the run has no end and its producers report one.
    """
    counted = {event.producer: event.seq for event in rest if event.seq is not None}
    if not any(isinstance(event, RunEnd) for event in rest):
        start = next((event for event in rest if isinstance(event, RunStart)), None)
        return start is None or start.reports is None or "end" in start.reports
    return all(event.seq is not None and event.seq < counted.get(event.producer, -1) for event in lost)


LAWS: tuple[Law, ...] = (
    asking_changes_nothing,
    events_are_left_alone,
    a_move_through_json_does_not_show,
    snapshots_stand_still,
    state_stays_small,
    settled_is_settled,
    an_end_brings_a_verdict,
    fresh_forgets,
    order_free_means_any_order,
    unknown_is_never_a_verdict,
    incomplete_is_never_a_wrong_verdict,
    late_events_mend_what_they_can,
)
"""The laws of a grader."""


# -- sessions --------------------------------------------------------------------------------------------------------


def twice_is_once(fleet: Fleet, records: Sequence[Record], session: type[Session] = Session) -> None:
    """An event that was produced twice changes no byte of what is published."""
    twice = [(event, at._replace(offset=2 * at.offset + n)) for event, at in records for n in range(2)]
    _hold(
        _lived(session, fleet, twice) == _lived(session, fleet, records), "what is published differs with events twice"
    )


def local_disorder_is_mended(fleet: Fleet, records: Sequence[Record], session: type[Session] = Session) -> None:
    """Events of one producer that change places within the order buffer change no byte of what is published."""
    whole = _lived(session, fleet, records)
    for width in (2, 3, HELD_EVENTS):
        events = [event for block in _blocks(records, width) for event, _ in reversed(block)]
        turned = [(event, at) for event, (_, at) in zip(events, records, strict=True)]
        _hold(_lived(session, fleet, turned) == whole, f"{width} events in reverse order show")


def a_session_moves_unseen(fleet: Fleet, records: Sequence[Record], session: type[Session] = Session) -> None:
    """A session that is resumed from its snapshot before each record has the effects of one that stayed."""
    stayed, moved = _opened(session, fleet, records), _opened(session, fleet, records)
    steps: list[Record | None] = [*records, None]
    for step in steps:
        kept = moved.snapshot()
        moved = session.resume(fleet, moved.run_id, kept, Ledger())
        _hold(moved.snapshot() == kept, "resuming a state and asking for it again gives another one")
        _hold(moved.deadline() == stayed.deadline(), "the moved session is due at another time")
        one, other = (s.advance(_end(records)) if step is None else s.feed(*step) for s in (stayed, moved))
        _hold(_bytes(one) == _bytes(other), "the moved session has other effects")
        _hold(stayed.snapshot() == moved.snapshot(), "the moved session is in another state")


def equal_ids_have_equal_bytes(fleet: Fleet, records: Sequence[Record], session: type[Session] = Session) -> None:
    """When records since a kept state come again after a crash, what is published again is the same bytes.

    That is so as long as the run is remembered: its first event, come again after that, opens the same segment anew.
    """
    told, kept = _opened(session, fleet, records), [_opened(session, fleet, records).snapshot()]
    known: dict[str, bytes] = {}
    since = 0
    for n, record in enumerate(records):
        _note_ids(known, told.advance(record[1].time))
        if told.phase == "gone":
            known, since, kept[n] = {}, n, told.snapshot()
        _note_ids(known, told.feed(*record))
        kept.append(told.snapshot())
        for back in {since, max(since, n // 2), n}:
            again = session.resume(fleet, told.run_id, kept[back], Ledger())
            for later in records[back : n + 1]:
                _note_ids(known, again.feed(*later))
            _hold(again.snapshot() == kept[-1], "a replay ends in another state")


def cuts_do_not_show(fleet: Fleet, records: Sequence[Record], session: type[Session] = Session) -> None:
    """Batch ends and ticks change when something is said, never what (the two laws of log time, design 2).

    Time may pass at any moments between two records; the same bytes are published in the same order.
    """
    plain = _opened(session, fleet, records)
    whole = [*(effect for record in records for effect in plain.feed(*record)), *plain.advance(_end(records))]
    for every in (1, 2, 7):
        told, effects = _opened(session, fleet, records), list[Effect]()
        for record, (_, following) in zip(records, [*records[1:], (None, At(_end(records), 0))], strict=True):
            effects += told.feed(*record)
            here = record[1].time
            for n in range(1, every + 1):
                effects += told.advance(here + max(0, following.time - here) * n // every)
        effects += told.advance(_end(records))
        _hold(_bytes(effects) == _bytes(whole), f"{every} ticks after each record show in what is published")
        _hold(told.snapshot() == plain.snapshot(), f"{every} ticks after each record show in the state")


def a_replay_says_nothing(fleet: Fleet, records: Sequence[Record], session: type[Session] = Session) -> None:
    """Records at or below the watermark have no effect and leave the state as it is."""
    told = _opened(session, fleet, records)
    for record in records:
        told.feed(*record)
    before = told.snapshot()
    for record in records:
        _hold(told.feed(*record) == [], "a replayed record had an effect")
    _hold(told.snapshot() == before, "replayed records changed the state")


def the_ledger_adds_up(fleet: Fleet, records: Sequence[Record], session: type[Session] = Session) -> None:
    """After each record every event consumed stands in one place of the ledger (design 5); in the end none is held."""
    told = _opened(session, fleet, records)
    ledger = told.ledger
    for n, record in enumerate(records, start=1):
        told.feed(*record)
        _hold(ledger.sum() + ledger.replayed == n, f"{n} events were consumed, and {ledger}")
    told.advance(_end(records))
    _hold(ledger.held == 0, f"{ledger.held} events are still held when all is over")
    _hold(ledger.sum() + ledger.replayed == len(records), f"{len(records)} events were consumed; in the end {ledger}")


def every_check_ends_once(fleet: Fleet, records: Sequence[Record], session: type[Session] = Session) -> None:
    """A check (on each turn: in a turn) has at most one final verdict a segment, numbered 1; amendments count on from it.

    What was said early stays true (property P2); among several producers it may turn out later that an event was
    missing, and then it is not graded.
    Each run verdict has a line for each check of its suite, and the line says what the check's latest verdict said.
    """
    said: SaidSoFar = defaultdict(list)
    # A producer that starts again under its name is another one (design 4.1).
    starts = {event.id for event, _ in records if event.seq == 0}
    several = len({event.producer for event, _ in records}) > 1 or len(starts) > 1
    doubt = (Outcome.NOT_GRADED,) if several else ()
    told = _opened(session, fleet, records)
    for event, at in records:
        _note_said(fleet, said, told.advance(at.time), doubt)
        if told.phase == "gone":  # Forgotten: the same first event would open the same segment anew.
            said.clear()
        _note_said(fleet, said, told.feed(event, at), doubt)
    _note_said(fleet, said, told.advance(_end(records)), doubt)


SESSION_LAWS: tuple[SessionLaw, ...] = (
    twice_is_once,
    local_disorder_is_mended,
    a_session_moves_unseen,
    equal_ids_have_equal_bytes,
    cuts_do_not_show,
    a_replay_says_nothing,
    the_ledger_adds_up,
    every_check_ends_once,
)
"""The laws of a session under its suites."""


# -- what the laws are told with -------------------------------------------------------------------------------------


def _hold(holds: bool, told: str) -> None:
    if not holds:
        raise LawError(told)


def _agree(whole: Outcome, part: Outcome, told: str) -> None:
    _hold(part in (whole, Outcome.NOT_GRADED), f"the whole run: {whole}; {told}: {part}")


def _wanted(grader: Grader, events: Iterable[Event]) -> list[Seen]:
    """The events that a session would show to the grader, each in its place."""
    course = Course()
    seen = [course.read(event, None) for event in events if not is_aside(event)]
    return [one for one in seen if type(one.event) in grader.wants()]


def _late(seen: Seen, position: int) -> Seen:
    """The same event, come after all others to fill a gap at this position."""
    late = Seen(seen.event, position, seen.turn, gap=True, late=True)
    late.tool, late.call = seen.tool, seen.call
    return late


def _shown(grader: Grader, seen: Iterable[Seen]) -> Grader:
    told = grader.fresh()
    for one in seen:
        told.update(one)
    return told


def _facts(events: Sequence[Event]) -> RunFacts:
    """What a session knows of a complete run."""
    end = next((event for event in reversed(events) if isinstance(event, RunEnd)), None)
    return RunFacts(tools_known=True, ended=end is not None, status=None if end is None else end.status)


def _alone(grader: Grader) -> Fleet:
    """A suite of this one check."""
    return Fleet((suite_of(grader),))


def _outcome(fleet: Fleet, events: Sequence[Event], late: Sequence[Event] = ()) -> Outcome:
    """What becomes of the only check of a run; a run that nothing opened is not graded."""
    verdicts = _verdicts(fleet, events, late)
    return verdicts[-1].outcome if verdicts else Outcome.NOT_GRADED


def _verdicts(fleet: Fleet, events: Sequence[Event], late: Sequence[Event] = ()) -> list[Verdict]:
    """All that is said of a run whose gaps are given up before the ``late`` events come, until it is forgotten."""
    records = journal(events)
    told, since = _opened(Session, fleet, records), records[-1][1].time + 2 * HELD_MS
    effects = [effect for record in records for effect in told.feed(*record)]
    effects += told.advance(since)
    for event, at in journal(late, since=since):
        effects += told.feed(event, at._replace(offset=told.offset + 1))
    effects += told.advance(since + AGES)
    records_of = [effect.record for effect in effects if isinstance(effect, Publish)]
    return [record for record in records_of if isinstance(record, Verdict) and record.state != "early"]


def _changed(event: Event, **fields: Any) -> Event:
    return type(event)(**{**{name: getattr(event, name) for name in event.__struct_fields__}, **fields})


def _without_record(events: Sequence[Event], record: str) -> list[Event]:
    """The run as producers send it that do not report this record, and say so."""
    kinds = {"messages": (Message,), "tools": (ToolCall, ToolResult), "results": (ToolResult,)}[record]
    counts: dict[str, int] = defaultdict(int)
    rest: list[Event] = []
    for event in events:
        if isinstance(event, kinds):
            continue
        fields: dict[str, Any] = {}
        if event.seq is not None:
            fields["seq"] = counts[event.producer]
            counts[event.producer] += 1
        if isinstance(event, RunStart):
            fields["reports"] = tuple(r for r in event.reports or () if r != record)
        if isinstance(event, RunEnd):
            fields["last_seq"] = fields.get("seq")
        rest.append(_changed(event, **fields))
    return rest


def _without_content(event: Event) -> Iterator[Event]:
    """The event with its content not sent, and with half of it cut off."""
    if isinstance(event, Message) and event.content is not UNSENT:
        yield _changed(event, content=UNSENT)
        yield _changed(event, content=_half(text_of(event.content)), flags=("truncated",))
    elif isinstance(event, ToolResult) and event.result is not UNSENT:
        yield _changed(event, result=UNSENT, result_raw=None)
        yield _changed(event, result=_half(result_text(event)), result_raw=None, flags=("truncated",))


def _half(text: str) -> str:
    return text[: len(text) // 2]


def _opened(session: type[Session], fleet: Fleet, records: Sequence[Record]) -> Session:
    return session(fleet, records[0][0].run_id, Ledger())


def _end(records: Sequence[Record]) -> int:
    return max(at.time for _, at in records) + AGES


def _lived(session: type[Session], fleet: Fleet, records: Sequence[Record]) -> list[bytes]:
    """All that is published of a run until it is forgotten."""
    told = _opened(session, fleet, records)
    effects = [*(effect for record in records for effect in told.feed(*record)), *told.advance(_end(records))]
    return [to_json(effect.record) for effect in effects if isinstance(effect, Publish)]


def _bytes(effects: Iterable[Effect]) -> list[tuple[bytes, int | None]]:
    return [
        (effect.reason.encode(), None) if isinstance(effect, Bury) else (to_json(effect.record), effect.offset)
        for effect in effects
    ]


def _note_ids(known: dict[str, bytes], effects: Iterable[Effect]) -> None:
    for effect in effects:
        if not isinstance(effect, Bury):
            data = to_json(effect.record)
            _hold(known.setdefault(effect.record.id, data) == data, f"two records have the id {effect.record.id}")


def _note_said(
    fleet: Fleet,
    said: SaidSoFar,
    effects: Iterable[Effect],
    doubt: tuple[Outcome, ...],
) -> None:
    for record in (effect.record for effect in effects if isinstance(effect, Publish)):
        # Where only failures are published, the others have their revisions all the same.
        all_out = not isinstance(record, Violation) and fleet.by_name[record.suite].publish == "all"
        if isinstance(record, Verdict):
            each = _is_each(fleet, record.suite, record.check)
            verdicts = said[record.opened_at, record.suite, record.check, record.turn if each else None]
            last = verdicts[-1].revision if verdicts else -1
            state = {0: "early", 1: "final"}.get(record.revision, "amended")
            _hold(record.state == state, f"revision {record.revision} of {record.check} is {record.state}")
            follows = record.revision in ((0, 1) if last < 0 else (last + 1,)) if all_out else record.revision > last
            _hold(follows, f"revision {record.revision} of {record.check} came after {last}")
            stays = last != 0 or record.outcome in (verdicts[-1].outcome, *doubt)
            _hold(
                stays, f"{record.check} said {verdicts[-1].outcome if verdicts else None} early, then {record.outcome}"
            )
            verdicts.append(record)
        elif isinstance(record, RunVerdict) and all_out:
            for line in record.checks:
                key = (record.opened_at, record.suite, line.check)
                latest = [verdicts[-1].outcome for of, verdicts in said.items() if of[:3] == key and verdicts]
                _hold(bool(latest), f"{line.check} said nothing, its run verdict {line.outcome}")
                told = latest[decisive("all", latest)]
                hidden = line.outcome is Outcome.NOT_GRADED and _is_each(fleet, record.suite, line.check)
                _hold(line.outcome is told or hidden, f"the lines of {line.check} do not agree")


def _is_each(fleet: Fleet, suite: str, check: str) -> bool:
    """Does a check have a verdict on each turn?"""
    return any(of.name == check and of.turn == "each" for of in fleet.by_name[suite].checks)


def _blocks(records: Sequence[Record], width: int) -> list[list[Record]]:
    """Records cut into blocks whose events the order buffer can bring back into order."""
    blocks: list[list[Record]] = []
    for event, at in records:
        block = blocks[-1] if blocks else []
        before = block[-1][0] if block else None
        fits = (
            before is not None
            and len(block) < width
            and event.seq is not None
            and before.seq is not None
            and (before.producer, before.seq + 1) == (event.producer, event.seq)
            and not isinstance(before, RunEnd)
            and at.time - block[0][1].time < HELD_MS
            and sum(then.size for _, then in block) + at.size <= HELD_BYTES
        )
        if fits:
            block.append((event, at))
        else:
            blocks.append([(event, at)])
    return blocks
