"""What an entry of ``expected_tools`` asks, and how a reply may spell out a call."""

import re
from typing import Any

from ...events import UNSENT, ToolCall
from ...grading import Seen
from ...matching.arguments import arguments, holds
from ...matching.patterns import Pattern
from ._reply import short

_KEYS = ("tool", "should_run", "args", "after")


def fault(entry: Any) -> str | None:
    """What is wrong with an entry."""
    if not isinstance(entry, dict):
        return "is no mapping with `tool`"
    if not isinstance(entry.get("tool"), str) or not entry["tool"]:
        return "names no tool"
    if not isinstance(entry.get("should_run", True), bool):
        return "has a should_run that is neither true nor false"
    if not isinstance(entry.get("args") or {}, dict):
        return "has args that are no mapping"
    if not isinstance(entry.get("after") or "", str):
        return "has an after that is no tool's name"
    return None


def strange(entry: Any) -> str | None:
    """A key of an entry that nothing reads."""
    return next((str(key) for key in entry if key not in _KEYS), None) if isinstance(entry, dict) else None


class Expectation:
    """One entry. One that is malformed is never met, and says so."""

    def __init__(self, place: int, entry: Any) -> None:
        self.fault = fault(entry)
        asked: dict[str, Any] = entry if self.fault is None else {}
        self.tool: str = asked.get("tool", "")
        self.should_run: bool = asked.get("should_run", True)
        self.args: dict[str, Any] = asked.get("args") or {}
        self.after: str = asked.get("after") or ""
        name = short(self.tool)
        # Names of arguments, never values: what is asked for may be what was recorded (R146).
        self._how = (f" with {short(', '.join(map(str, self.args)))} as expected" if self.args else "") + (
            f" after {short(self.after)}" if self.after else ""
        )
        self.label = f"expectation {place + 1}" if self.fault is not None else name
        self.needs_record = bool(self.args or self.after)
        self._markers = _markers(self.tool) if self.tool and not self.needs_record else None

    def fits(self, seen: Seen) -> bool | None:
        """Has a call of the tool the arguments that are asked for? None where they were not sent whole."""
        if not self.args:
            return True
        call = seen.event
        assert isinstance(call, ToolCall)
        if seen.partial or (call.args is UNSENT and call.args_raw is None):
            return None
        return holds(arguments(call), self.args)

    def is_spelled(self, text: str) -> bool:
        """Does a reply spell out a call of the tool?"""
        return self._markers is not None and self.tool in text and self._markers.search(text) is not None

    def unmet(self) -> str:
        """What is told of it where it is not met by the record."""
        if self.fault is not None:
            return f"{self.label} {self.fault}"
        return f"{self.label} {'did not run' if self.should_run else 'ran'}{self._how}"

    def unread(self) -> str:
        """What is told of it where it is not met by the text of the reply."""
        if self.fault is not None or not self.needs_record:
            return self.unmet()
        asked = " and ".join(name for name, there in (("args", self.args), ("after", self.after)) if there)
        return f"{self.label}: {asked} cannot be checked without a tool-call record"


def _markers(tool: str) -> Pattern:
    """``Tool call: name``, ``[tool: name]``, ``<tool>name</tool>`` and ``name(``; the name alone is none."""
    name = re.escape(tool)
    ends = r"(?:[.,;:!?]*(?:\s|$)|[^\w\s.,;:!?-])"
    return Pattern(
        rf"(?i:tool call):\s*{name}{ends}|\[(?i:tool):\s*{name}\s*\]|<tool>\s*{name}\s*</tool>|(?:^|[^\w.:/-]){name}\("
    )


def by_name(asked: list[tuple[int, str]]) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    """The places of the names that a function's name may meet, and a plugin id: one with a colon is a plugin id (R117)."""
    functions: dict[str, list[int]] = {}
    plugins: dict[str, list[int]] = {}
    for place, name in asked:
        plugins.setdefault(name, []).append(place)
        if ":" not in name:
            functions.setdefault(name, []).append(place)
    return functions, plugins


def places(known: tuple[dict[str, list[int]], dict[str, list[int]]], call: ToolCall) -> list[int]:
    """The places whose name a call has, by its function or its plugin."""
    functions, plugins = known
    found = functions.get(call.name, _NONE)
    if call.plugin_id is None or call.plugin_id not in plugins:
        return found
    return [*found, *(place for place in plugins[call.plugin_id] if place not in found)]


_NONE: list[int] = []
