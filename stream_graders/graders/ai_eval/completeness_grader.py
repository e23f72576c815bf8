"""Does the final reply cover all that was asked for?"""

from dataclasses import dataclass

from ._judge import Judge


@dataclass
class CompletenessGrader(Judge):
    """Have a judge model score the final reply from 0 to 5, by ``criteria`` where there are some.

    5 stands for a reply that leaves nothing out, 1 for one with major gaps (R87). There is no judge yet, so no run has a verdict.

    >>> from stream_graders.testing import graded, run
    >>> graded(CompletenessGrader(), run().says("It is at gate 4.").ends()).reason.value
    'no_judge'
    """
