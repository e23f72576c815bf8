"""Can a reader act on the final reply?"""

from dataclasses import dataclass

from ._judge import Judge


@dataclass
class ActionabilityGrader(Judge):
    """Have a judge model score the final reply from 0 to 5, by ``criteria`` where there are some.

    5 stands for a reply that can be acted on at once, 1 for a vague one. Whether the agent acted is not asked: only the
    text is judged (R80, R91). There is no judge yet, so no run has a verdict.

    >>> from stream_graders.testing import graded, run
    >>> graded(ActionabilityGrader(), run().says("It is at gate 4.").ends()).reason.value
    'no_judge'
    """
