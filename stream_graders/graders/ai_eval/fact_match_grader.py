"""Does the final reply agree with the facts that are known?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...grading import RunFacts
from ...verdicts import Finding, Outcome, Reason
from ._judge import Judge


@dataclass
class FactMatchGrader(Judge):
    """Have a judge model score the final reply from 0 to 5 against ``expected_facts``; without any it is skipped (R92, R93).

    Other words and other spellings of a name or a number do not matter; a text that must not be there leaves at most 1.
    There is no judge yet, so no run has a verdict.

    >>> from stream_graders.testing import graded, run
    >>> graded(FactMatchGrader(), run().says("It is at gate 4.").ends()).evidence
    'no expected_facts; skipping'
    """

    references: ClassVar[dict[str, str]] = {**Judge.references, "expected_facts": "expected_facts"}

    expected_facts: Any = None

    def warnings(self) -> list[tuple[str, str]]:
        text = "holds no fact, so a run that brings none of its own is skipped"
        return [] if self.expected_facts else [("expected_facts", text)]

    def finding(self, run: RunFacts) -> Finding:
        if not self.expected_facts:
            return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, "no expected_facts; skipping", sound=True)
        return super().finding(run)
