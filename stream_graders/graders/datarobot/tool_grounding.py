"""Does the final reply hold the values that only the tool could have given?"""

from dataclasses import dataclass
from typing import Any

from ...verdicts import Finding, Outcome, Reason
from ._canary import Canary
from ._case import joined


@dataclass
class ToolGrounding(Canary):
    """Pass a run whose final reply holds every ``canary`` value, case ignored (R158 to R169).

    The final reply is the output that the run's end reports, else the last assistant message that has text; a run that
    reports none is read as an empty reply, as the origin does. Empty, null, 0 and false entries are no canaries; without
    any the check is skipped. Tool results do not count.

    >>> from stream_graders.testing import graded, run
    >>> graded(ToolGrounding(["LOT-Q7", "58"]), run().says("The lot is lot-q7.").ends()).evidence
    'tool data missing: 58'
    """

    assumes = "the reply lacks the values"

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        _, missing = self.split(judgement)
        if missing[1]:
            text = "tool data missing: " + joined(self._canaries, missing)
            return Finding(Outcome.FAIL, Reason.UNGROUNDED, text)
        return Finding(Outcome.PASS, Reason.GROUNDED, "tool data present (canary found)", sound=True)
