"""The import contracts hold, and each of them notices a break: a rule that cannot fail guards nothing."""

import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
LINTER = Path(sysconfig.get_path("scripts")) / "lint-imports"


def contracts() -> dict[str, dict[str, Any]]:
    """The contracts by name."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {contract["name"]: contract for contract in settings["contracts"]}


def modules() -> set[str]:
    """The modules and packages that stand directly in ours."""
    paths = (ROOT / "stream_graders").iterdir()
    return {path.stem for path in paths if path.suffix == ".py" or (path / "__init__.py").exists()} - {"__init__"}


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
    "the worker reads judges' replies itself": (
        "stream/desk.py",
        "from ..judges import parsing",
        "The worker asks no judge itself, and knows no client of one BROKEN",
    ),
    "a command looks at questions itself": (
        "cli/judge.py",
        "from ..judges import prescreen",
        "Only the judge worker looks at questions before they are asked BROKEN",
    ),
    "a command calls a model itself": (
        "cli/judge.py",
        "import pydantic_ai",
        "Only judges/ knows what speaks to providers BROKEN",
    ),
    "an edge builds on Faust": (
        "metrics.py",
        "import faust",
        "Only stream/ knows Faust BROKEN",
    ),
    "the emitter brings the graders along": (
        "emit/runs.py",
        "from ..testing import run",
        "The emitter carries nothing of the package but events, security and wire BROKEN",
    ),
}


@pytest.mark.parametrize(("module", "line", "report"), list(BREAKS.values()), ids=list(BREAKS))
def test_a_break_is_reported(copy: Path, module: str, line: str, report: str) -> None:
    with (copy / "stream_graders" / module).open("a") as source:
        source.write(f"\n{line}\n")
    held, output = lint(copy)
    assert not held
    assert report in output


def test_each_contract_is_broken_once_above() -> None:
    assert {report.removesuffix(" BROKEN") for *_, report in BREAKS.values() if report.endswith(" BROKEN")} == set(
        contracts()
    )


def test_no_layer_that_is_written_stands_in_parentheses() -> None:
    layers = contracts()["Dependencies point inward"]["layers"]
    named = {name.strip() for layer in layers for name in layer.split("|")}
    assert {name for name in named if not name.startswith("(")} == modules()


def test_what_the_emitter_may_not_import_is_all_but_events_security_and_wire() -> None:
    forbidden = contracts()["The emitter carries nothing of the package but events, security and wire"][
        "forbidden_modules"
    ]
    assert {name.removeprefix("stream_graders.") for name in forbidden} == modules() - {
        "emit",
        "events",
        "security",
        "wire",
    }
