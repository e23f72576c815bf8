"""What an entry of `vally.tool_calls` asks of a call, and whether a call gives it."""

from collections.abc import Iterator
from typing import Any

from ...events import UNSENT, ToolCall, compact
from ...grading import Seen, shown
from ...matching.arguments import arguments
from ...matching.patterns import Pattern

ENTRIES = 100
"""Entries that a check may have."""
NAMES = 1_000
"""Tool names whose answer is remembered."""

_TEXTS = ("name", "command", "path", "pattern", "result")
_REQUIRED_ONLY = ("min_count", "final", "at_step", "before_step")
_KEYS = (*_TEXTS, "args", *_REQUIRED_ONLY)


def faults(entry: Any, part: str) -> Iterator[str]:
    """What is wrong with an entry of ``required``, ``disallowed`` or ``sequence``."""
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, dict):
        yield f"is {entry!r}, which should be a tool's name or a mapping"
        return
    if not entry.get("name"):
        yield "needs a name, a pattern for the tool"
    for key, value in entry.items():
        if key in ("write_only", "read_only"):
            yield f"has {key}, and no event says whether a tool writes: name the tools instead"
        elif key not in _KEYS:
            yield f"has {key}, which is none of {', '.join(_KEYS)}"
        elif (key in _REQUIRED_ONLY and part != "required") or (key == "result" and part == "sequence"):
            yield f"has {key}, which works in {'required' if key in _REQUIRED_ONLY else 'required and disallowed'} only"
        elif not _is_right(key, value):
            yield f"has {key} {value!r}, which should be {_RIGHT.get(key, 'a pattern, as text')}"


_RIGHT = {
    "args": "a mapping from argument names to patterns",
    "min_count": "a whole number from 1 on",
    "final": "true or false",
    "at_step": "a whole number from 0 on",
    "before_step": "a whole number from 1 on",
}


def _is_right(key: str, value: Any) -> bool:
    if key == "args":
        return isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair)
    if key == "final":
        return isinstance(value, bool)
    if key in _REQUIRED_ONLY:
        return type(value) is int and value >= (0 if key == "at_step" else 1)
    return isinstance(value, str)


class Wanted:
    """An entry: a pattern for the tool's name, and what else is asked of the call and of its result."""

    def __init__(self, entry: Any) -> None:
        asked: dict[str, Any] = {"name": entry} if isinstance(entry, str) else entry
        named = {**{key: asked[key] for key in ("command", "path") if key in asked}, **asked.get("args", {})}
        self.name = Pattern(asked["name"])
        self.args = {key: Pattern(source) for key, source in named.items()}
        self.pattern = Pattern(asked["pattern"]) if "pattern" in asked else None
        self.result = Pattern(asked["result"]) if "result" in asked else None
        self.min_count: int = asked.get("min_count", 1)
        self.final: bool = asked.get("final", False)
        self.at_step: int | None = asked.get("at_step")
        self.before_step: int | None = asked.get("before_step")
        placed = self.final or self.at_step is not None or self.before_step is not None
        self.by_name = not (self.args or self.pattern or placed)
        """Nothing is asked but the name and the result: which of the tool's calls it answers does not matter."""
        rest = ", ".join(f"{key} {shown(value)}" for key, value in asked.items() if key != "name")
        self.label = shown(asked["name"]) + (f" with {rest}" if rest else "")
        self._known: dict[str, bool] = {}

    @property
    def patterns(self) -> list[Pattern]:
        """Every pattern of the entry."""
        return [self.name, *self.args.values(), *(p for p in (self.pattern, self.result) if p is not None)]

    def fits(self, seen: Seen) -> bool | None:
        """Is a call one that is meant, its result aside? None where what decides that was not sent or was cut."""
        call = seen.event
        assert isinstance(call, ToolCall)
        if not self._is_named(call.name):
            return False
        answers = [self._in_time(call.step), self._has_args(call, cut=seen.truncated)]
        return False if False in answers else None if None in answers else True

    def returned(self, seen: Seen) -> bool | None:
        """Is the result of a call one that is meant? None where it was not sent or was cut."""
        assert self.result is not None
        match = self.result.search(seen.text)
        if seen.partial:
            return True if match is not None and match.end < len(seen.text) else None
        return match is not None

    def _is_named(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            if len(self._known) >= NAMES:
                self._known.clear()
            known = self._known[name] = self.name.search(name) is not None
        return known

    def _in_time(self, step: int | None) -> bool | None:
        if self.at_step is None and self.before_step is None:
            return True
        if step is None:
            return None
        return self.at_step in (None, step) and (self.before_step is None or step < self.before_step)

    def _has_args(self, call: ToolCall, *, cut: bool) -> bool | None:
        if not self.args and self.pattern is None:
            return True
        args = arguments(call)
        if cut or args is UNSENT:
            return None
        if self.pattern is not None and self.pattern.search(args if isinstance(args, str) else compact(args)) is None:
            return False
        if self.args and isinstance(args, str):
            return None  # A text that is no JSON: nobody knows which argument is which.
        named = args if isinstance(args, dict) else {}
        return all(key in named and pattern.search(_text(named[key])) for key, pattern in self.args.items())


def _text(value: Any) -> str:
    return value if isinstance(value, str) else compact(value)
