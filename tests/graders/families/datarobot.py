"""Graders of DataRobot as the tests configure them, and their oracles."""

from collections.abc import Iterable, Sequence
from typing import Any

from stream_graders.events import UNSENT, Event, RunEnd
from stream_graders.graders.datarobot.tool_grounding import ToolGrounding
from stream_graders.grading import Grader
from tests.graders.told import Oracle, Told, assistant, is_cut, text

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


ORACLES: dict[type, Oracle] = {ToolGrounding: Oracle(tool_grounding, {"messages"})}
