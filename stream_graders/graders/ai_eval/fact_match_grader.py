"""Does the final reply agree with the facts that are known?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...verdicts import Finding, Outcome, Reason
from ._judge import Judge, ground_truth


@dataclass
class FactMatchGrader(Judge):
    """Have a judge model score the final reply from 0 to 5 against ``expected_facts``; without any it is skipped (R92, R93).

    Other words and other spellings of a name or a number do not matter; a text that must not be there leaves at most 1.
    A run that is skipped costs no call.

    >>> from stream_graders.testing import graded, run
    >>> graded(FactMatchGrader(), run().says("It is at gate 4.").ends()).evidence
    'no expected_facts; skipping'
    """

    references: ClassVar[dict[str, str]] = {**Judge.references, "expected_facts": "expected_facts"}

    dimension = "factuality"
    meaning = "whether the response agrees with the ground truth"
    guide = (
        "5: every fact of the ground truth is there. 3: about half of them. 1: hardly any. 0: none, or it contradicts them. "
        "Other words count, and so do initials for a name and currency or thousands marks in a number. At most 1 if "
        "the response holds anything that the ground truth says must not be there, also in other words."
    )

    expected_facts: Any = None

    def warnings(self) -> list[tuple[str, str]]:
        text = "holds no fact, so a run that brings none of its own is skipped"
        return [] if self.expected_facts else [("expected_facts", text)]

    def unfit(self) -> Finding | None:
        if self.expected_facts:
            return None
        return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, "no expected_facts; skipping", sound=True)

    def facts(self) -> str:
        return ground_truth(self.expected_facts)
