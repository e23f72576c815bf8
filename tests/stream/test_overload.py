"""How far behind a worker was, written down: what is read again is decided again the same way."""

import pytest

import stream_graders.stream.desk as desk_module
from stream_graders.events import from_json
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.session import kept_deadline, watermark
from stream_graders.stream.desk import Counts, Desk
from stream_graders.stream.overload import KEY, MARKS, Overload, level
from stream_graders.stream.replay import Replay
from stream_graders.suites import Fleet, Shed
from stream_graders.testing import run, suite_of
from stream_graders.verdicts import RunVerdict

from .test_desk import Record, Table, recorded


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "REPEATED", 1)


LATER = 10**6
"""A log time that no record here reaches: who read before may have read them all."""
SHEDDING = Fleet((suite_of(TranscriptContains("welcome"), shed=Shed(1_000, keep=0.0)),))


def test_a_mark_counts_from_its_offset_on() -> None:
    marks = Overload()
    assert marks.mark(10, 600)
    assert not marks.mark(20, 600), "nothing changed"
    assert marks.mark(30, 0)
    assert [marks.at(offset) for offset in (0, 9, 10, 29, 30, 99)] == [0, 0, 600, 600, 0, 0]
    assert not marks.mark(25, 600), "what was graded by a mark is not decided anew"


def test_marks_come_back_as_they_were_written_and_stay_few() -> None:
    marks = Overload()
    for n in range(1, 3 * MARKS):
        marks.mark(10 * n, n)
    data = marks.snapshot()
    again = Overload(data)
    assert [again.at(offset) for offset in range(1_000, 2_000)] == [marks.at(offset) for offset in range(1_000, 2_000)]
    assert len(from_json(data)[4]) == MARKS
    assert (watermark(data), kept_deadline(data)) == (10 * (3 * MARKS - 1), None), "it is recovered as a state is"


def test_a_lag_is_left_at_half_of_it() -> None:
    found, before = [], 0
    for lag in (0, 999, 1_000, 5_000, 700, 500, 499, 700, 60_000, 31_000, 29_000):
        before = level(lag, before, (1_000, 60_000))
        found.append(before)
    assert found == [0, 0, 1_000, 1_000, 1_000, 1_000, 0, 0, 60_000, 60_000, 1_000]


def shed(out: dict[str, bytes]) -> dict[str, bool]:
    """By run: was it shed?"""
    return {told["run_id"]: told["reason"] == "shed" for told in map(from_json, out.values()) if "checks" in told}


def stories(*names: str) -> list[Record]:
    return recorded([event for name in names for event in run(name).starts().says("welcome").ends()])


def test_runs_that_begin_behind_a_mark_are_shed_and_their_marks_outlive_the_worker() -> None:
    records = stories("before", "during", "after")
    table = Table(SHEDDING)
    table.batch(records[:3])
    assert table.desk.mark(LATER) is None, "it is not behind"
    table.desk.behind_by = 1_000
    data = table.desk.mark(LATER)
    assert data is not None
    table.kept[KEY] = data
    table.batch(records[3:5])
    table.new_desk()
    assert table.desk.mark(LATER) is None, "a worker that just came goes on by what is written"
    table.batch(records[3:6])
    table.desk.behind_by = 0
    data = table.desk.mark(LATER)
    assert data is not None
    table.kept[KEY] = data
    table.batch(records[6:])
    assert shed(table.out) == {"before": False, "during": True, "after": False}
    assert table.desk.runs == 3
    assert table.counts.difference() == 0


def test_a_worker_that_dies_before_its_states_are_kept_decides_the_same_again() -> None:
    records = stories("one", "two")
    first = Table(SHEDDING)
    first.batch(records[:3])
    kept = dict(first.kept)
    first.desk.behind_by = 1_000
    mark = first.desk.mark(LATER)
    assert mark is not None
    first.kept[KEY] = kept[KEY] = mark  # It is durable before a record is graded by it; the states are not.
    first.batch(records[3:])
    again = Table(SHEDDING)
    again.kept.update(kept)
    again.new_desk()
    again.batch(records)
    assert shed(again.out) == {"two": True}
    assert {key: first.out[key] for key in again.out} == again.out


def test_what_may_have_been_published_before_a_crash_is_not_decided_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "REPEATED", 2)
    records = stories("kept", "published", "later")
    first = Table(SHEDDING)
    first.batch(records[:3])
    kept = dict(first.kept)
    first.batch(records[3:5])  # It dies before these states are kept, and comes back much later.
    again = Table(SHEDDING)
    again.kept.update(kept)
    again.new_desk()
    again.desk.behind_by = 1_000
    assert again.desk.mark(LATER) is None
    again.batch(records[3:4])
    assert again.desk.mark(LATER) is None
    again.batch(records[4:6])
    data = again.desk.mark(LATER)
    assert data is not None
    again.kept[KEY] = data
    again.batch(records[6:])
    assert shed(again.out) == {"published": False, "later": True}


def test_a_record_that_came_since_is_nobody_elses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desk_module, "REPEATED", 1_000)
    records = stories("one")
    table = Table(SHEDDING)
    marks = Overload()
    marks.mark(0, 1_000)
    table.kept[KEY] = marks.snapshot()
    table.new_desk().behind_by = 0
    table.batch(records[:2])
    assert table.desk.mark(records[1].timestamp) is None
    assert table.desk.mark(records[1].timestamp - 1) is not None, "on a quiet partition shedding ends too"


def test_a_replay_sheds_nothing() -> None:
    again = Replay(SHEDDING, "journal", 1)
    assert [r.outcome for r in again.take(0, stories("run")) if isinstance(r, RunVerdict)] == ["pass"]


def test_a_desk_keeps_no_session_of_the_marks() -> None:
    marks = Overload()
    marks.mark(7, 1_000)
    desk = Desk(SHEDDING, ("journal", 0, 1), {KEY: marks.snapshot()}, Counts())
    assert (desk.deadline(), desk.behind_by, desk.runs) == (None, 1_000, 0)
