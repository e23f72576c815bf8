"""Is the final reply on topic, and does it answer the question?"""

from dataclasses import dataclass

from ._judge import Judge


@dataclass
class RelevanceGrader(Judge):
    """Have a judge model score the final reply from 0 to 5, by ``criteria`` where there are some.

    5 stands for a reply that is fully on topic and answers directly, 1 for one that is wholly off topic (R86). There is no judge yet, so no run has a verdict.

    >>> from stream_graders.testing import graded, run
    >>> graded(RelevanceGrader(), run().says("It is at gate 4.").ends()).reason.value
    'no_judge'
    """
