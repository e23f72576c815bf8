"""Did the agent keep to its number of tool calls?"""

from dataclasses import dataclass

from ...events import Event, ToolCall
from ...grading import Seen
from ._budget import Budget


@dataclass
class ToolCallCount(Budget):
    """Pass a run with at most ``max`` tool calls. Decided at the first call too many; a failed call is a call.

    >>> from stream_graders.testing import graded, run
    >>> graded(ToolCallCount(1), run().calls("find").calls("find").calls("find").ends()).evidence
    '2 tool calls exceeds max of 1'
    """

    unit = "tool calls"

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def update(self, seen: Seen) -> None:
        if not self.settled:
            self.use(seen)
