"""Cases of a DataRobot benchmark, with their fields as they are (R161): one, or several told apart by a label."""

from typing import Any

from ..catalogue import grader_named
from ..grading import setting_fields
from .form import Loc, Source, SourceError


def checks(value: Any) -> Source:
    """The checks of a file with ``benchmark`` (one name, or several) and ``cases``, or the fields of one case.

    Of several cases each applies to runs that carry the label ``case`` with its ``id``, or its place from 0.

    Raises:
        SourceError: it names no benchmark, or one that is not known.
    """
    if not isinstance(value, dict) or "benchmark" not in value:
        raise SourceError("is no file of DataRobot cases: one has `benchmark`, and `cases` or the fields of one case")
    names = value["benchmark"] if isinstance(value["benchmark"], list) else [value["benchmark"]]
    cases = value.get("cases", [value])
    if not isinstance(cases, list):
        raise SourceError("should be a list of cases", ("cases",))
    source = Source()
    for n, case in enumerate(cases):
        loc: Loc = ("cases", n) if "cases" in value else ()
        if not isinstance(case, dict):
            raise SourceError("should be a case, an object with `input` and what its benchmark reads", loc)
        label = str(case.get("id", n))
        for name in names:
            _add(source, loc, str(name), case, label if len(cases) > 1 else None)
    return source


def _add(source: Source, loc: Loc, name: str, case: dict[str, Any], label: str | None) -> None:
    kind = grader_named(f"datarobot.{name}")
    if kind is None:
        raise SourceError(f"there is no benchmark {name!r} here", ("benchmark",))
    settings = {f.name: case[f.name] for f in setting_fields(kind) if f.name in case}
    more: dict[str, Any] = {} if label is None else {"when": {"labels": {"case": label}}}
    if "pass_threshold" in case:
        more["pass_at"] = case["pass_threshold"]
    slug = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in label or "")
    source.add(loc, f"{name}-{slug}" if slug else name, kind.name, "critical", settings, **more)
