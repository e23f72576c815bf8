"""Did the agent keep to its number of steps?"""

from dataclasses import dataclass, field

from ...events import Event, Message, ToolCall
from ...grading import RunFacts, Seen
from ...verdicts import Finding, Outcome, Reason
from ._budget import Distinct


@dataclass
class StepCount(Distinct):
    """Pass a run of at most ``max`` steps: the different step numbers of its assistant messages and tool calls.

    A step is one answer of the model. Where such an event has no number, a pass is not known, and the run is not graded;
    nor is one whose numbers leave more than 200 holes.

    >>> from stream_graders.testing import graded, run
    >>> graded(StepCount(3), run().starts().calls("find", step=0).says("Found.", step=1).ends()).evidence
    '2 steps (within budget of 3)'
    """

    order_free = True
    unit = "steps"

    unnumbered: int = field(default=0, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (Message, ToolCall)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages", "tools"})

    def update(self, seen: Seen) -> None:
        if self.settled or (not seen.is_assistant and type(seen.event) is Message):
            return
        step = seen.event.step
        if step is None:
            self.unnumbered += 1
        else:
            self.count(seen, step)

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is None and self.unnumbered:
            text = f"{self.unnumbered} of the agent's events have no step number, so the {self.used} known are not all"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        return super().finding(run)
