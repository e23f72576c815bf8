"""The image's own steps, taken without an engine: what each stage copies, and the wheel that is built of just that."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.programs import DEPLOY, ROOT

TEXT = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
STAGES = [stage.split("\n") for stage in re.split(r"^FROM ", TEXT, flags=re.MULTILINE)[1:]]


def copies(stage: list[str]) -> list[tuple[list[str], str]]:
    """Sources in the checkout and place in the image of each COPY."""
    found = []
    for line in stage:
        if line.startswith("COPY ") and "--from=" not in line:
            *sources, place = [word for word in line.split()[1:] if not word.startswith("--")]
            found.append((sources, place))
    return found


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of the first stage, with what it copied."""
    folder = tmp_path_factory.mktemp("image")
    for sources, place in copies(STAGES[0]):
        for source in sources:
            to = folder / place / Path(source).name if place.endswith("/") else folder / place
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, to)
    return folder


def test_whatever_is_copied_is_there() -> None:
    for stage in STAGES:
        for sources, _ in copies(stage):
            assert all((ROOT / source).exists() for source in sources)


def test_the_pins_that_it_installs_were_copied_before(build: Path) -> None:
    named = re.findall(r"--require-hashes -r (\S+)", TEXT)
    assert named == ["requirements/build.txt", "requirements/runtime.txt"]
    assert all((build / file).is_file() for file in named)


def test_the_program_can_be_built_of_what_was_copied_and_run_anywhere(build: Path, tmp_path: Path) -> None:
    """With the build's own tools; the dependencies are this environment's."""
    [step] = re.findall(r"pip (wheel .*?) +&&", TEXT)
    subprocess.run([sys.executable, "-m", "pip", *step.split(), "--quiet", "--no-index"], cwd=build, check=True)
    [wheel] = (build / "wheels").glob("*.whl")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(tmp_path / "lib"), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "stream_graders.cli.main", "topics", "export", "strimzi"],
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "lib"), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == (DEPLOY / "strimzi" / "topics.yaml").read_text(encoding="utf-8")
    where = "import stream_graders; print(stream_graders.__file__)"
    told = subprocess.run(
        [sys.executable, "-P", "-c", where],
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "lib")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.startswith(str(tmp_path)), "the installed one, not the checkout's"


def test_the_last_stage_runs_as_nobody_in_particular_and_says_what_it_runs() -> None:
    last = STAGES[-1]
    assert "USER 10001:10001" in last
    assert 'ENTRYPOINT ["supervised", "stream-graders"]' in last
    assert any("deploy/supervised.sh /usr/local/bin/supervised" in line for line in last)
