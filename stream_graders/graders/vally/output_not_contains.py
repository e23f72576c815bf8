"""Is the final reply free of this text?"""

from dataclasses import dataclass

from ._output import OutputText


@dataclass
class OutputNotContains(OutputText):
    """Pass a run whose final reply does not hold ``substring`` (R28, R37).

    What was said before the reply does not count. An empty reply passes; a run that reports none fails: there was
    nothing to check. ``negate`` is accepted because files of the origin carry it, and changes nothing.

    >>> from stream_graders.testing import graded, run
    >>> graded(OutputNotContains("drop table"), run().says("I could DROP TABLE.").says("All is well.").ends()).evidence
    "'drop table' NOT found in output"
    """

    negate: bool = True

    def negated(self) -> bool:
        return True
