"""States that come back from the changelog: the one that has read further wins, whichever was written last."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from stream_graders.events import to_json
from stream_graders.stream.table import GONE, LATE_MS, StateTable


@dataclass
class Record:
    key: bytes
    value: bytes | None
    headers: list[tuple[str, bytes]] = field(default_factory=list)
    timestamp: int = 0


def state(offset: int) -> bytes:
    return to_json([1, offset, None, "open", 0])


def recovered(*records: Record) -> StateTable:
    table: Any = StateTable.__new__(StateTable)
    StateTable.prepare(table)
    event = SimpleNamespace(message=SimpleNamespace(partition=0), value=list(records))
    table.apply_changelog_batch([event])
    return table  # type: ignore[no-any-return]  # made without Faust, of which recovery needs nothing


def removal(mark: int, key: bytes = b"r", when: int = 0) -> Record:
    return Record(key, None, [(GONE, str(mark).encode())], when)


def test_an_old_state_written_late_loses_and_the_newer_one_is_written_again() -> None:
    table = recovered(Record(b"r", state(5)), Record(b"r", state(9)), Record(b"r", state(7)))
    assert table.kept[0] == {b"r": state(9)}
    assert table.rewrites(0) == ({b"r": state(9)}, {})
    assert table.rewrites(0) == ({}, {}), "once is enough"


def test_a_state_in_its_place_is_not_written_again() -> None:
    assert recovered(Record(b"r", state(5)), Record(b"r", state(9))).rewrites(0) == ({}, {})
    made_good = recovered(Record(b"r", state(9)), Record(b"r", state(7)), Record(b"r", state(9)))
    assert made_good.rewrites(0) == ({}, {}), "an earlier recovery wrote it again"


def test_a_late_write_does_not_revive_a_run_that_was_done_with() -> None:
    for late in (
        recovered(Record(b"r", state(9)), removal(9), Record(b"r", state(7))),
        recovered(removal(9), Record(b"r", state(7))),  # Compaction took the first state.
    ):
        assert late.kept[0] == {}
        assert late.rewrites(0) == ({b"r": None}, {b"r": 9}), "or compaction would keep the late one alone"


def test_a_run_that_came_back_after_its_removal_is_kept() -> None:
    back = recovered(Record(b"r", state(9)), removal(9), Record(b"r", state(12)))
    assert (back.kept[0], back.rewrites(0)) == ({b"r": state(12)}, ({}, {}))


def test_a_removal_that_is_written_late_removes_nothing_newer() -> None:
    late = recovered(Record(b"r", state(12)), removal(9))
    assert (late.kept[0], late.rewrites(0)) == ({b"r": state(12)}, ({b"r": state(12)}, {}))


def test_a_removal_that_was_written_again_is_in_its_place() -> None:
    assert recovered(removal(9), Record(b"r", state(7)), removal(9)).rewrites(0) == ({}, {})


def test_removals_are_remembered_for_as_long_as_a_late_write_may_come() -> None:
    table = recovered(*[removal(n, b"r%d" % n, when=n * LATE_MS // 10) for n in range(100)])
    assert len(table._removed[0]) == 11
