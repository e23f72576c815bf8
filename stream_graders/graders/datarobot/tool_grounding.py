"""Does the final reply hold the values that only the tool could have given?"""

from dataclasses import dataclass
from typing import Any

from ...grading import RunFacts, Seen
from ...replies import ReplyGrader
from ...verdicts import Finding, Outcome, Reason


@dataclass
class ToolGrounding(ReplyGrader):
    """Pass a run whose final reply holds every ``canary`` value, case ignored (R158 to R169).

    The final reply is the output that the run's end reports, else the last assistant message that has text; a run that
    reports none is read as an empty reply, as the origin does. Empty, null, 0 and false entries are no canaries; without
    any the check is skipped. Tool results do not count.

    >>> from stream_graders.testing import graded, run
    >>> graded(ToolGrounding(["LOT-Q7", "58"]), run().says("The lot is lot-q7.").ends()).evidence
    'tool data missing: 58'
    """

    assumes = "the reply lacks the values"

    canary: Any = None

    def __post_init__(self) -> None:
        entries = self.canary if isinstance(self.canary, list | tuple) else [self.canary]
        self._canaries = [str(entry) for entry in entries if entry]
        self.settled = not self._canaries

    def warnings(self) -> list[tuple[str, str]]:
        return [] if self._canaries else [("canary", "names no value, so every run is skipped")]

    def finding(self, run: RunFacts) -> Finding:
        if not self._canaries:
            return Finding(Outcome.SKIPPED, Reason.NO_CANARY, "no canary defined — cannot score", sound=True)
        return super().finding(run)

    def read(self, seen: Seen) -> list[int]:
        return [n for n, canary in enumerate(self._canaries) if canary.lower() not in seen.lower]

    def shows(self, seen: Seen, judgement: Any) -> tuple[int, int]:
        found = [at for canary in self._canaries if (at := seen.lower.find(canary.lower())) >= 0]
        start = min(found, default=0)
        return (start, start)

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        missing = range(len(self._canaries)) if judgement is None else judgement
        if missing:
            text = "tool data missing: " + ", ".join(self._canaries[n] for n in missing)
            return Finding(Outcome.FAIL, Reason.UNGROUNDED, text)
        return Finding(Outcome.PASS, Reason.GROUNDED, "tool data present (canary found)", sound=True)
