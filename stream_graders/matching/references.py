"""The calls that a reference expects, read leniently: a run may bring them along, written by whoever runs agents."""

from typing import Any, NamedTuple

from ..events import from_json

_NAMES = ("name", "tool", "tool_name")
_ARGUMENTS = ("args", "arguments", "kwargs", "parameters", "input")


class Expected(NamedTuple):
    """One expected call. ``args`` is None where the reference does not say with which."""

    tool: str
    args: dict[str, Any] | None


class Reference(NamedTuple):
    """Expected calls, in their order; ``fault`` says why they cannot be read, "" if they can."""

    calls: list[Expected]
    fault: str = ""


def reference_of(value: Any) -> Reference | None:
    """The calls of a reference; None if there is none.

    A list of mappings with a tool's ``name`` and ``args``, under these or the usual other names, also in the form of
    OpenAI's tool calls; a name alone expects any arguments. One entry may stand without the list, and all of it may be
    JSON text.

    >>> reference_of([{"tool": "find", "args": {"id": 7}}, "refund"]).calls
    [Expected(tool='find', args={'id': 7}), Expected(tool='refund', args=None)]
    >>> reference_of([{"args": {}}]).fault
    'entry 1 names no tool'
    """
    if value is None:
        return None
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = from_json(value)
        except (ValueError, RecursionError):
            return Reference([], "it is text that is no JSON")
    entries = value if isinstance(value, list | tuple) else [value]
    calls: list[Expected] = []
    for number, entry in enumerate(entries, start=1):
        call = _call_of(entry)
        if isinstance(call, str):
            return Reference([], f"entry {number} {call}")
        calls.append(call)
    return Reference(calls)


def _call_of(entry: Any) -> Expected | str:
    if isinstance(entry, str) and entry:
        return Expected(entry, None)
    if not isinstance(entry, dict):
        return "is neither a mapping nor a tool's name"
    inner = entry.get("function")
    if isinstance(inner, dict):
        entry = inner
    name = next((entry[key] for key in (*_NAMES, "function") if isinstance(entry.get(key), str) and entry[key]), None)
    if name is None:
        return "names no tool"
    args = next((entry[key] for key in _ARGUMENTS if key in entry), None)
    if isinstance(args, str):
        try:
            args = from_json(args)
        except (ValueError, RecursionError):
            return "has arguments that are no JSON"
    if args is not None and not isinstance(args, dict):
        return "has arguments that are no mapping"
    return Expected(name, args)
