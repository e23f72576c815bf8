"""Calibrations: which judge and which question they are about, when they are void, and what `check` makes of them."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_graders.judges.calibration import calibration_id, judge_of, read, rubric_of
from stream_graders.judges.settings import JudgesError, JudgesFile, load
from tests.cli.commands import command
from tests.integration.harness import written
from tests.judges.flow import one, request
from tests.judges.server import ScriptedServer, always, scores

MODEL = {"base_url": "http://127.0.0.1:1/v1", "model": "m"}
ACCURACY = """
suite: s
judge: {sample: 1, budget: {calls: 10}}
checks:
  - {check: accurate, grader: ai_eval.accuracy_grader, severity: critical}
  - {check: relevant, grader: ai_eval.relevance_grader, severity: minor}
"""


def judges_file(folder: Path, *calibrations: str, **model: Any) -> Path:
    given = {**MODEL, **model, "calibrations": list(calibrations)}
    return written(folder / "judges.yaml", json.dumps({"models": {"default": given}}))


def calibrated(folder: Path, name: str = "worth.json", rubric: str | None = None, **told: Any) -> str:
    """A calibration of the default judge, as `judge calibrate --output` writes it."""
    from stream_graders.graders.ai_eval.accuracy_grader import AccuracyGrader

    judge = judge_of(JudgesFile.model_validate({"models": {"default": MODEL}}).models["default"])
    known = {
        "judge": judge, "rubrics": [rubric or rubric_of(AccuracyGrader().asked(), (0, 5))], "short_of": [], **told,
    }  # fmt: skip
    written(folder / name, json.dumps({"id": calibration_id(known), **known}))
    return name


def checked(folder: Path, judges: Path) -> list[str]:
    """What `check` says of the suite and the judges' file, without the good news."""
    suite = written(folder / "s.yaml", ACCURACY)
    done = command("check", suite, "--judges", judges)
    return [line for line in (done.out + done.err).splitlines() if "is good" not in line]


def test_a_critical_check_wants_a_judge_that_was_calibrated_for_it(tmp_path: Path) -> None:
    told = "s.yaml:5: checks[0]: warning: is critical, and its judge default "
    assert checked(tmp_path, judges_file(tmp_path)) == [
        f"{told}is not calibrated for what this asks: see `stream-graders judge calibrate --help`"
    ]
    assert checked(tmp_path, judges_file(tmp_path, calibrated(tmp_path))) == []
    other = calibrated(tmp_path, rubric=rubric_of({"dimension": "another"}, (0, 5)))
    assert checked(tmp_path, judges_file(tmp_path, other))[0].startswith(f"{told}is not calibrated")
    short = calibrated(tmp_path, short_of=["100 labels, it has 12"])
    assert checked(tmp_path, judges_file(tmp_path, short)) == [f"{told}lacks 100 labels, it has 12 (worth.json)"]


def test_another_model_is_another_judge(tmp_path: Path) -> None:
    (told,) = checked(tmp_path, judges_file(tmp_path, calibrated(tmp_path), model="m-2", mode="prompt_only"))
    assert told.endswith("is not as it was calibrated in worth.json: model and mode changed; calibrate it again")


def test_a_judge_that_the_file_does_not_know_is_an_error(tmp_path: Path) -> None:
    suite = written(tmp_path / "s.yaml", ACCURACY.replace("judge: {", "judge: {model: strict, "))
    done = command("check", suite, "--judges", judges_file(tmp_path))
    assert done.code == 2
    assert "s.yaml:5: checks[0]: the judges' file knows no judge 'strict'; it has default" in done.err


def test_a_target_that_the_file_does_not_know_is_an_error(tmp_path: Path) -> None:
    spec = {"target": "shop", "assertions": [{"id": "a"}]}
    check = {"check": "c", "grader": "ai_eval.droost_state", "severity": "critical", "settings": {"spec": spec}}
    suite = written(tmp_path / "s.yaml", json.dumps({"suite": "s", "checks": [check]}))
    done = command("check", suite, "--judges", judges_file(tmp_path))
    assert "checks[0]: the judges' file knows no target to look at 'shop'; it has none" in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "w.json: is no JSON"),
        ('{"kappa": 1}', "w.json: names no judge; calibrate with --judges, so that the judge is asked"),
        ('{"id": "x", "judge": {}, "rubrics": []}', "w.json: was changed after it was written; calibrate again"),
    ],
)  # fmt: skip
def test_a_calibration_that_is_none_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(JudgesError) as raised:
        read(written(tmp_path / "w.json", text))
    assert str(raised.value) == message


def test_an_answer_names_the_calibration_that_covers_it(tmp_path: Path) -> None:
    asked = request()
    with ScriptedServer(always(scores(4))) as server:
        model = {**MODEL, "base_url": server.url}
        judge = judge_of(JudgesFile.model_validate({"models": {"default": model}}).models["default"])
        name = calibrated(tmp_path, rubric=rubric_of(asked.input, asked.scale), judge=judge)
        file = load(judges_file(tmp_path, name, base_url=server.url))
        assert one(file, asked)["judge"]["calibration"] == read(tmp_path / name).id
        assert "calibration" not in one(file, request(1, input={**asked.input, "guide": "another"}))["judge"]
        void = load(judges_file(tmp_path, name, base_url=server.url, max_output_tokens=50))
        assert "calibration" not in one(void, asked)["judge"]
