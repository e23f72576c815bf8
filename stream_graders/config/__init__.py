"""Suite files: YAML to `Suite`, with every problem at once, each with its file, line and likely fix."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from ..catalogue import catalogue, grader_named
from ..grading import Grader, setting_fields
from ..questions import AskingGrader
from ..suites import Check, Fleet, Judging, Suite
from .files import whole
from .lines import Loc, Place, YamlError, YamlFile
from .models import CheckModel, JudgeModel, SuiteModel


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong (or, as a warning, probably wrong) in a suite file."""

    file: str
    line: int
    where: str
    message: str
    is_warning: bool = False

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " + (f"{self.where}: " if self.where else "")
        return place + ("warning: " if self.is_warning else "") + self.message


class SuiteError(ValueError):
    """Suite files that cannot be used; the message names every problem, one a line."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def load(path: Path) -> Suite:
    """The suite of a file.

    Raises:
        SuiteError: the file cannot be used.
    """
    suite, problems = read(path)
    errors = [problem for problem in problems if not problem.is_warning]
    if suite is None or errors:
        raise SuiteError(errors)
    return suite


def load_fleet(paths: Iterable[Path]) -> Fleet:
    """The suites of files and folders: of a folder all ``*.yaml`` but ``*.test.yaml``, and ``_*.yaml`` that others extend.

    Raises:
        SuiteError: a file cannot be used, two suites share a name, or there is none.
    """
    suites: dict[str, tuple[Suite, Path]] = {}
    problems: list[Problem] = []
    for path in suite_files(paths):
        suite, found = read(path)
        problems += [problem for problem in found if not problem.is_warning]
        if suite is not None and suite.name in suites:
            other = suites[suite.name][1].name
            problems.append(Problem(path.name, 1, "suite", f"{suite.name!r} is also the suite of {other}; rename one"))
        elif suite is not None:
            suites[suite.name] = (suite, path)
    if not suites and not problems:
        problems.append(
            Problem(", ".join(map(str, paths)), 1, "", "no suite file there; name a .yaml file or a folder")
        )
    if problems:
        raise SuiteError(problems)
    return Fleet(tuple(suite for suite, _ in suites.values()))


def read(path: Path) -> tuple[Suite | None, list[Problem]]:
    """The suite of a file, where it has one, and all that is wrong with it or looks so, from top to bottom."""
    problems: list[Problem] = []

    def told_at(*, is_warning: bool) -> Callable[[Place, str, str], None]:
        def tell(place: Place, where: str, message: str) -> None:
            problems.append(Problem(place.file or path.name, place.line, where, message, is_warning))

        return tell

    try:
        file = whole(path, told_at(is_warning=False), told_at(is_warning=True))
    except YamlError as fault:
        return None, [Problem(path.name, fault.line, "", str(fault))]
    suite = _suite_of(file, path, problems)
    # What stands in the file itself comes first; then what it builds on, file by file.
    return suite, sorted(problems, key=lambda problem: (problem.file != path.name, problem.file, problem.line))


def _suite_of(file: YamlFile, path: Path, problems: list[Problem]) -> Suite | None:
    def report(loc: Loc, message: str, *, is_warning: bool = False) -> None:
        place = file.place(loc)
        problems.append(Problem(place.file or path.name, place.line, _dotted(loc), message, is_warning))

    for loc in file.repeated:
        report(loc, "this key stands here twice; the second would win silently, so remove one")
    try:
        model = SuiteModel.model_validate(file.value)
    except ValidationError as error:
        for loc, message in told(error, SuiteModel):
            report(loc, message)
        # Graders are looked at even so: two rounds of corrections are one too many.
        for n, entry in enumerate(_entries(file.value)):
            _check_settings(n, entry, report)
        return None
    checks = [_built(n, entry, model, report) for n, entry in enumerate(model.checks)]
    if any(not problem.is_warning for problem in problems):
        return None
    return model.built(tuple(check for check in checks if check is not None))


def _built(n: int, entry: CheckModel, model: SuiteModel, report: Any) -> Check | None:
    names = [check.check for check in model.checks[:n]]
    if entry.check in names:
        report(("checks", n, "check"), f"the name {entry.check!r} is taken by check {names.index(entry.check) + 1}")
    if entry.when is not None and entry.when.check is not None and entry.when.check not in names:
        hint = _hint(entry.when.check, names)
        report(("checks", n, "when", "check"), f"no check above this one is called {entry.when.check!r}{hint}")
    for part in entry.parts:
        if part not in names:
            of = "all" if entry.all_of else "any" if entry.any_of else "not"
            report(("checks", n, of), f"no check above this one is called {part!r}{_hint(part, names)}")
    if entry.parts:
        return entry.built(entry.combination())
    grader = _check_settings(n, {"grader": entry.grader, "settings": entry.settings}, report)
    if grader is None:
        return None
    lowest, highest = grader.scale
    if entry.pass_at is not None and not lowest <= entry.pass_at <= highest:
        report(("checks", n, "pass_at"), f"should lie in {lowest:g} to {highest:g}, the scale of {grader.name}")
    for setting, message in grader.warnings():
        report(("checks", n, "settings", setting), message, is_warning=True)
    if grader.assumes is not None and entry.when is None:
        message = f"a run in which {grader.assumes} fails; if not every run should, add `when:`"
        report(("checks", n), message, is_warning=True)
    if grader.asks:
        assert isinstance(grader, AskingGrader)
        return entry.built(grader, _judging(n, entry, grader, model, report))
    if entry.judge is not None:
        report(("checks", n, "judge"), f"{grader.name} asks no judge: take this out")
    return entry.built(grader)


def _judging(n: int, entry: CheckModel, grader: AskingGrader, model: SuiteModel, report: Any) -> Judging | None:
    """Whom a check asks. How many runs are judged and what a day may cost is stated, never assumed."""
    own = entry.judge or JudgeModel()
    # What is free is asked of every run: the suite's share is one of judges.
    asked = own.over(model.judge) if grader.costs else own
    loc: Loc = ("checks", n, "judge") if entry.judge is not None else ("checks", n)
    missing = [name for name in ("sample", "budget") if getattr(asked, name) is None]
    if missing and grader.costs:
        wanted = "asks a judge, so it has to say which share of runs is judged and what a day may cost: "
        report(loc, f"{wanted}{' and '.join(missing)} missing; add `judge: {{sample: 0.1, budget: {{usd: 5}}}}`")
    if entry.severity == "critical" and asked.sample is not None and asked.sample < 1:
        told = f"is critical and judges {asked.sample:g} of the runs: the others would have no verdict"
        report(loc, f"{told}; set sample to 1, or severity to minor")
    if isinstance(entry.turn, str) and entry.turn != "last":
        report(("checks", n, "turn"), "a judge is asked once a run: give the number of a turn, first, or last")
    return asked.built()


def _check_settings(n: int, entry: Any, report: Any) -> Grader | None:
    """The grader of a check, or None after its problems were reported."""
    if not isinstance(entry, dict) or not isinstance(entry.get("grader"), str):
        return None
    kind = grader_named(entry["grader"])
    if kind is None:
        hint = _hint(entry["grader"].replace("-", "_"), list(catalogue()))
        report(("checks", n, "grader"), f"there is no grader {entry['grader']!r}{hint}")
        return None
    settings = entry.get("settings") or {}
    if not isinstance(settings, dict):
        return None
    try:
        values = settings_model(kind).model_validate(settings)
    except ValidationError as error:
        for loc, message in told(error, settings_model(kind)):
            report(("checks", n, "settings", *loc), message)
        return None
    grader = kind(**{f.name: getattr(values, f.name) for f in setting_fields(kind)})
    problems = grader.problems()
    for setting, message in problems:
        report(("checks", n, "settings", setting), message)
    return None if problems else grader


def settings_model(kind: type[Grader]) -> type[BaseModel]:
    """A strict model of a grader's settings, made from the fields of its dataclass."""
    hints = get_type_hints(kind)
    fields: dict[str, Any] = {}
    for f in setting_fields(kind):
        fields[f.name] = (hints[f.name], f.default if f.default is not MISSING else ...)
    return create_model(kind.name.replace(".", "_"), __config__=ConfigDict(extra="forbid", strict=True), **fields)


