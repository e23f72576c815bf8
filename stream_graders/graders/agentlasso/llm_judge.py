"""Does a judge model find that the reply meets this criterion?"""

from dataclasses import dataclass

from ...events import Event
from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Reason


@dataclass
class LlmJudge(Grader):
    """Ask a judge model whether the reply meets ``criterion``, in plain language (R46, R57).

    There is no judge yet, so no run has a verdict: neither pass nor fail. A critical check of this kind leaves its run
    without one (R58).

    >>> from stream_graders.testing import graded, run
    >>> graded(LlmJudge("Says when the money arrives"), run().says("Tomorrow.").ends()).outcome.value
    'not_graded'
    """

    criterion: str

    def __post_init__(self) -> None:
        self.settled = True

    def wants(self) -> tuple[type[Event], ...]:
        return ()

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.criterion.strip() else [("criterion", "say what the reply is to meet")]

    def update(self, seen: Seen) -> None:
        raise NotImplementedError("it reads no event")

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.NOT_GRADED, Reason.NO_JUDGE, "no judge is there to ask", sound=True)
