"""Does the final reply hold this text?"""

from dataclasses import dataclass

from ._output import OutputText


@dataclass
class OutputContains(OutputText):
    """Pass a run whose final reply holds ``substring`` (R28, R37).

    Case is ignored unless ``case_sensitive``; ``negate`` turns the question round, as `vally.output_not_contains` does.
    An empty reply is searched as text; a run that reports none fails, negated or not, and says so.

    >>> from stream_graders.testing import graded, run
    >>> graded(OutputContains("done"), run().says("Done in a minute.").says("Anything else?").ends()).evidence
    "'done' NOT found in output"
    """

    assumes = "the reply does not hold this"

    negate: bool = False

    def negated(self) -> bool:
        return self.negate
