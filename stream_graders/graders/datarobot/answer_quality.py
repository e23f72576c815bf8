"""How good is the final reply as an answer?"""

from dataclasses import dataclass

from ._judge import Judged


@dataclass
class AnswerQuality(Judged):
    """Have a judge model score the final reply from 1 to 5, which counts as 0.2 to 1.0; 0.5 passes.

    >>> from stream_graders.testing import judged, run
    >>> story = run().starts().asks("Which gate?").says("It is at gate 4.").ends()
    >>> verdict = judged(AnswerQuality(), story, {"status": "scored", "score": 4, "reason": "answers it"})
    >>> verdict.score, verdict.evidence
    (0.8, '4 / 5: answers it')
    """

    answers_on = (1, 5)

    def asked(self) -> dict[str, str]:
        return {
            "dimension": "quality: whether the response is helpful, right and to the point, as an answer to the question",
            "guide": "5: excellent. 4: good, with a small flaw. 3: usable, with gaps. 2: poor. 1: of no use, or wrong.",
        }

    def mapped(self, score: float) -> float:
        return score / 5
