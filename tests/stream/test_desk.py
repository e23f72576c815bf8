"""The desk without Kafka: batches in, outputs and states out, wherever batches are cut."""

import gc
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_graders.events import SCHEMA, Event, Message, Tick, from_json, to_json
from stream_graders.gradebook import Publish
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.session import Session
from stream_graders.stream import worker as worker_module
from stream_graders.stream.desk import ADVANCES, Counts, Desk, Outputs
from stream_graders.stream.table import StateTable
from stream_graders.stream.worker import Worker
from stream_graders.suites import Completion, Fleet
from stream_graders.testing import run, suite_of
from stream_graders.verdicts import RunVerdict

SUITE = suite_of(
    ToolNotCalled("db.drop"),
    TranscriptContains("welcome"),
    AssistantContainsToolOutput(["orders.find"], path="id"),
    completion=Completion(idle_user=5_000, idle_agent=5_000, idle_tool=5_000, amend_window=4_000, remember=6_000),
)
FLEET = Fleet((SUITE,))


@dataclass
class Record:
    key: bytes | None
    value: bytes | None
    offset: int
    timestamp: int


def recorded(events: Sequence[Event | Tick], every: int = 100, since: int = 1_000) -> list[Record]:
    """Events as journal records, one each ``every`` milliseconds."""
    return [
        Record(event.run_id.encode() if isinstance(event, Event) else None, to_json(event), n, since + n * every)
        for n, event in enumerate(events)
    ]


class Table:
    """A worker's states, and all it ever published."""

    def __init__(self, fleet: Fleet = FLEET) -> None:
        self.fleet = fleet
        self.kept: dict[bytes, bytes] = {}
        self.counts = Counts()
        self.out: dict[str, bytes] = {}
        self.dead: list[tuple[bytes | None, str]] = []
        self.desk = self.new_desk()

    def new_desk(self) -> Desk:
        """The desk of a new generation: it knows what was kept, and nothing else."""
        self.desk = Desk(self.fleet, ("journal", 0, 1), self.kept, self.counts)
        return self.desk

    def batch(self, records: Sequence[Record], committed: int | None = None) -> Outputs:
        """Grade one batch and make it durable."""
        self.desk.grade(records)
        self.desk.advance()
        out = self.desk.take(self.desk.read + 1 if committed is None else committed)
        for _, value, _ in [*out.verdicts, *out.run_verdicts]:
            assert value is not None
            told = from_json(value)
            assert self.out.setdefault(told["id"], value) == value, "equal ids have equal bytes"
        self.dead += [(value, dict(headers)["dlq.error.reason"].decode()) for _, value, headers in out.dead_letters]
        for key, state in out.states.items():
            if state is None:
                self.kept.pop(key, None)
            else:
                self.kept[key] = state
        return out


def stories(n: int) -> list[Event]:
    told = [
        list(
            run(f"run-{k}")
            .starts()
            .asks("where is it?")
            .calls("orders.find" if k % 3 else "db.drop")
            .returns({"id": f"A-{k}"})
            .says(f"welcome, it is A-{k if k % 2 else 0}")
            .ends()
        )
        for k in range(n)
    ]
    return [event for events in zip(*told, strict=True) for event in events]


def cut(records: Sequence[Record], cuts: Sequence[int]) -> Iterator[Sequence[Record]]:
    edges = [0, *sorted(cuts), len(records)]
    return (records[a:b] for a, b in itertools.pairwise(edges) if a < b)


RECORDS = recorded([*stories(8), *[Tick(schema=SCHEMA)] * 120], every=150)


