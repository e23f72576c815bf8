"""Has the final reply this shape?"""

from dataclasses import dataclass

from ._output import OutputPattern


@dataclass
class OutputMatches(OutputPattern):
    """Pass a run in whose final reply ``pattern`` matches; ``negate`` turns the question round.

    The pattern is RE2, is searched for and minds case; flags may stand in front of it, ``(?i)`` or ``(?ims)``. An invalid
    one fails every run, with the error as evidence; so does a run that reports no reply.

    >>> from stream_graders.testing import graded, run
    >>> graded(OutputMatches("^Total: [0-9]+$"), run().says("Total: 58 EUR").ends()).evidence
    'Output does not match pattern /^Total: [0-9]+$/'
    """

    assumes = "the reply has not this shape"

    negate: bool = False

    def negated(self) -> bool:
        return self.negate
