"""Are the facts, names, numbers and paths of the final reply right?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ._flags import SEEING_JUDGE
from ._judge import Judge


@dataclass
class AccuracyGrader(Judge):
    """Have a judge model score the final reply from 0 to 5, by ``criteria`` where there are some.

    A critical fact that is missing leaves at most 3, several at most 2, a text that must not be there at most 1. With
    ``expected_facts`` the reply is held against them; without, it is judged all the same. The judge sees the calls that
    the agent made (R88 to R90). There is no judge yet, so no run has a verdict.

    >>> from stream_graders.testing import graded, run
    >>> graded(AccuracyGrader(), run().says("It is at gate 4.").ends()).reason.value
    'no_judge'
    """

    metadata = SEEING_JUDGE
    references: ClassVar[dict[str, str]] = {**Judge.references, "expected_facts": "expected_facts"}

    expected_facts: Any = None
