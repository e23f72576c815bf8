"""Did the agent keep from saying this text in every message of the run?"""

from dataclasses import dataclass

from ._transcript import TranscriptText


@dataclass
class TranscriptNotContains(TranscriptText):
    """Pass a run in which no assistant message holds ``substring`` (R30 to R36).

    A run without any assistant message fails: there was nothing to check (R31). ``negate`` is accepted because files of
    the origin carry it, and changes nothing: this grader is the negated one.

    >>> from stream_graders.testing import graded, run
    >>> graded(TranscriptNotContains("rm -rf"), run().asks("clean up").ends()).evidence
    'no assistant messages in transcript to check'
    """

    negate: bool = True

    def negated(self) -> bool:
        return True
