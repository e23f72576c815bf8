"""Is the final reply free of this text?"""

from dataclasses import dataclass

from ...verdicts import Finding, Outcome, Reason
from ._reply import Content


@dataclass
class OutputNotContains(Content):
    """Pass a run whose final reply does not hold ``value``; the text is looked for as in `output_contains` (R44, R60).

    A run that reports no reply fails: a text that nobody saw is not known to be clean (R55). The detail quotes what
    stands around the text, and so what was forbidden: mask it, or leave evidence out, where that is a secret.

    >>> from stream_graders.testing import graded, run
    >>> graded(OutputNotContains("guarantee"), run().says("I guarantee it.").ends()).evidence
    'Forbidden “guarantee” found: I guarantee it.'
    """

    def is_there(self, *, firm: bool, around: str) -> Finding:
        return Finding(Outcome.FAIL, Reason.FOUND, f"Forbidden “{self.value}” found: {around}", sound=firm)

    def is_missing(self) -> Finding:
        return Finding(Outcome.PASS, Reason.NOT_FOUND, f"“{self.value}” was not found in the reply.")
