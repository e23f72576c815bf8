"""Did the agent give a reply with text in it?"""

from dataclasses import dataclass

from ...grading import RunFacts, Seen
from ...verdicts import Finding, Outcome, Reason
from ._session import Health


@dataclass
class ExitSuccess(Health):
    """Pass a run whose final reply is not empty. Errors do not count: `vally.completed` asks for those too.

    Decided at the first text of the assistant, for the reply is the last message that has one.

    >>> from stream_graders.testing import graded, run
    >>> graded(ExitSuccess(), run().asks("hello?").says("").ends()).evidence
    'Agent produced no output'
    """

    def update(self, seen: Seen) -> None:
        self.hear(seen)
        self.settled = self.replied is not None

    def finding(self, run: RunFacts) -> Finding:
        if self.replied is None:
            return self.silence()
        return Finding(Outcome.PASS, Reason.COMPLETED, "Agent completed successfully", self.points(), sound=True)
