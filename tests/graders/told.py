"""What the oracles share: an oracle's answer, and how it reads events."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stream_graders.events import UNSENT, Event, Message, ToolCall, ToolResult, compact


class Told(NamedTuple):
    """An oracle's answer. ``certain`` if it rests on what is there; ``cut`` if a cut text may hide another answer."""

    outcome: str
    evidence: str
    certain: bool = False
    cut: bool = False
    needs: set[str] | None = None
    """What this answer needs, where that depends on the settings."""


class Oracle(NamedTuple):
    """What a grader says of a whole run: ``tell(grader, events, tool of each result by event id)``, and what it needs."""

    tell: Callable[[Any, Sequence[Event], dict[str, str | None]], Told]
    needs: set[str]


def text(content: Any) -> str:
    """The text of a message."""
    if isinstance(content, list):
        return "\n".join(part["content"] for part in content if part["type"] == "text")
    return content if isinstance(content, str) else ""


def assistant(events: Sequence[Event]) -> list[Message]:
    return [event for event in events if isinstance(event, Message) and event.role == "assistant"]


def searched(event: ToolResult) -> str:
    if event.result_raw is not None:
        return event.result_raw
    if event.result is None or event.result is UNSENT:
        return ""
    return event.result if isinstance(event.result, str) else compact(event.result)


def is_cut(event: Event) -> bool:
    return "truncated" in event.flags


def calls_of_results(run: Sequence[Event]) -> dict[str, ToolCall]:
    """The call that each result answers, by the result's event id; a result without one is left out."""
    waiting: list[ToolCall] = []
    calls: dict[str, ToolCall] = {}
    for event in run:
        if isinstance(event, ToolCall):
            waiting.append(event)
        elif isinstance(event, ToolResult):
            fits = [call for call in waiting if event.name is None or call.name == event.name]
            bare = [call for call in fits if not call.call_id]
            same = [call for call in fits if event.call_id and call.call_id == event.call_id]
            if event.call_id:
                answers = same or (bare if event.name is not None or len(bare) == 1 else [])
            else:
                answers = bare if event.name is not None and bare else fits if len(fits) == 1 else []
            if answers:
                calls[event.id] = answers[0]
                waiting.remove(answers[0])
    return calls


def tools_of_results(run: Sequence[Event]) -> dict[str, str | None]:
    """The tool of each result, by event id: its own name, else that of the call it answers."""
    calls = calls_of_results(run)
    results = [event for event in run if isinstance(event, ToolResult)]
    named = {event.id: event.name for event in results}
    return {id_: calls[id_].name if name is None and id_ in calls else name for id_, name in named.items()}


def called_names(events: Sequence[Event]) -> list[str]:
    return [event.name for event in events if isinstance(event, ToolCall)]
