"""The pins belong to the project, not to the machine or the mirror they were made on."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PINS = sorted((ROOT / "requirements").glob("*.txt"))
PIN = re.compile(r"([a-z0-9][a-z0-9.-]*)==\S+ \\|    --hash=sha256:[0-9a-f]{64}(?: \\)?|\s*#.*|")


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.name)
def test_every_line_is_a_pin_with_a_hash_or_a_comment(path: Path) -> None:
    strange = [line for line in path.read_text().splitlines() if not PIN.fullmatch(line)]
    assert strange == []


@pytest.mark.parametrize("path", PINS, ids=lambda path: path.name)
def test_comments_name_no_address(path: Path) -> None:
    assert not re.search(r":/|@ ", path.read_text())


def test_the_developers_extra_holds_the_demos() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras["demo"]) <= set(extras["dev"])


def test_the_developers_extra_holds_the_judges() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    needed = {*extras["judges"], *extras["judges-providers"]} - {"stream-graders[judges]"}
    assert needed <= set(extras["dev"])


@pytest.mark.parametrize(("fewer", "more"), [("demo", "judged-demo"), ("judged-demo", "dev")])
def test_whoever_has_the_more_has_the_fewer_in_the_same_versions(fewer: str, more: str) -> None:
    """The Makefile takes the one stamp for the other."""
    pins = [
        set(re.findall(r"^\S+==\S+", (ROOT / "requirements" / f"{name}.txt").read_text(), re.M))
        for name in (fewer, more)
    ]
    assert pins[0] <= pins[1]
