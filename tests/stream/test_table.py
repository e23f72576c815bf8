"""States that come back from the changelog: the one that has read further wins, whichever was written last."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from stream_graders.events import to_json
from stream_graders.stream.table import GONE, StateTable


@dataclass
class Record:
    key: bytes
    value: bytes | None
    headers: list[tuple[str, bytes]] = field(default_factory=list)


def state(offset: int) -> bytes:
    return to_json([1, offset, None, "open", 0])


def recovered(*records: Record) -> StateTable:
    table: Any = StateTable.__new__(StateTable)
    StateTable.prepare(table)
    event = SimpleNamespace(message=SimpleNamespace(partition=0), value=list(records))
    table.apply_changelog_batch([event])
    return table  # type: ignore[no-any-return]  # made without Faust, of which recovery needs nothing


def test_an_old_state_written_late_loses_and_the_newer_one_is_written_again() -> None:
    table = recovered(Record(b"r", state(5)), Record(b"r", state(9)), Record(b"r", state(7)))
    assert table.kept[0] == {b"r": state(9)}
    assert table.rewrites(0) == {b"r": state(9)}
    assert table.rewrites(0) == {}, "once is enough"


def test_a_state_in_its_place_is_not_written_again() -> None:
    table = recovered(Record(b"r", state(5)), Record(b"r", state(9)))
    assert table.rewrites(0) == {}


def test_a_late_write_does_not_revive_a_run_that_was_done_with() -> None:
    removal = Record(b"r", None, [(GONE, b"9")])
    assert recovered(Record(b"r", state(9)), removal, Record(b"r", state(7))).kept[0] == {}
    assert recovered(removal, Record(b"r", state(7))).kept[0] == {}, "also when compaction took the first state"


def test_a_run_that_came_back_after_its_removal_is_kept() -> None:
    removal = Record(b"r", None, [(GONE, b"9")])
    assert recovered(Record(b"r", state(9)), removal, Record(b"r", state(12))).kept[0] == {b"r": state(12)}
    assert recovered(Record(b"r", state(12)), removal).kept[0] == {b"r": state(12)}, "the removal itself came late"
