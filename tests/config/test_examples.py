"""The suites that users start from have no problem, not even a warning."""

from pathlib import Path

import pytest

from stream_graders.config import load_fleet, read, suite_files

SUITES = suite_files([Path(__file__).resolve().parent.parent.parent / "suites"])


@pytest.mark.parametrize("path", SUITES, ids=[path.name for path in SUITES])
def test_a_suite_is_clean(path: Path) -> None:
    suite, problems = read(path)
    assert [str(problem) for problem in problems] == []
    assert suite is not None
    assert suite.name == path.stem
    assert suite.about.owner
    assert path.with_name(f"{path.stem}.test.yaml").exists(), "every example shows what it says of runs"


def test_they_can_be_loaded_together() -> None:
    assert len(load_fleet(SUITES).suites) == len(SUITES)
