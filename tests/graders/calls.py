"""How the oracles of our own family read calls, their arguments and their results."""

import re
from collections.abc import Sequence
from typing import Any

from stream_graders.events import UNSENT, Event, RunStart, ToolCall, ToolResult, canonical_json, from_json
from tests.graders.told import is_cut, searched


def fits(name: str, pattern: str) -> bool:
    head, star, tail = pattern.partition("*")
    return name == pattern or (star == "*" and name.startswith(head) and name.endswith(tail))


def fits_any(name: str | None, patterns: Sequence[str] | None) -> bool:
    return name is not None and any(fits(name, pattern) for pattern in patterns or ())


def reports(events: Sequence[Event], *records: str) -> bool:
    """Does the run report these records, as far as it says?"""
    start = next((event for event in events if isinstance(event, RunStart)), None)
    told = None if start is None else start.reports
    return told is None or set(records) <= set(told)


def calls_in(events: Sequence[Event]) -> list[ToolCall]:
    return [event for event in events if isinstance(event, ToolCall)]


def results_in(events: Sequence[Event]) -> list[ToolResult]:
    return [event for event in events if isinstance(event, ToolResult)]


def is_hidden(event: ToolResult) -> bool:
    return is_cut(event) or (event.result is UNSENT and event.result_raw is None)


def is_failure(event: ToolResult) -> bool | None:
    """None where it is not known."""
    found = re.search(r"(?i)^\s*error\b", searched(event))
    if event.is_error or (found and not (is_cut(event) and found.end() == len(searched(event)))):
        return True
    return None if is_hidden(event) else False


def arguments(call: ToolCall) -> Any:
    """The arguments as an object where they are one, else as they were sent."""
    value: Any = {} if call.args is None else call.args
    try:
        parsed = from_json(value) if isinstance(value, str) else value
    except ValueError:
        return value
    return parsed if isinstance(parsed, dict) else value


def same(call: ToolCall) -> tuple[str, bytes] | None:
    """Equal for equal calls; None where the arguments are not known."""
    if call.args is UNSENT or is_cut(call):
        return None
    return (call.name, canonical_json(arguments(call)))
