"""Is the final reply of another shape than this?"""

from dataclasses import dataclass

from ._output import OutputPattern


@dataclass
class OutputNotMatches(OutputPattern):
    """Pass a run in whose final reply ``pattern`` does not match; it is searched for as in `vally.output_matches`.

    A run that reports no reply fails: there was nothing to check. ``negate`` changes nothing here.

    >>> from stream_graders.testing import graded, run
    >>> graded(OutputNotMatches("(?i)stack trace|exception"), run().says("Exception in line 3").ends()).evidence
    'Output matches pattern /(?i)stack trace|exception/'
    """

    negate: bool = True

    def negated(self) -> bool:
        return True
