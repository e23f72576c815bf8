"""Did the run keep to its number of errors?"""

from dataclasses import dataclass

from ...events import Event, RunEnd, ToolResult
from ...grading import Seen
from ._budget import Budget


@dataclass
class ErrorCount(Budget):
    """Pass a run with at most ``max`` errors: tool results that say they are one, and an end that does.

    A result that does not say is no error. The end counts with the status ``error`` or an ``error`` of its own.

    >>> from stream_graders.testing import graded, run
    >>> graded(ErrorCount(0), run().starts().calls("find").returns("no", is_error=True).ends()).evidence
    '1 errors exceeds max of 0'
    """

    unit = "errors"

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolResult, RunEnd)

    def needs(self) -> frozenset[str]:
        return frozenset({"results"})

    def update(self, seen: Seen) -> None:
        event = seen.event
        if self.settled:
            return
        if isinstance(event, ToolResult):
            is_error = event.is_error is True
        else:
            is_error = isinstance(event, RunEnd) and (event.status == "error" or event.error is not None)
        if is_error:
            self.use(seen)
