"""Graders of our own family as the tests configure them, and their oracles."""

from collections.abc import Iterable, Sequence
from typing import Any

from stream_graders.events import Event, Message, ToolCall
from stream_graders.graders.trajectory.precedes import Precedes
from stream_graders.grading import Grader
from tests.graders.told import Oracle, Told

GRADERS: dict[str, Grader] = {
    "precedes": Precedes("auth.login", "payments.refund"),
    "precedes, by pattern": Precedes("auth.*", "*.refund"),
}

STORIES: dict[str, Iterable[Event]] = {}
"""Runs that this family's graders are held over beside those of `tests.core.stories`."""


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


ORACLES: dict[type, Oracle] = {Precedes: Oracle(precedes, {"tools"})}
