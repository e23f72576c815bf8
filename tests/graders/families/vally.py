"""Graders of Vally as the tests configure them, and their oracles."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stream_graders.events import UNSENT, Event, Message, ToolResult, compact, from_json
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput
from stream_graders.graders.vally.output_contains import OutputContains
from stream_graders.graders.vally.output_matches import OutputMatches
from stream_graders.graders.vally.output_not_contains import OutputNotContains
from stream_graders.graders.vally.output_not_matches import OutputNotMatches
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_matches import TranscriptMatches
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.graders.vally.transcript_not_matches import TranscriptNotMatches
from stream_graders.grading import Grader
from stream_graders.testing import run
from tests.graders.told import Oracle, Told, assistant, is_cut, reply_of, searched, text

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
    "matches": TranscriptMatches("(?i)lot q7 (and|for) [0-9]+"),
    "matches at the end": TranscriptMatches("(58|Q7)$", negate=True),
    "not matches": TranscriptNotMatches("^REFUNDED|Q7$"),
    "not matches nothing at all": TranscriptNotMatches("^$"),
    "matches a bad pattern": TranscriptMatches("(a"),
    "output contains": OutputContains("refunded"),
    "output contains, negated": OutputContains("Q7", case_sensitive=True, negate=True),
    "output not contains": OutputNotContains("lot q7"),
    "output matches": OutputMatches("58$|^one"),
    "output not matches": OutputNotMatches(r"(?i)q7\b"),
}

STORIES: dict[str, Iterable[Event]] = {
    "texts that are cut within a match": run().starts().says("lot Q7", flags=("truncated",)).says("lot Q").ends(),
    "texts that are cut behind a match": run().starts().says("lot Q7 for 58.", flags=("truncated",)).ends(),
    "an empty text that was cut": run().starts().says("", flags=("truncated",)).says("one moment").ends(),
    "an output that was cut": run().starts().says("ok").ends(output="lot q7 for 58", flags=("truncated",)),
}
"""Runs that this family's graders are held over beside those of `tests.core.stories`."""


Texts = TranscriptContains | TranscriptNotContains | OutputContains | OutputNotContains
Patterns = TranscriptMatches | TranscriptNotMatches | OutputMatches | OutputNotMatches
NEGATED = (TranscriptNotContains, TranscriptNotMatches, OutputNotContains, OutputNotMatches)


def place(grader: Texts | Patterns, said: str) -> int | None:
    """Where what is looked for ends in a text, if what follows could matter: else, where it is there, 0."""
    if isinstance(grader, Patterns):
        found = re.search(grader.pattern, said)
        return None if found is None else found.end()
    fold: Callable[[str], str] = (lambda s: s) if grader.case_sensitive else str.lower
    return 0 if fold(grader.substring) in fold(said) else None


def is_bad(grader: Texts | Patterns) -> bool:
    try:
        re.compile(grader.pattern if isinstance(grader, Patterns) else "")
    except re.error:
        return True
    return False


def words(grader: Texts | Patterns, *, found: bool, where: str) -> str:
    if isinstance(grader, Patterns):
        return f"{where.capitalize()} {'matches' if found else 'does not match'} pattern /{grader.pattern}/"
    return f"'{grader.substring}' {'found' if found else 'NOT found'} in {where}"


def transcript(grader: Any, events: Sequence[Event], tools: Any) -> Told:
    if is_bad(grader):
        return Told("fail", "invalid pattern", certain=True)
    negated = isinstance(grader, NEGATED) or grader.negate
    said = assistant(events)
    for message in said:
        end = place(grader, text(message.content))
        may_go_on = is_cut(message) or message.content is UNSENT
        if end is not None and (isinstance(grader, Texts) or end < len(text(message.content)) or not may_go_on):
            return Told("fail" if negated else "pass", words(grader, found=True, where="transcript"), certain=True)
    if negated and not said:
        return Told("fail", "no assistant messages in transcript to check")
    cut = any(is_cut(message) for message in said)
    return Told("pass" if negated else "fail", words(grader, found=False, where="transcript"), cut=cut)


def output(grader: Any, events: Sequence[Event], tools: Any) -> Told:
    reply = reply_of(events)
    if not reply.reported:
        return Told("fail", "the run reported no reply, so there is nothing to check", cut=reply.cut)
    negated = isinstance(grader, NEGATED) or grader.negate
    end = place(grader, reply.text)
    if end is None:
        return reply.told("pass" if negated else "fail", words(grader, found=False, where="output"))
    firm = isinstance(grader, Texts) or end < len(reply.text)
    return reply.told("fail" if negated else "pass", words(grader, found=True, where="output"), firm=firm)


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
    **{kind: Oracle(transcript, {"messages"}) for kind in (TranscriptContains, TranscriptNotContains)},
    **{kind: Oracle(transcript, {"messages"}) for kind in (TranscriptMatches, TranscriptNotMatches)},
    **{kind: Oracle(output, {"messages"}) for kind in (OutputContains, OutputNotContains)},
    **{kind: Oracle(output, {"messages"}) for kind in (OutputMatches, OutputNotMatches)},
}