_WORDS = {
    "model_type": "should be a mapping, lines of `name: value`",
    "dict_type": "should be a mapping, lines of `name: value`",
    "list_type": "should be a list",
    "tuple_type": "should be text or a list of texts",
    "string_type": "should be text",
    "int_type": "should be a whole number",
    "bool_type": "should be true or false",
    "too_short": "should have an entry at least",
    "string_too_long": "is too long",
    "string_pattern_mismatch": "should be a name of letters, digits, dots, dashes and underscores",
}
"""What pydantic says of Python types, in the words of a file."""


def told(error: ValidationError, model: type[BaseModel]) -> list[tuple[Loc, str]]:
    """A validation's problems in words, each with its place."""
    return [(_place(fault["loc"]), _words(fault, model)) for fault in error.errors()]


def _words(fault: Any, model: type[BaseModel]) -> str:
    kind, value = fault["type"], fault.get("input")
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        name = str(fault["loc"][-1])
        return f"is not known here{_hint(name, _keys(_model_at(model, fault['loc']))) or _hint(name, _keys(*_models(model)))}"
    if kind == "string_type" and isinstance(value, bool | int | float | date):
        return "should be text; put it in quotes"
    if kind in _WORDS:
        return _WORDS[kind]
    return str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input ")


def _models(model: type[BaseModel]) -> list[type[BaseModel]]:
    return [model, *SuiteModel.parts().values()] if model is SuiteModel else [model]


def _model_at(model: type[BaseModel], loc: Sequence[Any]) -> type[BaseModel]:
    """The model that the key at a place should have been one of."""
    around = tuple(part for part in loc[:-1] if isinstance(part, str))
    return SuiteModel.parts().get(around, model) if model is SuiteModel else model


def _keys(*models: type[BaseModel]) -> list[str]:
    return [field.alias or name for model in models for name, field in model.model_fields.items()]


def _place(loc: Sequence[Any]) -> Loc:
    """A place in the file: what pydantic adds for unions is left out."""
    return tuple(part for part in loc if isinstance(part, int) or (isinstance(part, str) and part.isidentifier()))


def _entries(value: Any) -> list[Any]:
    checks = value.get("checks") if isinstance(value, dict) else None
    return checks if isinstance(checks, list) else []


def suite_files(paths: Iterable[Path]) -> list[Path]:
    """The suite files that files and folders stand for."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
        found += [
            file for file in inside if not file.name.endswith(".test.yaml") and (file == path or file.name[0] != "_")
        ]
    return found


def _dotted(loc: Loc) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).removeprefix(".")


def _hint(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
