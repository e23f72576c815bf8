"""What the demo's suite says of the simulated agents is what they did, also when their events come late and twice."""

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from stream_graders.config import load, read
from stream_graders.demo import agents
from stream_graders.demo.agents import CHECKS, RELEASES, Shop
from stream_graders.demo.unruly import FARTHEST, UnrulySink
from stream_graders.emit import Emitter
from stream_graders.emit.sinks import MemorySink
from stream_graders.events import Message, RunEnd, RunStart, ToolCall, ToolResult
from stream_graders.session import At, Ledger, Session
from stream_graders.suites import Fleet
from stream_graders.testing import run_verdicts_of, verdicts_of
from stream_graders.trajectory import HELD_EVENTS
from stream_graders.verdicts import Outcome, RunVerdict

SUITE = load(Path(agents.__file__).parent / "shop.yaml")


class Day:
    """A day at the shop: what the agents did, and the records that came of it, in the order of their arrival."""

    def __init__(self, customers: int = 400, seed: int = 1, *, unruly: bool = False) -> None:
        self.sink = MemorySink()
        self.unruly = UnrulySink(self.sink, seed) if unruly else None
        emitter = Emitter(self.unruly or self.sink)
        self.shop = Shop(emitter, seed)
        for _ in range(customers):
            self.shop.open()
            self.shop.advance(0.3)
        self.shop.finish()
        emitter.close(timeout=60)
        self.stats = emitter.stats()

    def graded(self) -> tuple[dict[tuple[str, str], Outcome], dict[str, RunVerdict], Ledger]:
        """The last verdict of each run and check, the run verdicts, and what became of the events."""
        ledger = Ledger()
        sessions: dict[str, Session] = {}
        verdicts: dict[tuple[str, str], Outcome] = {}
        runs: dict[str, RunVerdict] = {}
        for offset, event in enumerate(self.sink.events):
            session = sessions.setdefault(event.run_id, Session(Fleet((SUITE,)), event.run_id, ledger))
            effects = session.feed(event, At(1_000 + offset, offset, 500))
            verdicts |= {(each.run_id, each.check): each.outcome for each in verdicts_of(effects) if each.revision}
            for each in run_verdicts_of(effects):
                assert each.run_id not in runs
                runs[each.run_id] = each
        return verdicts, runs, ledger


@pytest.mark.parametrize("unruly", [False, True], ids=["in order", "late and twice"])
def test_every_verdict_is_the_truth(unruly: bool) -> None:
    day = Day(unruly=unruly)
    verdicts, runs, ledger = day.graded()
    truths = day.shop.truths
    assert verdicts == {(t.run_id, check): outcome for t in truths.values() for check, outcome in t.outcomes.items()}
    critical = [check.name for check in SUITE.checks if check.severity == "critical"]
    for truth in truths.values():
        failed = any(truth.outcomes[check] is Outcome.FAIL for check in critical)
        assert runs[truth.run_id].outcome == (Outcome.FAIL if failed else Outcome.PASS)
        assert runs[truth.run_id].completion == "run_end"
        assert "incomplete" not in runs[truth.run_id].flags
    assert ledger.graded == day.stats.sent
    assert ledger.sum() == len(day.sink.records)
    if day.unruly is not None:
        assert ledger.duplicates == day.unruly.twice > 0
        assert day.unruly.late > 0


def test_the_suite_and_the_agents_speak_of_the_same_checks() -> None:
    assert sorted(check.name for check in SUITE.checks) == list(CHECKS)


def test_a_check_without_a_condition_is_meant_so() -> None:
    _, problems = read(Path(agents.__file__).parent / "shop.yaml")
    assert [problem.where for problem in problems] == ["checks[6]"]


def test_every_check_fails_somewhere_and_passes_elsewhere() -> None:
    told = Counter((check, outcome) for t in Day().shop.truths.values() for check, outcome in t.outcomes.items())
    for check in CHECKS:
        assert told[check, Outcome.FAIL] > 0
        assert told[check, Outcome.PASS] > told[check, Outcome.FAIL]


def test_the_last_release_is_worse() -> None:
    truths = list(Day().shop.truths.values())
    worse, others = ([t for t in truths if (t.version == RELEASES[-1].version) is last] for last in (True, False))
    share_of = [
        sum(t.outcomes["order-id-is-real"] is Outcome.FAIL for t in each) / len(each) for each in (worse, others)
    ]
    assert share_of[0] > 4 * share_of[1]


def test_a_seed_tells_the_same_day_again() -> None:
    def told(day: Day) -> list[Any]:
        return [_without_chance(event) for event in day.sink.events]

    assert told(Day(60)) == told(Day(60))
    assert told(Day(60)) != told(Day(60, seed=2))


def _without_chance(event: Any) -> tuple[Any, ...]:
    """What does not come from a clock or a unique id."""
    bodies: dict[Any, tuple[str, ...]] = {
        RunStart: ("agent", "labels"),
        Message: ("role", "content", "usage"),
        ToolCall: ("name", "args"),
        ToolResult: ("name", "result", "is_error"),
        RunEnd: ("status", "last_seq"),
    }
    return (event.run_id, event.seq, type(event), *(getattr(event, name) for name in bodies[type(event)]))


def test_conversations_are_interleaved() -> None:
    runs = [event.run_id for event in Day(100).sink.events]
    assert sum(one != other for one, other in pairwise(runs)) > len(runs) / 2


def test_nothing_is_displaced_further_than_a_reader_waits() -> None:
    assert FARTHEST < HELD_EVENTS
    sink = UnrulySink(MemorySink(), 1)
    order = sink._disturbed(5_000)
    first = {n: order.index(n) for n in range(5_000)}
    overtaken = [n for n in range(4_000) if any(first[m] < first[n] for m in range(n + FARTHEST + 1, n + 200))]
    assert overtaken == []
    assert sorted(set(order)) == list(range(5_000))
    assert sink.late > 100
    assert sink.twice == len(order) - 5_000 > 100
