"""The first example of docs/emitter.md does what the page says."""

import re
from pathlib import Path

import pytest

from stream_graders.config import load_fleet
from tests.integration.harness import graded_offline

ROOT = Path(__file__).resolve().parent.parent.parent
PAGE = (ROOT / "docs" / "emitter.md").read_text()


def test_the_first_run_is_written_and_graded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [example, *_] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(example, "docs/emitter.md", "exec"), {})
    assert len(Path("runs.jsonl").read_bytes().splitlines()) == 6
    verdicts = graded_offline(load_fleet([ROOT / "suites" / "support.yaml"]), [Path("runs.jsonl")])
    assert verdicts
    assert not [value for value in verdicts.values() if b'"outcome":"fail"' in value]
