"""Did the agent keep from saying anything of this shape in every message of the run?"""

from dataclasses import dataclass

from ._transcript import TranscriptPattern


@dataclass
class TranscriptNotMatches(TranscriptPattern):
    """Pass a run in which ``pattern`` matches in no assistant message; it is searched for as in `vally.transcript_matches`.

    A run without any assistant message fails, as with `vally.transcript_not_contains`; ``negate`` changes nothing here.

    >>> from stream_graders.testing import graded, run
    >>> graded(TranscriptNotMatches("(?i)rm +-rf"), run().says("I ran RM  -rf.").ends()).evidence
    'Transcript matches pattern /(?i)rm +-rf/'
    """

    negate: bool = True

    def negated(self) -> bool:
        return True
