"""A suite file with all that it builds on: what it extends and the sources' files that it includes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..sources import adk, agentlasso, ai_eval, datarobot, promptfoo, pydantic_evals, vally
from ..sources.form import Source, SourceError
from .lines import Loc, Place, YamlError, YamlFile

FORMS: dict[str, Callable[[Any], Source]] = {
    "adk": adk.checks,
    "agentlasso": agentlasso.checks,
    "ai_eval": ai_eval.checks,
    "datarobot": datarobot.checks,
    "promptfoo": promptfoo.checks,
    "pydantic_evals": pydantic_evals.checks,
    "vally": vally.checks,
}
"""What reads each form of file that a suite may include."""

Report = Callable[[Place, str, str], None]
"""Takes a problem: its place, the dotted key, and one line that says what to do."""

_RUBRIC = "ai_eval.rubric_checks"

_QUESTIONS = ("grader", "all", "any", "not")


def source_of(form: str, path: Path, value: Any) -> Source:
    """The checks of a source's file, with the file beside it that says how it is scored, where the form has one.

    Args:
        form: one of `FORMS`.
        path: where the file stands.
        value: what it holds.

    Raises:
        SourceError: the file is not of the form.
    """
    beside = path.with_name(adk.CONFIG)
    if form != "adk" or not beside.exists():
        return FORMS[form](value)
    try:
        return adk.checks(value, YamlFile.read(beside).value)
    except YamlError as fault:
        raise SourceError(f"is scored by {adk.CONFIG}, which {fault}") from fault


def whole(path: Path, report: Report, warn: Report) -> YamlFile:
    """A suite file as if all that it builds on stood in it; each value keeps its file and line.

    What is extended or included comes first. A check of the file's own with a name that stands there changes that check;
    its settings are taken over one by one, unless it asks another grader.

    Args:
        path: the suite file.
        report: told of what cannot be built on.
        warn: told of what an included file asks for and no check does.

    Raises:
        YamlError: the file itself cannot be read.
    """
    return _built(YamlFile.read(path), path, report, warn, (path.resolve(),))


def _built(file: YamlFile, path: Path, report: Report, warn: Report, above: tuple[Path, ...]) -> YamlFile:
    if not isinstance(file.value, dict):
        return file
    base = _included(file, path, report, warn)
    extends = file.value.get("extends")
    if extends is not None:
        below = _extended(extends, file, path, report, warn, above)
        base = base if below is None else below if base is None else _over(below, base)
    own = {key: value for key, value in file.value.items() if key not in ("extends", "include")}
    file = _with_rubrics(YamlFile(own, file.places, file.repeated), path, report)
    return file if base is None else _over(base, file)


def _extended(
    extends: Any, file: YamlFile, path: Path, report: Report, warn: Report, above: tuple[Path, ...]
) -> YamlFile | None:
    place = file.place(("extends",))
    if not isinstance(extends, str):
        report(place, "extends", "should be the name of a suite file")
        return None
    target = path.parent / extends
    if target.resolve() in above:
        report(place, "extends", f"{extends} extends this file in turn; take one of the two out")
        return None
    try:
        below = YamlFile.read(target)
    except YamlError as fault:
        report(place, "extends", f"{extends} {fault}")
        return None
    return _built(below, target, report, warn, (*above, target.resolve()))


def _included(file: YamlFile, path: Path, report: Report, warn: Report) -> YamlFile | None:
    entries = file.value.get("include")
    if entries is None:
        return None
    if not isinstance(entries, list):
        report(
            file.place(("include",)), "include", "should be a list of entries like {format: vally, file: refund.yaml}"
        )
        return None
    checks: list[dict[str, Any]] = []
    places: dict[Loc, Place] = {}
    policies: list[dict[str, Any]] = []
    ungraded: list[str] = []
    for n, entry in enumerate(entries):
        place, where = file.place(("include", n)), f"include[{n}]"
        known = isinstance(entry, dict) and isinstance(entry.get("file"), str) and entry.get("format") in FORMS
        if not known or set(entry) != {"format", "file"}:
            report(place, where, f"should be like {{format: NAME, file: NAME}}, with a format of {', '.join(FORMS)}")
            continue
        try:
            inner = YamlFile.read(path.parent / entry["file"])
        except YamlError as fault:
            report(place, where, f"{entry['file']} {fault}")
            continue
        try:
            source = source_of(entry["format"], path.parent / entry["file"], inner.value)
        except SourceError as fault:
            report(inner.place(fault.loc), "", f"{fault}")
            continue
        for loc, told in source.ungraded:
            warn(inner.place(loc), "", f"is not graded: {told}")
            ungraded.append(told)
        for loc, told in source.warnings:
            warn(inner.place(loc), "", told)
        prefix = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(entry["file"]).name.partition(".")[0]).strip("-") or "included"
        policies += [source.scoring] if source.scoring else []
        for check, loc in zip(source.checks, source.places, strict=True):
            at: Loc = ("checks", len(checks))
            places.update(inner.moved(loc, at))
            for settings in (loc, (*loc, "config")):  # Where the forms write what we call settings.
                places.update(inner.moved(settings, (*at, "settings")))
            places[at] = inner.place(loc)
            named = {"all": [f"{prefix}.{part}" for part in check["all"]]} if "all" in check else {}
            checks.append({**check, "check": f"{prefix}.{check['check']}", **named})
    value: dict[str, Any] = {"checks": checks, **({"ungraded_items": ungraded} if ungraded else {})}
    if len(policies) == 1:  # Of several nobody can say which is meant: then the file has to.
        value["scoring"] = policies[0]
    return YamlFile(value, {(): file.place(()), ("checks",): file.place(("include",)), **places})


def _with_rubrics(file: YamlFile, path: Path, report: Report) -> YamlFile:
    """The file with the rubrics that its checks name, each from ``rubrics/NAME.yaml`` beside it."""
    checks = file.value.get("checks")
    if not isinstance(checks, list):
        return file
    whole, places, repeated = list(checks), dict(file.places), list(file.repeated)
    for n, check in enumerate(checks):
        settings = check.get("settings") if isinstance(check, dict) else None
        if not isinstance(settings, dict):
            continue
        name = settings.get("rubric")
        if not isinstance(name, str) or str(check.get("grader", _RUBRIC)).replace("-", "_") != _RUBRIC:
            continue
        loc = ("checks", n, "settings", "rubric")
        try:
            inner = YamlFile.read(path.parent / "rubrics" / f"{Path(name).name}.yaml")
        except YamlError as fault:
            report(file.place(loc), f"checks[{n}].settings.rubric", f"rubrics/{name}.yaml {fault}")
            inner = YamlFile(None, {(): file.place(loc)})
        whole[n] = {**check, "settings": {**settings, "rubric": inner.value}}
        places.update(inner.moved((), loc))
        repeated += [(*loc, *at) for at in inner.repeated]
    return YamlFile({**file.value, "checks": whole}, places, tuple(repeated))


def _over(base: YamlFile, own: YamlFile) -> YamlFile:
    """A file over another: its keys win, mappings are taken over key by key, checks by their names."""
    places: dict[Loc, Place] = {(): own.place(())}
    value: dict[str, Any] = {}
    if not isinstance(base.value, dict):
        return own
    for key in [*base.value, *(key for key in own.value if key not in base.value)]:
        loc = (key,)
        theirs, mine = base.value.get(key), own.value.get(key)
        if key not in own.value:
            value[key] = theirs
            places.update(base.moved(loc, loc))
        elif key == "checks" and isinstance(theirs, list) and isinstance(mine, list):
            value[key] = _checks(base, own, places)
        else:
            value[key] = {**theirs, **mine} if isinstance(theirs, dict) and isinstance(mine, dict) else mine
            places.update(
                {**base.moved(loc, loc), **own.moved(loc, loc)} if value[key] is not mine else own.moved(loc, loc)
            )
    repeated = (*base.repeated, *own.repeated)
    return YamlFile(value, {**{loc: base.place(loc) for loc in base.repeated}, **places}, repeated)


def _checks(base: YamlFile, own: YamlFile, places: dict[Loc, Place]) -> list[Any]:
    places[("checks",)] = own.place(("checks",))
    checks: list[Any] = []
    names: dict[str, int] = {}
    for n, check in enumerate(base.value["checks"]):
        names.setdefault(str(check.get("check")) if isinstance(check, dict) else "", n)
        checks.append(check)
        places.update(base.moved(("checks", n), ("checks", n)))
    for n, check in enumerate(own.value["checks"]):
        at = names.get(str(check.get("check")), len(checks)) if isinstance(check, dict) else len(checks)
        if at == len(checks):
            checks.append(check)
        else:
            checks[at] = _changed(checks[at], check)
        places.update(own.moved(("checks", n), ("checks", at)))
    return checks


def _changed(check: dict[str, Any], by: dict[str, Any]) -> dict[str, Any]:
    asks_anew = any(key in by for key in _QUESTIONS)
    kept = {key: value for key, value in check.items() if not (asks_anew and key in (*_QUESTIONS, "settings"))}
    settings = {**(kept.get("settings") or {}), **(by.get("settings") or {})}
    return {**kept, **by, **({"settings": settings} if settings else {})}
