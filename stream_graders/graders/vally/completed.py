"""Did the run come to a good end?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import RunEnd
from ...grading import RunFacts, Seen
from ...verdicts import Finding, Outcome, Point, Reason
from ._session import Health

_BAD = ("error", "timeout", "limit", "cancelled")


@dataclass
class Completed(Health):
    """Pass a run whose final reply is not empty and that did not end in an error.

    An end is one in an error if it carries an ``error`` or has the status ``error``, ``timeout``, ``limit`` or
    ``cancelled``. The origin asks for the end of one step of the model too: here an assistant message is that, for it is
    sent when it is whole. Errors of tools do not count; `vally.error_count` counts them.

    >>> from stream_graders.testing import graded, run
    >>> graded(Completed(), run().says("One moment.").ends(status="limit")).evidence
    '1 error event(s) in trajectory: the run ended with status limit'
    """

    ended: bool = field(default=False, init=False)
    failed: list[Any] | None = field(default=None, init=False)
    """An end in an error: event id, seq, status."""

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        self.hear(seen)
        event = seen.event
        if isinstance(event, RunEnd):
            self.ended = True
            if event.status in _BAD or event.error is not None:
                self.failed = [event.id, event.seq, event.status]
                self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.failed is not None:
            event_id, seq, status = self.failed
            text = f"1 error event(s) in trajectory: the run ended with status {status}"
            return Finding(Outcome.FAIL, Reason.RUN_ERROR, text, (Point(event_id, seq, "status"),), sound=True)
        if self.replied is None:
            return self.silence()
        text = "Agent session completed successfully"
        return Finding(Outcome.PASS, Reason.COMPLETED, text, self.points(), sound=self.ended)
