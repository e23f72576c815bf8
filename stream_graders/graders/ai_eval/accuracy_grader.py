"""Are the facts, names, numbers and paths of the final reply right?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ._flags import SEEING_JUDGE
from ._judge import Judge, ground_truth


@dataclass
class AccuracyGrader(Judge):
    """Have a judge model score the final reply from 0 to 5, by ``criteria`` where there are some.

    A critical fact that is missing leaves at most 3, several at most 2, a text that must not be there at most 1. With
    ``expected_facts`` the reply is held against them; without, it is judged all the same. The judge sees the calls that
    the agent made, and not what they returned (R88 to R90, R140).

    >>> from stream_graders.testing import graded, judged, run
    >>> story = run().starts().asks("Which gate?").says("It is at gate 4.").ends()
    >>> graded(AccuracyGrader(), story).reason.value
    'no_judge'
    >>> judged(AccuracyGrader(), story, {"status": "scored", "score": 4, "reason": "names the gate"}).evidence
    '4 / 5: names the gate'
    """

    metadata = SEEING_JUDGE
    shows_calls = True
    references: ClassVar[dict[str, str]] = {**Judge.references, "expected_facts": "expected_facts"}

    dimension = "accuracy"
    meaning = "whether facts, names, numbers and paths in the response are right"
    guide = (
        "5: everything that is stated is right and nothing critical is missing. 4: a small slip that misleads nobody. "
        "At most 3 if one critical fact is missing, at most 2 if several are. At most 1 if the response holds anything that "
        "the criteria say must not be there, also in other words. 0: nothing in it is right. A summary that says nothing "
        "was found or all is fine after tools failed is inaccurate where concrete values were asked for."
    )

    expected_facts: Any = None

    def facts(self) -> str:
        return ground_truth(self.expected_facts)
