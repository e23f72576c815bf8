"""What each check says of a whole run that lies on the table: a few lines a grader, written from the rules alone.

Nothing here is incremental, and nothing is shared with the graders but the events: an oracle and a grader that agree on
thousands of random runs agree because both follow the rule.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from stream_graders.events import (
    ASIDES,
    OPENERS,
    UNSENT,
    Event,
    Message,
    RunEnd,
    RunStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    compact,
    from_json,
)
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.agentlasso.tool_order import ToolOrder
from stream_graders.graders.datarobot.tool_grounding import ToolGrounding
from stream_graders.graders.trajectory.precedes import Precedes
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.suites import Check


class Told(NamedTuple):
    """An oracle's answer. ``certain`` if it rests on what is there; ``cut`` if a cut text may hide another answer."""

    outcome: str
    evidence: str
    certain: bool = False
    cut: bool = False


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


def tools_of_results(run: Sequence[Event]) -> dict[str, str | None]:
    """The tool of each result, by event id: its own name, else that of the call it answers."""
    waiting: list[ToolCall] = []
    tools: dict[str, str | None] = {}
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
            tools[event.id] = event.name if event.name is not None else answers[0].name if answers else None
            if answers:
                waiting.remove(answers[0])
    return tools


# -- one oracle a grader -----------------------------------------------------------------------------------------------


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


def called_names(events: Sequence[Event]) -> list[str]:
    return [event.name for event in events if isinstance(event, ToolCall)]


def told_names(names: Sequence[str]) -> str:
    return f"The agent called: {', '.join(dict.fromkeys(names))}." if names else "The agent called no tools."


def tool_called(grader: ToolCalled, events: Sequence[Event], tools: dict[str, str | None]) -> Told:
    names = called_names(events)
    if grader.status is None:
        if grader.tool in names:
            return Told("pass", f"{grader.tool} was called.", certain=True)
        return Told("fail", f"{grader.tool} was never called. {told_names(names)}")
    want = grader.status == "error"
    ended = [tools[e.id] for e in events if isinstance(e, ToolResult) and e.is_error is want]
    if grader.tool in ended:
        return Told("pass", f"{grader.tool} was called with status {grader.status}.", certain=True)
    if None in ended and grader.tool in names:
        return Told("not_graded", "content_missing", certain=True)
    return Told("fail", f"{grader.tool} was never called with status {grader.status}. {told_names(names)}")


def tool_not_called(grader: ToolNotCalled, events: Sequence[Event], tools: Any) -> Told:
    names = called_names(events)
    if grader.tool in names:
        before = names[: names.index(grader.tool) + 1]
        return Told("fail", f"{grader.tool} was called, and must not be. {told_names(before)}", certain=True)
    return Told("pass", f"{grader.tool} was never called. {told_names(names)}")


def tool_order(grader: ToolOrder, events: Sequence[Event], tools: Any) -> Told:
    names = called_names(events)
    at, met, last = 0, 0, 0
    for tool in grader.tools:
        if tool not in names[at:]:
            break
        at += names[at:].index(tool) + 1
        met, last = met + 1, at
    if met == len(grader.tools):
        return Told("pass", f"expected: {', '.join(grader.tools)}; called: {', '.join(names[:last])}", certain=True)
    missing = grader.tools[met]
    how = f"{missing} was not called after {grader.tools[met - 1]}" if met else f"{missing} was never called"
    return Told("fail", f"{how}. expected: {', '.join(grader.tools)}; called: {', '.join(names) or 'none'}")


def tool_grounding(grader: ToolGrounding, events: Sequence[Event], tools: Any) -> Told:
    values = grader.canary if isinstance(grader.canary, list | tuple) else [grader.canary]
    canaries = [str(value) for value in values if value]
    if not canaries:
        return Told("skipped", "no canary defined — cannot score", certain=True)
    ends = [event for event in events if isinstance(event, RunEnd) and text(event.output)]
    said = assistant(events)
    spoken = [message for message in said if text(message.content)]
    reply = text(ends[-1].output) if ends else text(spoken[-1].content) if spoken else ""
    after = said[said.index(spoken[-1]) + 1 :] if spoken else said
    of: Event | None = ends[-1] if ends else spoken[-1] if spoken else None
    hidden = not ends and any(message.content is UNSENT or is_cut(message) for message in after)
    cut = not ends and any(is_cut(message) for message in after)
    if hidden:  # The last one of them decides, as it would be the reply.
        last = [message for message in after if message.content is UNSENT or is_cut(message)][-1]
        cut = is_cut(last)
    missing = [canary for canary in canaries if canary.lower() not in reply.lower()]
    certain = of is not None and not hidden
    if missing:
        short = of is not None and is_cut(of)
        return Told("fail", f"tool data missing: {', '.join(missing)}", certain and not short, cut or short)
    return Told("pass", "tool data present (canary found)", certain, cut)


def precedes(grader: Precedes, events: Sequence[Event], tools: Any) -> Told:
    def fits(name: str, pattern: str) -> bool:
        head, star, tail = pattern.partition("*")
        return name == pattern or (star == "*" and name.startswith(head) and name.endswith(tail))

    calls = [(n, event) for n, event in enumerate(events) if isinstance(event, ToolCall)]
    then = next(((n, call) for n, call in calls if fits(call.name, grader.then)), None)
    if then is None:
        return Told("skipped", f"{grader.then} was never called")
    at, call = then
    after = [event for event in events[at + 1 :] if isinstance(event, ToolCall | Message)]
    together: list[Event] = []
    for event in after if call.step is not None else []:
        free = isinstance(event, Message) and event.role != "user" and event.step is None
        if event.step != call.step and not free:
            break
        together.append(event)
    before = [*events[:at], *together]
    if any(isinstance(event, ToolCall) and fits(event.name, grader.first) for event in before):
        return Told("pass", f"{call.name} was called after {grader.first}")
    return Told("fail", f"{call.name} was called without an earlier {grader.first}")


