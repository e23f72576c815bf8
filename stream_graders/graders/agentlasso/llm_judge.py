"""Does a judge model find that the reply meets this criterion?"""

from dataclasses import dataclass

from ...questions import JudgeGrader
from ...verdicts import Finding, Outcome, Reason


@dataclass
class LlmJudge(JudgeGrader):
    """Ask a judge model whether the reply meets ``criterion``, in plain language: 1 if it does, 0 if not (R46, R57).

    A run that reports no reply fails, as with the content checks. Where no judge answers the check is not graded, neither
    pass nor fail; a critical check of this kind then leaves its run without a verdict (R58). With ``sees_tool_calls`` the
    judge sees the calls too, each with its id.

    >>> from stream_graders.testing import graded, judged, run
    >>> story = run().starts().asks("When?").says("Tomorrow.").ends()
    >>> graded(LlmJudge("Says when the money arrives"), story).outcome.value
    'not_graded'
    >>> answer = {"status": "scored", "score": 1, "reason": "it says tomorrow"}
    >>> judged(LlmJudge("Says when the money arrives"), story, answer).outcome.value
    'pass'
    """

    version = 2
    pass_at = 1.0
    rule = "binary"
    shows_ids = True
    unanswered = Outcome.NOT_GRADED

    criterion: str
    sees_tool_calls: bool = False

    def __post_init__(self) -> None:
        vars(self)["shows_calls"] = self.sees_tool_calls
        super().__post_init__()

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.criterion.strip() else [("criterion", "say what the reply is to meet")]

    def asked(self) -> dict[str, str]:
        return {
            "dimension": "criterion: whether the response meets the criterion",
            "guide": "1: the response meets the criterion. 0: it does not, or only in part. Nothing in between.",
            "criteria": self.criterion,
        }

    def not_reported(self) -> Finding:
        text = "the run reported no reply, so there is nothing to check"
        return Finding(Outcome.FAIL, Reason.REPLY_NOT_REPORTED, text)
