"""The JSON Schema of suites takes every suite that loads, and says of bad ones what needs no other file to be said."""

import json
import re
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest
import yaml

import stream_graders
from stream_graders.catalogue import catalogue
from stream_graders.config.schema import ours, suite_schema
from tests.cli.commands import command

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHIPPED = Path(stream_graders.__file__).parent / "schemas" / "suite.json"
SCHEMA = json.loads(SHIPPED.read_text(encoding="utf-8"))
HOLDS = fastjsonschema.compile(SCHEMA)

GOOD = [
    path
    for folder in (ROOT / "suites", HERE / "good")
    for path in sorted(folder.glob("*.yaml"))
    if ".test" not in path.name
]
UNSEEN = {
    "latin_1": "no text", "no_yaml": "no YAML", "unfinished": "no YAML",
    "names": "two checks of a name", "no_checks": "an empty list, which ungraded_items allow", "surrogate": "what a pattern means",
    "judges": "what a grader asks, and where it may be said", "twice": "a key that stands there twice",
}  # fmt: skip
"""Of the bad files those whose fault no schema can see."""
BAD = [path for path in sorted((HERE / "bad").glob("*.yaml")) if path.stem not in UNSEEN]


def holds(text: str) -> None:
    HOLDS(yaml.safe_load(text))


def test_what_is_shipped_is_that_of_the_code() -> None:
    assert json.loads(json.dumps(suite_schema(ours()))) == SCHEMA, "run: python -m stream_graders.config.schema"


def test_the_command_prints_it_with_all_graders() -> None:
    done = command("schema")
    assert (done.code, json.loads(done.out)) == (0, json.loads(json.dumps(suite_schema(catalogue().values()))))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_every_suite_that_loads_holds(path: Path) -> None:
    holds(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_suite_does_not_hold(path: Path) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        holds(path.read_text(encoding="utf-8"))


def suite(check: str, more: str = "") -> str:
    return f"suite: s\n{more}\nchecks:\n  - {{check: c, severity: minor, {check}}}\n"


HELD = {
    "dashes": suite("grader: vally.transcript-not-contains, settings: {substring: x}"),
    "a check of others": suite("all: [a, b]"),
    "one of others": suite("any: a"),
    "a turn by number": suite("grader: trajectory.bad_end, turn: 3"),
    "the first turn": suite("grader: trajectory.bad_end, turn: first"),
    "one status": suite("grader: trajectory.bad_end, when: {status: limit}"),
    "a rubric by name": suite("grader: ai_eval.rubric_checks, settings: {rubric: tone}"),
    "what it extends": "extends: other.yaml\nchecks:\n  - {check: c, severity: info}\n  - {check: d, settings: {any: thing}}\n",
    "what it includes": "suite: s\ninclude:\n  - {format: promptfoo, file: p.yaml}\n",
    "a time": suite("grader: trajectory.bad_end", "completion: {idle_user: 15m}"),
}
NOT_HELD = {
    "a setting that is none": suite("grader: vally.transcript_contains, settings: {substring: x, substrin: y}"),
    "a setting of another type": suite("grader: vally.transcript_contains, settings: {substring: 5}"),
    "a setting that is missing": suite("grader: vally.transcript_contains, settings: {}"),
    "settings that are missing": suite("grader: vally.transcript_contains"),
    "a setting of another value": suite("grader: trajectory.match, settings: {mode: exact}"),
    "no such grader": suite("grader: vally.transcript_contain, settings: {substring: x}"),
    "no question": suite("weight: 2"),
    "two questions": suite("grader: trajectory.bad_end, all: [a]"),
    "a turn that is none": suite("grader: trajectory.bad_end, turn: second"),
    "a time in numbers": suite("grader: trajectory.bad_end", "completion: {idle_user: 900}"),
    "no severity": "suite: s\nchecks:\n  - {check: c, grader: trajectory.bad_end}\n",
    "no name": "checks:\n  - {check: c, severity: info, grader: trajectory.bad_end}\n",
    "no such format": "suite: s\ninclude:\n  - {format: prompt, file: p.yaml}\n",
}


@pytest.mark.parametrize("text", HELD.values(), ids=list(HELD))
def test_what_may_be_written_holds(text: str) -> None:
    holds(text)


@pytest.mark.parametrize("text", NOT_HELD.values(), ids=list(NOT_HELD))
def test_what_may_not_be_written_does_not(text: str) -> None:
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        holds(text)


def test_an_editor_is_told_each_grader_with_its_question() -> None:
    names: list[dict[str, Any]] = SCHEMA["$defs"]["CheckModel"]["properties"]["grader"]["anyOf"][0]["oneOf"]
    assert [name["const"] for name in names] == [kind.name for kind in ours()]
    assert all(name["description"].endswith("?") for name in names)
    assert all(not re.search(r"\(\?[^:]|\\[AzZ]", text) for text in patterns(SCHEMA)), "JavaScript has no such pattern"


def patterns(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["pattern"]] if isinstance(value.get("pattern"), str) else []
        return own + [text for inner in value.values() for text in patterns(inner)]
    return [text for inner in value for text in patterns(inner)] if isinstance(value, list) else []
