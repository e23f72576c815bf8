"""Does every claim of the final reply rest on something?"""

from dataclasses import dataclass

from ._flags import SEEING_JUDGE
from ._judge import Judge


@dataclass
class GroundednessGrader(Judge):
    """Have a judge model say whether every claim is supported: 1, or 0 for one that is not (R94 to R97).

    Support is the question, the ``criteria``, and source text that the reply quotes. One claim that is made up, contradicted
    or beyond checking makes it 0; a vague reply that claims nothing is 1. The judge sees the calls that the agent made.
    There is no judge yet, so no run has a verdict.

    >>> from stream_graders.testing import graded, run
    >>> verdict = graded(GroundednessGrader(), run().says("It is at gate 4.").ends())
    >>> verdict.reason.value, verdict.scale
    ('no_judge', (0, 1))
    """

    metadata = SEEING_JUDGE
    scale = (0, 1)
    pass_at = 1.0
