"""The journals that benchmarks write, and who takes part in them."""

import random

from benchmarks.data import interleaved
from benchmarks.lab import PARTITIONS, in_turn
from benchmarks.latency import places, trigger
from benchmarks.working import closed, closing
from stream_graders.events import to_json
from stream_graders.stream.topics import partition_of


def test_runs_are_mixed_each_in_its_order_and_so_many_at_a_time() -> None:
    told = list(interleaved((iter([(run, n) for n in range(9)]) for run in range(20)), random.Random(1), opened=3))
    assert sorted(told) == [(run, n) for run in range(20) for n in range(9)]
    open_runs: set[int] = set()
    most = 0
    for run, n in told:
        assert n == sum(1 for other, m in told[: told.index((run, n))] if other == run)
        open_runs.add(run)
        most = max(most, len(open_runs))
        if n == 8:
            open_runs.remove(run)
    assert most == 3


def test_no_run_is_begun_once_enough_is_told_and_none_is_cut() -> None:
    told = list(interleaved((iter([run] * 9) for run in range(1_000)), random.Random(1), opened=3, count=50))
    assert 50 <= len(told) <= 50 + 3 * 9
    assert len(told) % 9 == 0


def test_a_closing_run_lies_behind_everything_on_each_partition() -> None:
    records = closed([(b"r-1", b"{}")])
    assert records[0] == (b"r-1", b"{}")
    assert {partition_of(key, PARTITIONS) for key, _ in records[1:]} == set(range(PARTITIONS))
    assert not {key for key, _ in closing("round-1")} & {key for key, _ in closing()}


def test_what_let_a_verdict_be_said() -> None:
    """An early one its event; a final one its run's end, whatever decided it before; one on a turn nothing that is named."""
    where = places(closing())
    run = closing()[0][0].decode()
    early = {"turn": None, "state": "early", "run_id": run, "decided_by": {"event_id": f"{run}-1"}}
    for said, place in ((early, 1), ({**early, "state": "final"}, 2)):
        event = trigger(to_json(said))
        assert event is not None
        assert where[event] == place
    assert trigger(to_json({**early, "turn": 0})) is None


def test_what_fails_is_left_out_and_the_others_go_on() -> None:
    tried: list[str] = []

    def fails() -> str:
        tried.append("fails")
        if len(tried) > 1:
            raise SystemExit("the worker ended")
        return "once"

    assert in_turn(3, {"works": lambda: "well", "fails": fails}) == {"works": ["well"] * 3}
    assert len(tried) == 2
