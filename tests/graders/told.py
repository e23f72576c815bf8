"""What the oracles share: an oracle's answer, and how it reads events."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from stream_graders.events import UNSENT, Event, Message, RunEnd, ToolCall, ToolResult, compact, from_json


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


class Reply(NamedTuple):
    """The final reply of a run on the table."""

    text: str
    reported: bool
    certain: bool
    """It is there, and nothing hides a later one."""
    cut: bool
    """A later one was cut to nothing."""
    short: bool
    """Its own text was cut."""

    def told(self, outcome: str, evidence: str, *, firm: bool = False) -> Told:
        """The answer of an oracle that judges the reply; ``firm`` if no further text of it could change that."""
        if firm:
            return Told(outcome, evidence, self.certain, self.cut)
        return Told(outcome, evidence, self.certain and not self.short, self.cut or self.short)


def reply_of(events: Sequence[Event]) -> Reply:
    ends = [event for event in events if isinstance(event, RunEnd) and text(event.output)]
    if ends:
        return Reply(text(ends[-1].output), True, True, False, is_cut(ends[-1]))
    said = assistant(events)
    spoken = [message for message in said if text(message.content)]
    after = said[said.index(spoken[-1]) + 1 :] if spoken else said
    unheard = [message for message in after if message.content is UNSENT or is_cut(message)]
    cut = bool(unheard) and is_cut(unheard[-1])
    if not spoken:
        return Reply("", bool(said), False, cut, False)
    return Reply(text(spoken[-1].content), True, not unheard, cut, is_cut(spoken[-1]))


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
    tools: dict[str, str | None] = {}
    for event in run:
        if isinstance(event, ToolResult):
            call = calls.get(event.id)
            tools[event.id] = event.name if event.name is not None or call is None else call.name
    return tools


def called_names(events: Sequence[Event]) -> list[str]:
    return [event.name for event in events if isinstance(event, ToolCall)]


def tokens_in(usage: dict[str, Any]) -> float | None:
    """The tokens of a usage, under the names that are in use."""
    for total in ("total_tokens", "total"):
        if total in usage:
            return float(usage[total])
    names = [("input_tokens", "prompt_tokens", "input"), ("output_tokens", "completion_tokens", "output")]
    parts = [usage[name] for of in names for name in of if name in usage]
    return float(sum(parts)) if parts else None


def object_or_text(args: Any) -> Any:
    """Arguments as they were sent; a text that is an object is that object."""
    if isinstance(args, str):
        with suppress(ValueError):
            read = from_json(args)
            return read if isinstance(read, dict) else args
    return args


def asks_judge(grader: Any, events: Sequence[Event], tools: Any) -> Told:
    """The answer of the oracle of a grader that asks a judge, where nobody answers: skipped without what it judges by."""
    for key in ("expected_facts", "acceptable_responses", "context", "rubric"):
        if hasattr(grader, key) and not getattr(grader, key) and not grader.name.endswith("accuracy_grader"):
            return Told("skipped", "no ", certain=True)
    reply = reply_of(events)
    if reply.text.strip():
        return Told("asks", "no_judge", cut=reply.cut or reply.short)
    return Told("asks", "nothing_to_judge", cut=reply.cut)
