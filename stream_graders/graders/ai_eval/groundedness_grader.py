"""Does every claim of the final reply rest on something?"""

from dataclasses import dataclass

from ._flags import SEEING_JUDGE
from ._judge import Judge


@dataclass
class GroundednessGrader(Judge):
    """Have a judge model say whether every claim is supported: 1, or 0 for one that is not (R94 to R97).

    Support is the question, the ``criteria``, and source text that the reply quotes. One claim that is made up, contradicted
    or beyond checking makes it 0; a vague reply that claims nothing is 1. An answer between is rounded, half upwards; one
    off the scale is an error. The judge sees the calls that the agent made.

    >>> from stream_graders.testing import judged, run
    >>> story = run().starts().asks("Which gate?").says("It is at gate 4.").ends()
    >>> verdict = judged(GroundednessGrader(), story, {"status": "scored", "score": 1, "reason": "the user said so"})
    >>> verdict.evidence, verdict.scale
    ('1 / 1: the user said so', (0, 1))
    """

    metadata = SEEING_JUDGE
    scale = (0, 1)
    pass_at = 1.0
    rule = "binary"
    shows_calls = True

    dimension = "groundedness"
    meaning = "whether every claim rests on the question, the criteria, or source text quoted in the response"
    guide = (
        "1: every factual claim is supported; a vague response that claims nothing is 1 too. 0: one claim is made up, goes "
        "against the sources, or cannot be checked. If you are not sure, 0. Nothing in between."
    )