def whole(records: Sequence[Record]) -> Table:
    table = Table()
    table.batch(records)
    return table


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, len(RECORDS)), max_size=12), st.booleans())
def test_it_says_the_same_wherever_batches_are_cut(cuts: list[int], fresh: bool) -> None:
    table = Table()
    for batch in cut(RECORDS, cuts):
        table.batch(batch)
        if fresh:
            table.new_desk()
    assert table.out == whole(RECORDS).out
    assert table.counts.difference() == 0


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, len(RECORDS)), max_size=8))
def test_ticks_change_when_a_verdict_comes_and_never_what_it_says(places: list[int]) -> None:
    silent = [event for n, event in enumerate(stories(8)) if n < 44]  # Half of the runs fall silent.
    told = recorded([*silent, *[Tick(schema=SCHEMA)] * 200], every=150)
    ticked: list[Record] = []
    for n, record in enumerate(told):
        if n in places:
            ticked.append(Record(None, to_json(Tick(schema=SCHEMA)), 0, record.timestamp))
        ticked.append(Record(record.key, record.value, 0, record.timestamp))
    for n, record in enumerate(ticked):
        record.offset = n
    verdicts = {key: value for key, value in whole(ticked).out.items() if b"decided_by" in value or b"counts" in value}
    assert verdicts == whole(told).out


def test_what_was_read_before_a_crash_is_read_again_without_effect() -> None:
    table = Table()
    table.batch(RECORDS[:30], committed=0)
    table.new_desk()
    out = table.batch(RECORDS[:40], committed=0)
    assert len(out.states) == 8, "the touched runs are written again"
    table.batch(RECORDS[40:])
    assert table.out == whole(RECORDS).out
    assert table.counts.ledger.replayed == 30
    assert table.counts.difference() == 0


def test_a_crash_between_outputs_and_states_repeats_the_same_bytes() -> None:
    table = Table()
    table.batch(RECORDS[:20])
    table.desk.grade(RECORDS[20:60])
    lost = table.desk.take(0)
    table.new_desk()
    table.batch(RECORDS[20:60])
    assert {from_json(v or b"")["id"]: v for _, v, _ in lost.verdicts}.items() <= table.out.items()


def test_a_state_is_removed_only_once_the_log_is_committed_beyond_it() -> None:
    table = Table()
    story = recorded(list(run("run-0").starts().says("welcome").ends()), every=10)
    table.batch(story)
    late = [Record(None, to_json(Tick(schema=SCHEMA)), 3, 60_000)]
    table.batch(late, committed=2)
    assert list(table.kept) == [b"run-0"]
    out = table.batch([Record(None, to_json(Tick(schema=SCHEMA)), 4, 61_000)], committed=4)
    assert out.states == {b"run-0": None}
    assert out.removed == {b"run-0": 2}
    assert table.kept == {}
    assert table.desk.deadline() is None


def test_held_events_are_counted_by_whoever_has_them() -> None:
    behind = run("gap").starts().asks("hello").says("welcome").ends().events
    gone, read = behind.pop(1), Table()
    read.batch(recorded(behind))
    assert read.counts.held == 2
    successor = Table()
    successor.kept.update(read.kept)
    read.new_desk()
    read.counts.let_go()
    assert read.counts.held == 0, "they moved on with their run"
    successor.batch([Record(b"gap", to_json(gone), 3, 1_400)])
    assert successor.counts.held == 0, "what it released it had not read itself"
    assert (read.counts.difference(), successor.counts.difference()) == (0, 0)


def test_held_events_of_a_run_that_was_put_aside_are_counted_once() -> None:
    table = Table()
    table.desk = Desk(FLEET, ("journal", 0, 1), table.kept, table.counts, live=1)
    behind = run("gap").starts().asks("hello").says("welcome").ends().events
    table.batch(recorded([behind[0], behind[2], *run("other").starts()]))
    assert table.counts.held == 0
    table.batch([Record(b"gap", to_json(behind[3]), 3, 1_400)])
    assert table.counts.held == 2
    table.batch([Record(b"gap", to_json(behind[1]), 4, 1_500)])
    assert table.counts.held == 0


class Raises(Session):
    """A session with a bug."""

    def _apply(self, event: Event, offset: int, filled: int | None, effects: list[Publish]) -> None:  # type: ignore[override]  # the test needs no more
        super()._apply(event, offset, filled, effects)  # type: ignore[arg-type]  # as above
        if isinstance(event, Message) and event.content == "poison":
            raise RuntimeError("a bug")


