"""The grader that docs/own-graders.md shows is a good one: it keeps the laws."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from stream_graders.laws import LAWS, Law
from stream_graders.testing import graded, run

PAGE = Path(__file__).resolve().parent.parent / "docs" / "own-graders.md"


def shown() -> ModuleType:
    """The page's first Python block as a module."""
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    module = ModuleType("acme_graders.brevity")
    exec(compile(block[1], str(PAGE), "exec"), module.__dict__)
    return module


GRADER = shown().Brevity


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_it_keeps_the_law(law: Law) -> None:
    law(GRADER(limit=5), list(run().starts().asks("hello").says("hello there").says("yes").ends()))


def test_it_scores() -> None:
    verdict = graded(GRADER(limit=5), run().starts().says("hello there").says("yes").ends())
    assert (verdict.outcome, verdict.score, verdict.scale) == ("pass", 9.0, (0, 10))