ORACLES: dict[type, Callable[..., Told]] = {
    AssistantContainsToolOutput: echo,
    TranscriptContains: transcript,
    TranscriptNotContains: transcript,
    ToolCalled: tool_called,
    ToolNotCalled: tool_not_called,
    ToolOrder: tool_order,
    ToolGrounding: tool_grounding,
    Precedes: precedes,
}

NEEDS: dict[type, set[str]] = {
    AssistantContainsToolOutput: {"messages", "results"},
    TranscriptContains: {"messages"},
    TranscriptNotContains: {"messages"},
    ToolCalled: {"tools"},
    ToolNotCalled: {"tools"},
    ToolOrder: {"tools"},
    ToolGrounding: {"messages"},
    Precedes: {"tools"},
}


# -- a check around it -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """Which records of a run (or of its beginning) are known."""

    messages: bool
    tools: bool
    results: bool


def known(events: Sequence[Event]) -> Known:
    start = next((event for event in events if isinstance(event, RunStart)), None)
    reports = None if start is None else start.reports
    return Known(
        messages=(reports is None or "messages" in reports)
        and not any(isinstance(e, Message) and e.content is UNSENT for e in events),
        tools=("tools" in (reports or ())) or any(isinstance(e, ToolCall | ToolResult) for e in events),
        results=(reports is None or "results" in reports)
        and not any(isinstance(e, ToolResult) and e.result is UNSENT and e.result_raw is None for e in events),
    )


def turns(events: Sequence[Event]) -> list[int]:
    """The turn of each event: its own, else counted by user messages."""
    numbers, at, users = list[int](), 0, 0
    for event in events:
        is_user = isinstance(event, Message) and event.role == "user"
        at = max(at, event.turn) if event.turn is not None else at + (is_user and users > 0)
        users += is_user
        numbers.append(at if event.turn is None else event.turn)
    return numbers


def sliced(events: Sequence[Event], turn: int) -> tuple[list[Event], list[Event]]:
    """The events of a turn up to its end, and all events up to and with the one that ended it."""
    inside: list[Event] = []
    for n, (event, number) in enumerate(zip(events, turns(events), strict=True)):
        if number > turn and inside:
            return inside, list(events[: n + 1])
        if number == turn:
            inside.append(event)
            if isinstance(event, TurnEnd):
                return inside, list(events[: n + 1])
    return inside, list(events)


def applies(check: Check, events: Sequence[Event]) -> bool:
    when = check.when
    if when is None:
        return True
    start = next((event for event in events if isinstance(event, RunStart)), None)
    labels = (start.labels if start is not None else None) or {}
    end = [event for event in events if isinstance(event, RunEnd)]
    return (
        (when.called is None or when.called in called_names(events))
        and (when.said is None or any(when.said.lower() in text(m.content).lower() for m in assistant(events)))
        and (not when.status or (bool(end) and end[-1].status in when.status))
        and all(labels.get(name) == value for name, value in when.labels.items())
    )


def expected(check: Check, run: Sequence[Event]) -> tuple[str, str]:
    """Outcome of a check on a complete run, and its evidence; of ``not_graded`` the reason."""
    events = [event for event in run if not isinstance(event, ASIDES)]
    while events and not isinstance(events[0], OPENERS):
        del events[0]  # What comes before anything that opens the run is not of it.
    tools = tools_of_results(events)
    told, facts = _told(check, events, tools)
    if check.when is not None and not applies(check, events):
        if check.when.called is not None and check.when.called not in called_names(events) and not known(events).tools:
            return "not_graded", "record_unknown"
        said = check.when.said
        if said is not None and not any(said.lower() in text(m.content).lower() for m in assistant(events)):
            if not known(events).messages:
                return "not_graded", "content_missing"
            if any(is_cut(message) for message in assistant(events)):
                return "not_graded", "truncated"
        return "skipped", "the condition did not come true"
    if told.certain or told.outcome == "not_graded":
        return told.outcome, told.evidence
    needs = set(NEEDS[type(check.grader)])
    if isinstance(check.grader, ToolCalled) and check.grader.status is not None:
        needs.add("results")
    if "tools" in needs and not facts.tools:
        return "not_graded", "record_unknown"
    if ("messages" in needs and not facts.messages) or ("results" in needs and not facts.results):
        return "not_graded", "content_missing"
    if told.cut:
        return "not_graded", "truncated"
    return told.outcome, told.evidence


def _told(check: Check, events: list[Event], tools: dict[str, str | None]) -> tuple[Told, Known]:
    oracle = ORACLES[type(check.grader)]
    if check.turn is None:
        return oracle(check.grader, events, tools), known(events)
    inside, before = sliced(events, check.turn)
    # The run's end reports the reply of the run, not that of a turn.
    told = oracle(check.grader, [event for event in inside if not isinstance(event, RunEnd)], tools)
    if not inside and told.outcome == "pass":
        told = Told("fail", f"turn {check.turn} has no events", cut=told.cut)
    return told, known(before)
