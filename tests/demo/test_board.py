"""The board counts each verdict once, and the comparison with the truth notices what is missing, wrong or made up."""

from dataclasses import replace

import msgspec
import pytest

from stream_graders.demo.board import Board, compare
from stream_graders.events import to_json
from stream_graders.verdicts import Outcome
from tests.demo.day import RUNS, SUITE, TRUTHS, VERDICTS, heard


@pytest.fixture
def board() -> Board:
    return heard()


def test_a_good_day_agrees_with_the_truth(board: Board) -> None:
    comparison = compare(board, TRUTHS, SUITE)
    assert comparison.agrees
    assert [row.found for row in comparison.rows] == [row.injected for row in comparison.rows]
    assert sum(row.injected for row in comparison.rows) == sum(len(truth.faults) for truth in TRUTHS.values()) > 10
    assert sum(row.invented for row in comparison.rows) == 0


def test_what_comes_again_counts_once(board: Board) -> None:
    tally, failed = {series: dict(counts) for series, counts in board.tally.items()}, board.failed
    board.hear(to_json(VERDICTS[0]), of_run=False)
    board.hear(to_json(RUNS[0]), of_run=True)
    assert (board.repeated, board.conflicts) == (2, 0)
    assert ({series: dict(counts) for series, counts in board.tally.items()}, board.failed) == (tally, failed)


def test_what_comes_again_and_says_something_else_is_a_conflict(board: Board) -> None:
    board.hear(to_json(msgspec.structs.replace(VERDICTS[0], evidence="another")), of_run=False)
    assert board.conflicts == 1


def test_a_failure_shows_once_however_often_it_is_told(board: Board) -> None:
    early = [verdict for verdict in VERDICTS if verdict.state == "early"]
    assert board.early == len(early) > 0
    assert board.failed == sum(len(truth.faults) for truth in TRUTHS.values())
    places = [(verdict.run_id, verdict.check) for verdict in board.latest_fails()]
    assert len(set(places)) == len(places) == 8


def test_an_amendment_replaces_what_was_said(board: Board) -> None:
    final = next(v for v in VERDICTS if v.state == "final" and v.outcome is Outcome.PASS)
    version = final.agent.version if final.agent is not None else None
    before = board.tally[version or "", final.check].copy()
    changed = msgspec.structs.replace(final, id="new", state="amended", revision=2, outcome=Outcome.FAIL)
    board.hear(to_json(changed), of_run=False)
    after = board.tally[version or "", final.check]
    assert (after[Outcome.PASS], after[Outcome.FAIL]) == (before[Outcome.PASS] - 1, before[Outcome.FAIL] + 1)
    assert (
        compare(board, TRUTHS, SUITE).wrong[0].startswith(f"{final.run_id}: {final.check}: fail, and the truth is pass")
    )


def test_a_missing_verdict_is_missed() -> None:
    board = Board()
    for verdict in VERDICTS:
        if verdict.check != "greets":
            board.hear(to_json(verdict), of_run=False)
    missing = compare(board, TRUTHS, SUITE).missing
    assert set(missing) == {f"{run_id}: greets" for run_id in TRUTHS} | set(TRUTHS)  # and every run verdict


def test_a_failure_that_nobody_injected_is_wrong(board: Board) -> None:
    run_id, truth = next((run_id, truth) for run_id, truth in TRUTHS.items() if "no-direct-database" in truth.faults)
    innocent = replace(truth, outcomes={**truth.outcomes, "no-direct-database": Outcome.PASS})
    comparison = compare(board, {**TRUTHS, run_id: innocent}, SUITE)
    assert not comparison.agrees
    assert any(line.startswith(f"{run_id}: no-direct-database: fail") for line in comparison.wrong)
    assert sum(row.invented for row in comparison.rows) == 1


def test_a_run_with_another_outcome_is_wrong(board: Board) -> None:
    run = RUNS[0]
    other = Outcome.PASS if run.outcome is Outcome.FAIL else Outcome.FAIL
    board.hear(to_json(msgspec.structs.replace(run, id="new", revision=2, outcome=other)), of_run=True)
    assert compare(board, TRUTHS, SUITE).wrong == (f"{run.run_id}: {other}, and the truth is {run.outcome}",)


def test_a_rate_counts_what_was_graded(board: Board) -> None:
    assert board.rate("no such version", "greets") is None
    counts = board.tally["1.5.0", "order-id-is-real"]
    graded = counts[Outcome.PASS] + counts[Outcome.FAIL]
    assert board.rate("1.5.0", "order-id-is-real") == counts[Outcome.PASS] / graded
    assert graded < counts.total()  # the skipped are outside