def test_a_record_that_a_session_fails_on_is_buried_and_its_run_goes_on_as_incomplete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("stream_graders.stream.desk.Session", Raises)
    poisoned = run("run-0").starts().calls("db.drop").says("poison").says("welcome").ends()
    healthy = run("run-1").starts().says("welcome").ends()
    table = Table()
    table.batch(recorded([*poisoned, *healthy]))
    assert [(from_json(v or b"")["content"], reason) for v, reason in table.dead] == [("poison", "session_failed")]
    runs = {told["run_id"]: told for value in table.out.values() if "counts" in (told := from_json(value))}
    outcomes = [line["outcome"] for line in runs["run-0"]["checks"]]
    assert outcomes == ["fail", "pass", "not_graded"], "what was seen is sound, the rest is not"
    assert "incomplete" in runs["run-0"]["flags"]
    assert [line["outcome"] for line in runs["run-1"]["checks"]] == ["pass", "pass", "fail"]
    assert table.counts.difference() == 0


def test_a_hundred_thousand_silent_runs_are_moved_on_in_portions() -> None:
    table, count = Table(), 5 * ADVANCES // 2
    table.batch(recorded([run(f"run-{n}").says("welcome").events[0] for n in range(count)], every=0))
    tick = to_json(Tick(schema=SCHEMA))
    first = table.batch([Record(None, tick, count, 20_000)])
    assert len(first.run_verdicts) == ADVANCES
    assert table.desk.behind
    rest = [len(table.batch([Record(None, tick, count + 1 + n, 20_000)]).run_verdicts) for n in range(3)]
    assert rest == [ADVANCES, ADVANCES // 2, 0]
    assert not table.desk.behind


def test_a_worker_moves_silent_runs_on_for_no_longer_than_a_batch_may_take(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, worker = Counts(), Worker(None, StateTable.__new__(StateTable), FLEET, {}, 12)
    silent = recorded([run(f"run-{n}").says("welcome").events[0] for n in range(2 * ADVANCES)], every=0)
    for partition in range(12):
        desk = worker.desks[partition] = Desk(FLEET, ("journal", partition, 12), {}, counts)
        desk.grade(silent)
        desk.take(0)
        desk.grade([Record(None, to_json(Tick(schema=SCHEMA)), len(silent), 20_000)])
    counts.published.clear()
    monkeypatch.setattr(worker_module, "SECONDS", 0.0)
    worker.advance(set(worker.desks))
    assert sum(isinstance(record, RunVerdict) for record, _ in counts.published) == ADVANCES
    assert sum(desk.behind for desk in worker.desks.values()) == 12
    monkeypatch.setattr(worker_module, "SECONDS", 60.0)
    worker.advance(set(worker.desks))
    assert not any(desk.behind for desk in worker.desks.values())


def test_a_run_that_is_over_leaves_nothing_but_its_state() -> None:
    """Not even until the garbage is collected: a worker has ten minutes of such runs."""
    counts, kept = Counts(), dict[bytes, bytes]()
    desk = Desk(FLEET, ("journal", 0, 1), kept, counts)
    gc.collect()
    before = {id(each) for each in gc.get_objects() if type(each) is Session}
    gc.disable()
    try:
        for n in range(30):
            desk.grade(recorded(list(run(f"r{n}").starts().asks("hi").says("welcome").ends()), since=1_000 + n))
            kept.update({key: state for key, state in desk.take(0).states.items() if state is not None})
        counts.published.clear()
        counts.ledger.opened.clear()
        assert len(kept) == 30
        assert [each for each in gc.get_objects() if type(each) is Session and id(each) not in before] == []
    finally:
        gc.enable()


def test_a_run_is_looked_at_once_however_often_its_deadline_moves() -> None:
    """The heap of deadlines holds an entry a run, not one an event."""
    desk = Desk(FLEET, ("journal", 0, 1), {}, Counts())
    stories = [list(run(f"r{n}").starts().asks("hi").says("a").says("b").says("c").says("d")) for n in range(20)]
    records = recorded([event for step in zip(*stories, strict=True) for event in step], every=1)
    for at in range(0, len(records), 20):
        desk.grade(records[at : at + 20])
        desk.take(0)
    assert len(desk._due) == 20
    assert desk.deadline() == records[-20].timestamp + 5_000, "the first run's last event, and the silence after it"
