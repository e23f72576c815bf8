"""Did the agent say this text in any message of the run?"""

from dataclasses import dataclass

from ...grading import RunFacts
from ...verdicts import Finding
from ._transcript import Transcript


@dataclass
class TranscriptContains(Transcript):
    """Pass a run in which some assistant message holds ``substring`` (R24 to R29, R34 to R36).

    Case is ignored unless ``case_sensitive``; ``negate`` turns the question round, as `vally.transcript_not_contains`
    does (R30). User, system and tool texts never count, and a text split over two messages is not found.

    >>> from stream_graders.testing import graded, run
    >>> graded(TranscriptContains("which floor"), run().says("Which Floor do you mean?").ends()).evidence
    "'which floor' found in transcript"
    """

    assumes = "the agent does not say this"

    negate: bool = False

    def finding(self, run: RunFacts) -> Finding:
        return self.told(negated=self.negate)
