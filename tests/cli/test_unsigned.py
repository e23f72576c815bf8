"""Grading files without the judges' key believes whoever wrote an answer, and says so."""

from pathlib import Path

import pytest

from stream_graders.cli.runs import Graded
from stream_graders.config import load_fleet
from stream_graders.events import to_json
from stream_graders.testing import answer_to, requests_of, run
from tests.cli.commands import command

SUITE = """
suite: judged
judge: {sample: 1, budget: {calls: 100}}
checks:
  - {check: accurate, grader: ai_eval.accuracy_grader, severity: minor}
"""
TOLD = "1 answers of judges were believed unsigned, whoever wrote them; set SG_JUDGE_KEY or SG_JUDGE_KEY_FILE to take only those that are signed"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """A suite, and a run with an answer that nobody signed."""
    suite, runs = tmp_path / "judged.yaml", tmp_path / "runs.jsonl"
    suite.write_text(SUITE, encoding="utf-8")
    events = list(run("r").starts().asks("Which gate?").says("Gate 4.").ends())
    graded = Graded(load_fleet([suite]))
    [request] = requests_of([effect for event in events for effect in graded.feed(event)])
    answer = answer_to(request, {"status": "scored", "score": 5})
    runs.write_bytes(b"".join(to_json(event) + b"\n" for event in [*events, answer]))
    return suite, runs


@pytest.mark.parametrize(
    "words", ["grade RUNS --suite SUITE", "check SUITE --against RUNS", "explain r RUNS --suite SUITE"]
)
def test_an_answer_that_nobody_signed_is_told_of(
    places: tuple[Path, Path], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {"SUITE": str(places[0]), "RUNS": str(places[1])}
    asked = [named.get(word, word) for word in words.split()]
    assert TOLD in command(*asked).err.splitlines()
    monkeypatch.setenv("SG_JUDGE_KEY", "a key that is long enough")
    assert "unsigned" not in command(*asked).err
