"""Paths into JSON values: ``order.items[0].id``."""

import re
from typing import Any

from ..events import compact, from_json

_STEP = re.compile(r"(?:^|\.)([^.\[\]]+)|\[(\d+)\]")


def parse(path: str) -> list[str | int]:
    """The steps of a path; a ``$`` or dot in front of it, as JSONPath and jq write, may stand there.

    Raises:
        ValueError: the text is not a path.

    >>> parse("order.items[0].id")
    ['order', 'items', 0, 'id']
    """
    steps: list[str | int] = []
    at = 1 if path[:2] in ("$.", "$[") else 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"{path!r} is not a path: write names with dots and list places as [0]")
        steps.append(step[1] if step[1] is not None else int(step[2]))
        at = step.end()
    if not steps:
        raise ValueError("the path is empty: write names with dots and list places as [0]")
    return steps


def inside(field: str, path: str) -> str:
    """Where a path inside a field of an event leads, from the event on: as evidence names it.

    >>> inside("args", "$.items[0].id"), inside("result", "[0]")
    ('args.items[0].id', 'result[0]')
    """
    bare = path.removeprefix("$").removeprefix(".")
    return f"{field}{bare}" if bare.startswith("[") else f"{field}.{bare}"


def scalar_at(value: Any, steps: list[str | int]) -> str | None:
    """The text or number at a path, as text; None where there is none. Text that parses as JSON is looked into."""
    value = _opened(value)
    for step in steps:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, str):
        return value
    return compact(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def values_at(value: Any, steps: list[str | int]) -> list[Any]:
    """All values at a path: a name asked of a list is asked of each of its items.

    >>> values_at({"items": [{"id": 1}, {"id": 2}]}, parse("items.id"))
    [1, 2]
    """
    found = [_opened(value)]
    for step in steps:
        if isinstance(step, int):
            found = [one[step] for one in found if isinstance(one, list) and step < len(one)]
        else:
            items = [item for one in found for item in (one if isinstance(one, list) else [one])]
            found = [item[step] for item in items if isinstance(item, dict) and step in item]
    return found


def problem_of(path: str) -> str | None:
    """What is wrong with a path; None if it can be used."""
    try:
        parse(path)
    except ValueError as error:
        return str(error)
    return None


def _opened(value: Any) -> Any:
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return from_json(value)
    except (ValueError, RecursionError):
        return value
