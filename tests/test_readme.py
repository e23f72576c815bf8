"""What README and docs show is true: suites load, the error messages are the real ones, the record's fields exist."""

import json
import re
from pathlib import Path

import pytest

from stream_graders.catalogue import catalogue
from stream_graders.config import read
from stream_graders.stream.guards import WorkerExit
from stream_graders.verdicts import Verdict

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    return [text for of, text in found if of == language]


SUITES = [(page.name, n, text) for page in PAGES for n, text in enumerate(blocks(page, "yaml")) if "checks:" in text]


@pytest.mark.parametrize(("page", "place", "text"), SUITES, ids=[f"{page}-{n}" for page, n, _ in SUITES])
def test_a_suite_that_is_shown_can_be_used(page: str, place: int, text: str, tmp_path: Path) -> None:
    path = tmp_path / "support.yaml"
    path.write_text(text)
    suite, problems = read(path)
    assert suite is not None
    assert problems == []


def test_the_errors_that_are_shown_are_the_real_ones(tmp_path: Path) -> None:
    path = tmp_path / "support.yaml"
    right = blocks(ROOT / "README.md", "yaml")[0]
    shown = next(text for text in blocks(ROOT / "README.md", "") if text.startswith("support.yaml:"))
    for wrong in (("assistant_contains_tool_output", "assistant_contains_tool_ouput"), ("{tools:", "{tool:")):
        path.write_text(right.replace(*wrong))
        _, problems = read(path)
        assert any(str(problem) in shown for problem in problems), [str(problem) for problem in problems]


def test_the_verdict_that_is_shown_has_the_fields_of_a_verdict() -> None:
    shown = json.loads(blocks(ROOT / "README.md", "json")[0])
    assert set(shown) - {"…"} <= set(Verdict.__struct_fields__)


def test_every_grader_has_a_page_in_the_list() -> None:
    told = (ROOT / "docs" / "graders" / "README.md").read_text(encoding="utf-8")
    assert [name for name in catalogue() if f"[`{name}`]({name}.md)" not in told] == []


def test_the_exit_codes_are_the_documented_ones() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    assert [code for code in WorkerExit if f"| {code.value} |" not in page] == []
