"""What an installed package must hold beside its modules."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names of the files in the wheel that this checkout builds."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(ROOT)], check=True)
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path).namelist()


def test_the_topic_files_travel_inside(wheel: list[str]) -> None:
    files = {f"stream_graders/_topics/{path.name}" for path in (ROOT / "topics").glob("*.yaml")}
    assert files
    assert files <= set(wheel)


def test_the_schemas_and_the_types_marker_travel_too(wheel: list[str]) -> None:
    assert "stream_graders/py.typed" in wheel
    schemas = {f"stream_graders/schemas/{path.name}" for path in (ROOT / "stream_graders" / "schemas").glob("*.json")}
    assert schemas <= set(wheel)


def test_nothing_else_is_installed(wheel: list[str]) -> None:
    assert {name.split("/")[0].split("-")[0] for name in wheel} == {"stream_graders"}
