"""The JSON Schema of suite files, for editors: every key, the graders by name, and each grader's own settings.

    python -m stream_graders.config.schema      write schemas/suite.json; a test compares it with the code

An editor says with it most of what `stream-graders check` says, while one types: not what hangs on other files or names.
"""

import inspect
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from ..catalogue import catalogue
from ..grading import Grader
from . import settings_model
from .files import FORMS
from .models import CheckModel, SuiteModel

_QUESTIONS = ("grader", "all", "any", "not")


class _Untitled(GenerateJsonSchema):
    """Without the titles that repeat each key: an editor would show them in place of the key."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def suite_schema(kinds: Iterable[type[Grader]]) -> dict[str, Any]:
    """The schema of a suite whose checks ask these graders.

    What editors read well is draft 7. A file that extends or includes another may leave out what stands there.
    """
    kinds = list(kinds)
    models = {kind: settings_model(kind) for kind in kinds}
    wanted: list[Any] = [(model, "validation") for model in (SuiteModel, CheckModel, *models.values())]
    refs, made = models_json_schema(wanted, schema_generator=_Untitled)
    defs: dict[str, Any] = made["$defs"]
    suite, check = defs.pop("SuiteModel"), defs["CheckModel"]
    inner = [value for value in suite["properties"].values() if "$ref" in value]
    for value in (*inner, *defs["CompletionModel"]["properties"].values()):
        del value["default"]  # They hold durations as milliseconds, and a file has text.
    needed = check.pop("required")
    check["required"] = ["check"]
    check["properties"]["grader"] = _grader(kinds)
    check["allOf"] = [_settings(kind, refs[model, "validation"], defs) for kind, model in models.items()]
    suite.pop("required")
    whole = {"required": needed, "oneOf": [{"required": [question]} for question in _QUESTIONS]}
    extends: dict[str, Any] = {"required": ["extends"]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        **suite,
        "title": "A suite of stream_graders",
        "properties": {**suite["properties"], **_builds_on()},
        "allOf": [
            {"if": extends, "else": {"required": ["suite"]}},
            {
                "if": {"anyOf": [extends, {"required": ["include"]}]},
                "else": {"required": ["checks"], "properties": {"checks": {"items": whole}}},
            },
        ],
        "$defs": defs,
    }


def _builds_on() -> dict[str, Any]:
    """The keys that are gone once a file is read with all that it builds on."""
    entry = {
        "type": "object",
        "properties": {"format": {"enum": list(FORMS)}, "file": {"type": "string"}},
        "required": ["format", "file"],
        "additionalProperties": False,
    }
    return {
        "extends": {"type": "string", "description": "Another suite file, which this one changes."},
        "include": {"type": "array", "items": entry, "description": "Sources' own files, used in place."},
    }


def _grader(kinds: list[type[Grader]]) -> dict[str, Any]:
    names = [{"const": kind.name, "description": _question(kind)} for kind in kinds]
    return {"anyOf": [{"oneOf": names}, {"pattern": f"^({'|'.join(_spelt(kind) for kind in kinds)})$"}]}


def _settings(kind: type[Grader], ref: dict[str, Any], defs: dict[str, Any]) -> dict[str, Any]:
    """Of a check that asks a grader: its settings are those of the grader."""
    asks_it = {"required": ["grader"], "properties": {"grader": {"pattern": f"^{_spelt(kind)}$"}}}
    model = defs[ref["$ref"].rpartition("/")[2]]
    model["title"] = kind.name
    model["description"] = _question(kind)
    has_them = {"required": ["settings"]} if model.get("required") else {}
    return {"if": asks_it, "then": {**has_them, "properties": {"settings": ref}}}


def _spelt(kind: type[Grader]) -> str:
    """A pattern of the grader's name; dashes stand for underscores, as in the sources' own pages."""
    return re.escape(kind.name).replace("_", "[-_]")


def _question(kind: type[Grader]) -> str:
    """What a grader asks: the first line of its module, or of its class where the module says nothing."""
    told = inspect.getdoc(inspect.getmodule(kind)) or inspect.getdoc(kind) or kind.name
    return told.splitlines()[0]


def ours() -> list[type[Grader]]:
    """The graders of this package, without those that others bring."""
    return [kind for kind in catalogue().values() if kind.__module__.startswith("stream_graders.")]


def written(schema: dict[str, Any]) -> str:
    """A schema as text."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    folder = Path(__file__).parent.parent / "schemas"
    (folder / "suite.json").write_text(written(suite_schema(ours())), encoding="utf-8")
