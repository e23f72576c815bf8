"""The import contracts hold, and each of them notices a break: a rule that cannot fail guards nothing."""

import shutil
import subprocess
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINTER = Path(sysconfig.get_path("scripts")) / "lint-imports"


def lint(folder: Path) -> tuple[bool, str]:
    """Whether the contracts hold for the package in a folder, and what the linter printed."""
    done = subprocess.run([LINTER, "--no-cache"], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The package and its contracts in a folder where they may be broken."""
    shutil.copytree(ROOT / "stream_graders", tmp_path / "stream_graders", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold() -> None:
    held, output = lint(ROOT)
    assert held, output


BREAKS = {
    "the core does input and output": (
        "grading.py",
        "import asyncio",
        "The core touches nothing outside itself BROKEN",
    ),
    "a lower layer reads a higher one": (
        "events.py",
        "from . import session",
        "Dependencies point inward BROKEN",
    ),
    "a module has no place": (
        "util.py",
        "",
        "The following modules are not listed as layers",
    ),
    "a third module makes structs": (
        "trajectory.py",
        "import msgspec",
        "In the core only events and verdicts are msgspec structs BROKEN",
    ),
    "a grader searches by itself": (
        "graders/vally/transcript_contains.py",
        "import re2",
        "Only matching/ knows the search engines BROKEN",
    ),
    "a grader knows another": (
        "graders/vally/transcript_contains.py",
        "from ..agentlasso import tool_called",
        "Graders do not know each other BROKEN",
    ),
}


@pytest.mark.parametrize(("module", "line", "report"), list(BREAKS.values()), ids=list(BREAKS))
def test_a_break_is_reported(copy: Path, module: str, line: str, report: str) -> None:
    with (copy / "stream_graders" / module).open("a") as source:
        source.write(f"\n{line}\n")
    held, output = lint(copy)
    assert not held
    assert report in output
