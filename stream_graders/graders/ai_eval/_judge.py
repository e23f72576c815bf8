"""What ai_eval's judges share: a criterion, a judge model that is asked once, and nobody to ask yet."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...events import Event
from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Reason
from ._flags import JUDGE


@dataclass
class Judge(Grader):
    """Asks a judge model about one dimension of the final reply. There is none yet, so no run has a verdict."""

    metadata = JUDGE
    scale = (0, 5)
    pass_at = 3.5
    references: ClassVar[dict[str, str]] = {"criteria": "criteria"}

    criteria: Any = None

    def __post_init__(self) -> None:
        self.settled = True

    def wants(self) -> tuple[type[Event], ...]:
        return ()

    def update(self, seen: Seen) -> None:
        raise NotImplementedError("it reads no event")

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.NOT_GRADED, Reason.NO_JUDGE, "no judge is there to ask", sound=True)
