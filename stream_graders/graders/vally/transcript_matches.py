"""Did the agent say something of this shape in any message of the run?"""

from dataclasses import dataclass

from ._transcript import TranscriptPattern


@dataclass
class TranscriptMatches(TranscriptPattern):
    """Pass a run in which ``pattern`` matches in some assistant message; ``negate`` turns the question round.

    The pattern is RE2, is searched for and minds case; flags may stand in front of it, ``(?i)`` or ``(?ims)``. All else
    is as in `vally.transcript_contains`. An invalid pattern fails every run, with the error as evidence.

    >>> from stream_graders.testing import graded, run
    >>> graded(TranscriptMatches("ticket [A-Z]+-[0-9]+"), run().says("I opened ticket AB-7.").ends()).evidence
    'Transcript matches pattern /ticket [A-Z]+-[0-9]+/'
    """

    assumes = "the agent says nothing of this shape"

    negate: bool = False

    def negated(self) -> bool:
        return self.negate
