"""Did the agent say this text in any message of the run?"""

from dataclasses import dataclass

from ._transcript import TranscriptText


@dataclass
class TranscriptContains(TranscriptText):
    """Pass a run in which some assistant message holds ``substring`` (R24 to R29, R34 to R36).

    Case is ignored unless ``case_sensitive``; ``negate`` turns the question round, as `vally.transcript_not_contains`
    does (R30). User, system and tool texts never count, and a text split over two messages is not found.

    >>> from stream_graders.testing import graded, run
    >>> graded(TranscriptContains("which floor"), run().says("Which Floor do you mean?").ends()).evidence
    "'which floor' found in transcript"
    """

    assumes = "the agent does not say this"

    negate: bool = False

    def negated(self) -> bool:
        return self.negate
