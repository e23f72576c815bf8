"""Would the final reply pass beside replies that are known to be acceptable?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...questions import listed
from ._judge import Judged


@dataclass
class ResponseAcceptability(Judged):
    """Have a judge model score from 1 to 5, as 0.2 to 1.0, how acceptable the final reply is; 0.5 passes.

    It is held against ``acceptable_responses``, and against ``unacceptable_responses`` where there are some. Without an
    acceptable one the check is skipped, and nobody is asked.

    >>> from stream_graders.testing import graded, run
    >>> graded(ResponseAcceptability(), run().says("It is at gate 4.").ends()).evidence
    'no acceptable_responses defined — cannot score'
    """

    key = "acceptable_responses"
    answers_on = (1, 5)
    references: ClassVar[dict[str, str]] = {
        "acceptable_responses": "metadata.acceptable_responses",
        "unacceptable_responses": "metadata.unacceptable_responses",
    }

    acceptable_responses: Any = None
    unacceptable_responses: Any = None

    def asked(self) -> dict[str, str]:
        told = f"ACCEPTABLE RESPONSES\n{listed(self.acceptable_responses)}"
        if self.unacceptable_responses:
            told += f"\n\nUNACCEPTABLE RESPONSES\n{listed(self.unacceptable_responses)}"
        return {
            "dimension": "acceptability: whether the response says what the acceptable ones say, in whatever words",
            "guide": "5: it says the same. 4: it lacks a detail. 3: in part. 2: hardly. 1: it says something else, or what"
            " an unacceptable one says.",
            "criteria": told,
        }

    def mapped(self, score: float) -> float:
        return score / 5
