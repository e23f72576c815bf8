"""Graders of Vally as the tests configure them, and their oracles."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stream_graders.events import UNSENT, Event, Message, ToolResult, compact, from_json
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.grading import Grader
from tests.graders.told import Oracle, Told, assistant, is_cut, searched, text

GRADERS: dict[str, Grader] = {
    "echo by pattern": AssistantContainsToolOutput(["orders"], "ORD-[0-9]{6}"),
    "echo by group": AssistantContainsToolOutput(["orders.find", "auth"], '"?(?:id"?:")?(ORD-[0-9]*)?'),
    "echo by path": AssistantContainsToolOutput(["orders.find"], path="id"),
    "echo of long values": AssistantContainsToolOutput(["orders.find"], "ORD-.*"),
    "echo with a bad pattern": AssistantContainsToolOutput(["orders.find"], "(a"),
    "contains": TranscriptContains("refunded"),
    "contains, by case": TranscriptContains("REFUNDED", case_sensitive=True),
    "contains, negated": TranscriptContains("lot q7", negate=True),
    "not contains": TranscriptNotContains("refunded"),
    "not contains what is nowhere": TranscriptNotContains("guarantee"),
}

STORIES: dict[str, Iterable[Event]] = {}
"""Runs that this family's graders are held over beside those of `tests.core.stories`."""


def transcript(grader: TranscriptContains | TranscriptNotContains, events: Sequence[Event], tools: Any) -> Told:
    negated = isinstance(grader, TranscriptNotContains) or grader.negate
    fold: Callable[[str], str] = (lambda s: s) if grader.case_sensitive else str.lower
    said = assistant(events)
    if any(fold(grader.substring) in fold(text(message.content)) for message in said):
        return Told("fail" if negated else "pass", f"'{grader.substring}' found in transcript", certain=True)
    if negated and not said:
        return Told("fail", "no assistant messages in transcript to check")
    cut = any(is_cut(message) for message in said)
    return Told("pass" if negated else "fail", f"'{grader.substring}' NOT found in transcript", cut=cut)


def echo(grader: AssistantContainsToolOutput, events: Sequence[Event], tools: dict[str, str | None]) -> Told:
    quoted = ", ".join(compact(tool) for tool in grader.tools)
    if grader.pattern is not None:
        try:
            re.compile(grader.pattern)
        except re.error:
            return Told("fail", f"invalid pattern {compact(grader.pattern)}", certain=True)
    captured: list[str] = []
    cut = False
    for event in events:
        if isinstance(event, ToolResult):
            tool = tools[event.id]
            if any(tool is not None and (tool == name or tool.startswith(name + ".")) for name in grader.tools):
                cut = cut or is_cut(event)
                value = _captured(grader, event)
                captured += [value] if value else []
        elif isinstance(event, Message) and event.role == "assistant" and captured:
            cut = cut or is_cut(event)
            for value in captured:
                if value in text(event.content):
                    return Told("pass", f"assistant echoed captured value {compact(value)}", certain=True)
    if captured:
        return Told("fail", f"assistant did not echo {len(captured)} captured value(s)", cut=cut)
    return Told("fail", f"no {quoted} output matched {compact(grader.pattern or grader.path)}", cut=cut)


def _captured(grader: AssistantContainsToolOutput, event: ToolResult) -> str | None:
    if grader.pattern is not None:
        found = re.search(grader.pattern, searched(event))
        if found is None or (is_cut(event) and found.end() == len(searched(event))):
            return None
        value: str | None = found.group(1 if found.re.groups else 0)
        return value
    value_at = event.result
    if isinstance(value_at, str) or event.result is UNSENT:
        try:
            value_at = from_json(searched(event))
        except ValueError:
            return None
    for step in str(grader.path).split("."):
        value_at = value_at.get(step) if isinstance(value_at, dict) else None
    return value_at if isinstance(value_at, str) else compact(value_at) if type(value_at) in (int, float) else None


ORACLES: dict[type, Oracle] = {
    AssistantContainsToolOutput: Oracle(echo, {"messages", "results"}),
    TranscriptContains: Oracle(transcript, {"messages"}),
    TranscriptNotContains: Oracle(transcript, {"messages"}),
}
