"""The work of the benchmarks beside other engines: the oracle, the engines' fold and our suite say the same of it."""

import json
from collections import Counter, defaultdict

from benchmarks.account import Answer, Key
from benchmarks.peers import work
from benchmarks.peers.engines import SUITE
from benchmarks.peers.oracle import answers
from benchmarks.peers.programs.fold import fold, fresh
from stream_graders.config import load
from stream_graders.events import Event
from stream_graders.testing import fed, session_of, verdicts_of
from stream_graders.wire import decode

RECORDS = list(work.records(400))
DUE = answers(RECORDS)


def test_every_run_has_its_three_verdicts() -> None:
    assert len(DUE) == 3 * 400
    assert {state for _, _, state in DUE} == {"final"}


def test_every_outcome_of_every_check_occurs() -> None:
    """A check that never fails would let an engine pass that says nothing."""
    told = Counter((check, outcome) for (_, check, _), (outcome, _) in DUE.items())
    assert {check for check, outcome in told if outcome == "fail"} == {"echo", "order", "wording"}
    assert {check for check, outcome in told if outcome == "pass"} == {"echo", "order", "wording"}
    assert told["order", "skipped"] > told["order", "pass"] > told["order", "fail"] > 10


def test_the_engines_fold_says_what_the_oracle_says() -> None:
    runs: dict[bytes, dict[str, object]] = {}
    found: dict[Key, Answer] = {}
    for key, value in RECORDS:
        for said in fold(runs.setdefault(key, fresh()), json.loads(value)) or ():
            found[said["run_id"], said["check"], "final"] = (said["outcome"], said["seq"])
    assert found == DUE


def test_our_suite_says_what_the_oracle_says_and_tells_failures_at_once() -> None:
    assert ours(RECORDS) == answers(RECORDS, early=True)


def test_the_same_of_a_journal_that_breaks_off() -> None:
    part = RECORDS[:4_000]
    due = answers(part, early=True)
    assert ours(part) == due
    assert {run for run, _, state in due if state == "early"} - {run for run, _, state in due if state == "final"}


def test_the_records_are_events_of_ours_of_the_size_asked_for() -> None:
    assert all(isinstance(decode(value, key), Event) for key, value in RECORDS)
    for size in (276, 720):
        sized = [len(value) for _, value in work.records(300, size=size)]
        assert abs(sum(sized) / len(sized) - size) < 0.03 * size


def ours(records: list[tuple[bytes, bytes]]) -> dict[Key, Answer]:
    """What a worker would publish, by its core."""
    suite = load(SUITE)
    runs: dict[str, list[Event]] = defaultdict(list)
    for key, value in records:
        event = decode(value, key)
        assert isinstance(event, Event)
        runs[event.run_id].append(event)
    found: dict[Key, Answer] = {}
    for run, events in runs.items():
        for verdict in verdicts_of(fed(session_of(suite, run), events)):
            assert verdict.decided_by is not None
            found[run, verdict.check, verdict.state] = (verdict.outcome.value, verdict.decided_by.seq)
    return found
