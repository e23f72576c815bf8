"""What a calibration says about which judge: read from the files that ``judge calibrate --output`` wrote.

A calibration is of one judge as it was configured and of the rubrics that people had labelled. Another model, address, form or prompt
is another judge, and its calibration is void.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from ..events import canonical_json
from .prompts import PROMPT_VERSION
from .settings import JudgesError, JudgesFile, ModelSettings

OF_THE_JUDGE = ("provider", "base_url", "model", "mode", "max_output_tokens")
"""What of a judge's settings its answers depend on."""


class Worth(NamedTuple):
    """One calibration."""

    id: str
    """Stands in the answers that it covers."""
    path: str
    judge: dict[str, Any]
    rubrics: frozenset[str]
    short_of: tuple[str, ...]
    """What the judge lacks to back a critical check."""

    def changed(self, model: ModelSettings) -> list[str]:
        """What of the judge is not as it was when it was calibrated; such a calibration is void."""
        now = judge_of(model)
        return [name for name in now if self.judge.get(name) != now[name]]


def judge_of(model: ModelSettings) -> dict[str, Any]:
    """The judge that a calibration is about."""
    return {**{name: getattr(model, name) for name in OF_THE_JUDGE}, "prompt_version": PROMPT_VERSION}


def rubric_of(shown: Mapping[str, str], scale: tuple[float, float]) -> str:
    """Names what is asked: dimension, guide and scale. The criteria may differ from run to run, and are not part of it."""
    told = canonical_json([shown.get("dimension", ""), shown.get("guide", ""), [float(end) for end in scale]])
    return blake2b(told, digest_size=8).hexdigest()


def calibration_id(told: Mapping[str, Any]) -> str:
    """The id of a calibration: of all that it says."""
    known = {name: value for name, value in told.items() if name != "id"}
    return blake2b(canonical_json(known), digest_size=8).hexdigest()


def read(path: Path) -> Worth:
    """A calibration from its file.

    Raises:
        JudgesError: it cannot be read, or is none of a judge that was asked.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise JudgesError(f"{path}: {error.strerror}; judge calibrate --output writes it") from error
    except ValueError as error:
        raise JudgesError(f"{path.name}: is no JSON") from error
    judge, rubrics = (told.get("judge"), told.get("rubrics")) if isinstance(told, dict) else (None, None)
    if not isinstance(judge, dict) or not isinstance(rubrics, list):
        raise JudgesError(f"{path.name}: names no judge; calibrate with --judges, so that the judge is asked")
    if told.get("id") != calibration_id(told):
        raise JudgesError(f"{path.name}: was changed after it was written; calibrate again")
    return Worth(told["id"], path.name, judge, frozenset(map(str, rubrics)), tuple(map(str, told.get("short_of", ()))))


def worths_of(file: JudgesFile) -> dict[str, list[Worth]]:
    """The calibrations of each model, by its name; those that are void among them.

    Raises:
        JudgesError: one cannot be read.
    """
    return {name: [read(Path(path)) for path in model.calibrations] for name, model in file.models.items()}
