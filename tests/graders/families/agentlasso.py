"""Graders of AgentLasso as the tests configure them, and their oracles."""

from collections.abc import Iterable, Sequence
from typing import Any

from stream_graders.events import Event, ToolResult
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.agentlasso.tool_order import ToolOrder
from stream_graders.grading import Grader
from tests.graders.told import Oracle, Told, called_names

GRADERS: dict[str, Grader] = {
    "called": ToolCalled("payments.refund"),
    "called with success": ToolCalled("orders.find", status="success"),
    "called with an error": ToolCalled("payments.refund", status="error"),
    "not called": ToolNotCalled("payments.refund"),
    "order": ToolOrder(["orders.find", "payments.refund"]),
    "order of two calls": ToolOrder(["orders.find", "orders.find"]),
}

STORIES: dict[str, Iterable[Event]] = {}
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


ORACLES: dict[type, Oracle] = {
    ToolCalled: Oracle(tool_called, {"tools"}),
    ToolNotCalled: Oracle(tool_not_called, {"tools"}),
    ToolOrder: Oracle(tool_order, {"tools"}),
}
