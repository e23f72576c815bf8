"""Graders of DataRobot as the tests configure them, and their oracles."""

from collections.abc import Iterable, Sequence
from typing import Any

from stream_graders.events import Event
from stream_graders.graders.datarobot.tool_grounding import ToolGrounding
from stream_graders.grading import Grader
from tests.graders.told import Oracle, Told, reply_of

GRADERS: dict[str, Grader] = {
    "grounding": ToolGrounding(["Q7", "58"]),
    "grounding of one value": ToolGrounding("lot Q7"),
    "grounding without a canary": ToolGrounding(["", None, 0]),
}

STORIES: dict[str, Iterable[Event]] = {}
"""Runs that this family's graders are held over beside those of `tests.core.stories`."""


def tool_grounding(grader: ToolGrounding, events: Sequence[Event], tools: Any) -> Told:
    values = grader.canary if isinstance(grader.canary, list | tuple) else [grader.canary]
    canaries = [str(value) for value in values if value]
    if not canaries:
        return Told("skipped", "no canary defined — cannot score", certain=True)
    reply = reply_of(events)
    missing = [canary for canary in canaries if canary.lower() not in reply.text.lower()]
    if missing:
        return reply.told("fail", f"tool data missing: {', '.join(missing)}")
    return reply.told("pass", "tool data present (canary found)", firm=True)


ORACLES: dict[type, Oracle] = {ToolGrounding: Oracle(tool_grounding, {"messages"})}
