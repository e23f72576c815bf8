"""Graders of AgentLasso as the tests configure them, and their oracles."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from stream_graders.events import Event, ToolResult, from_json
from stream_graders.graders.agentlasso.llm_judge import LlmJudge
from stream_graders.graders.agentlasso.output_contains import OutputContains
from stream_graders.graders.agentlasso.output_not_contains import OutputNotContains
from stream_graders.graders.agentlasso.output_valid_json import OutputValidJson
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.agentlasso.tool_order import ToolOrder
from stream_graders.grading import Grader
from stream_graders.testing import run
from tests.graders.told import Oracle, Told, called_names, reply_of

GRADERS: dict[str, Grader] = {
    "judged": LlmJudge("is polite"),
    "judged with calls": LlmJudge("uses what it found", sees_tool_calls=True),
    "called": ToolCalled("payments.refund"),
    "called with success": ToolCalled("orders.find", status="success"),
    "called with an error": ToolCalled("payments.refund", status="error"),
    "not called": ToolNotCalled("payments.refund"),
    "order": ToolOrder(["orders.find", "payments.refund"]),
    "order of two calls": ToolOrder(["orders.find", "orders.find"]),
    "reply contains": OutputContains("LOT q7"),
    "reply matches": OutputContains("(58|refunded)$", regex=True),
    "reply does not contain": OutputNotContains("refunded"),
    "reply does not match": OutputNotContains(r"q7\b|^$", regex=True),
    "reply matches no pattern": OutputContains("(a", regex=True),
    "reply is json": OutputValidJson(),
}

STORIES: dict[str, Iterable[Event]] = {
    "a json reply": run().starts().says('{"lot": [1, null]}').ends(),
    "a json reply with words after it": run().starts().says('{"lot": "q7"} refunded').ends(output='{"lot": q7}'),
    "a reply that is cut behind a match": run().starts().says("lot q7, 58", flags=("truncated",)).ends(),
    "a reply that is cut after a match": run().starts().says("lot q7 and", flags=("truncated",)).ends(),
}
"""Runs that this family's graders are held over beside those of `tests.core.stories`."""


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
    text = f"{grader.tool} was never called with status {grader.status}. {told_names(names)}"
    return Told("fail", text, needs={"tools", "results"})


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


NO_REPLY = Told("fail", "the run reported no reply, so there is nothing to check")


def content(grader: OutputContains | OutputNotContains, events: Sequence[Event], tools: Any) -> Told:
    there, missing = ("pass", "fail") if isinstance(grader, OutputContains) else ("fail", "pass")
    start = "" if there == "pass" else "Forbidden "
    reply = reply_of(events)
    end = 0
    if grader.regex:
        try:
            found = re.search(grader.value, reply.text)
        except re.error:
            return Told("fail", "invalid pattern", certain=True)
        end = -1 if found is None else found.end()
    elif grader.value.lower() not in reply.text.lower():
        end = -1
    if not reply.reported:
        return NO_REPLY._replace(cut=reply.cut)
    if end < 0:
        return reply.told(missing, f"“{grader.value}” was not found in the reply.")
    firm = not grader.regex or end < len(reply.text)
    return reply.told(there, f"{start}“{grader.value}” found: ", firm=firm)


def valid_json(grader: OutputValidJson, events: Sequence[Event], tools: Any) -> Told:
    reply = reply_of(events)
    if not reply.reported:
        return NO_REPLY._replace(cut=reply.cut)
    try:
        from_json(reply.text)
    except ValueError:
        return reply.told("fail", "The reply is not valid JSON: ")
    return reply.told("pass", "The reply is valid JSON.")


def llm_judge(grader: LlmJudge, events: Sequence[Event], tools: Any) -> Told:
    reply = reply_of(events)
    if not reply.reported:
        return NO_REPLY._replace(cut=reply.cut)
    if reply.text.strip():
        return Told("asks", "no_judge", cut=reply.cut or reply.short)
    return Told("asks", "nothing_to_judge", cut=reply.cut)


ORACLES: dict[type, Oracle] = {
    OutputContains: Oracle(content, {"messages"}),
    OutputNotContains: Oracle(content, {"messages"}),
    OutputValidJson: Oracle(valid_json, {"messages"}),
    LlmJudge: Oracle(llm_judge, {"messages"}),
    ToolCalled: Oracle(tool_called, {"tools"}),
    ToolNotCalled: Oracle(tool_not_called, {"tools"}),
    ToolOrder: Oracle(tool_order, {"tools"}),
}
