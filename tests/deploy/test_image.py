"""The image's own steps, taken without an engine: what each stage copies, and the wheel that is built of just that."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.programs import DEPLOY, ROOT

TEXT = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
STAGES = {
    stage.split("\n")[0].split(" AS ")[1]: stage.split("\n")
    for stage in re.split(r"^FROM ", TEXT, flags=re.MULTILINE)[1:]
}


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
    """The working directory of the stages that build, with what they copied."""
    folder = tmp_path_factory.mktemp("image")
    for sources, place in [*copies(STAGES["build"]), *copies(STAGES["build-judge"])]:
        for source in sources:
            to = folder / place / Path(source).name if place.endswith("/") else folder / place
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / source, to)
    return folder


def test_whatever_is_copied_is_there() -> None:
    for stage in STAGES.values():
        for sources, _ in copies(stage):
            assert all((ROOT / source).exists() for source in sources)


def test_the_pins_that_it_installs_were_copied_before(build: Path) -> None:
    named = re.findall(r"--require-hashes -r (\S+)", TEXT)
    assert named == ["requirements/build.txt", "requirements/runtime.txt", "requirements/judges.txt"]
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


def test_what_runs_runs_as_nobody_in_particular_and_says_what_it_runs() -> None:
    run = STAGES["run"]
    assert "USER 10001:10001" in run
    assert 'ENTRYPOINT ["supervised", "stream-graders"]' in run
    assert any("deploy/supervised.sh /usr/local/bin/supervised" in line for line in run)
    for name in ("judge", "worker"):
        assert STAGES[name][0] == f"run AS {name}"
        assert not any(line.startswith(("USER", "ENTRYPOINT")) for line in STAGES[name])


def pins(name: str) -> set[str]:
    return set(
        re.findall(r"^(\S+==\S+)", (ROOT / "requirements" / f"{name}.txt").read_text(encoding="utf-8"), re.MULTILINE)
    )


def test_only_the_judges_image_holds_what_speaks_to_providers() -> None:
    assert list(STAGES)[-1] == "worker", "what is built where no stage is named"
    assert any("--from=build " in line for line in STAGES["worker"])
    assert any("--from=build-judge " in line for line in STAGES["judge"])
    clients = {"openai", "stamina", "aiolimiter"}
    assert not clients & {pin.partition("==")[0] for pin in pins("runtime")}
    assert clients <= {pin.partition("==")[0] for pin in pins("judges")}


def test_judge_and_worker_run_on_the_same_versions() -> None:
    assert pins("runtime") <= pins("judges") <= pins("dev")
