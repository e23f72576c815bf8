"""Does the final reply hold this text?"""

from dataclasses import dataclass

from ...verdicts import Finding, Outcome, Reason
from ._reply import Content


@dataclass
class OutputContains(Content):
    """Pass a run whose final reply holds ``value``, case ignored; with ``regex`` a match of that pattern (R43, R60).

    A pattern minds case unless it says ``(?i)``. A run that reports no reply fails, and says so (R55); so does an invalid
    pattern (R56).

    >>> from stream_graders.testing import graded, run
    >>> graded(OutputContains("2 working days"), run().says("It takes 2 Working Days.").ends()).evidence
    '“2 working days” found: It takes 2 Working Days.'
    """

    assumes = "the reply does not hold this"

    def is_there(self, *, firm: bool, around: str) -> Finding:
        return Finding(Outcome.PASS, Reason.FOUND, f"“{self.value}” found: {around}", sound=firm)

    def is_missing(self) -> Finding:
        return Finding(Outcome.FAIL, Reason.NOT_FOUND, f"“{self.value}” was not found in the reply.")
