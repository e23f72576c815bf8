"""Is the final reply the expected answer?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...grading import Seen
from ...matching.similarity import normalized
from ...verdicts import Finding, Outcome, Reason
from ._case import Case

MODES = ("exact", "normalized", "contains")


@dataclass
class AnswerCorrectness(Case):
    """Pass a run whose final reply is ``ideal_response``, by ``match_mode``.

    ``exact``: equal but for blanks around. ``normalized``, also where the mode is none of these: equal in lower case,
    without punctuation and repeated blanks. ``contains``: the answer stands in the reply, both normalized. Without an
    ideal response the check is skipped.

    >>> from stream_graders.testing import graded, run
    >>> graded(AnswerCorrectness("42 EUR"), run().says("42  Eur.").ends()).evidence
    'normalized match'
    """

    key = "ideal_response"
    references: ClassVar[dict[str, str]] = {
        "ideal_response": "metadata.ideal_response",
        "match_mode": "metadata.match_mode",
    }
    assumes = "the reply is another"

    ideal_response: Any = None
    match_mode: Any = None

    def unfit(self) -> str | None:
        self._ideal = "" if self.ideal_response is None else str(self.ideal_response)
        mode = str(self.match_mode or "normalized").lower()
        self._mode = mode if mode in MODES else "normalized"
        self._normal = normalized(self._ideal)
        return None if self._ideal.strip() else "no ideal_response provided — cannot score"

    def warnings(self) -> list[tuple[str, str]]:
        found = super().warnings()
        if self.match_mode and str(self.match_mode).lower() not in MODES:
            found.append(("match_mode", f"is none of {', '.join(MODES)}, so the answer is compared as normalized"))
        if not self._normal and self._ideal.strip() and self._mode != "exact":
            found.append(("ideal_response", "is only punctuation, of which nothing is left to compare: use exact"))
        return found

    def read(self, seen: Seen) -> bool:
        return self._fits(seen.text)

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        if self._fits("") if judgement is None else judgement:
            sound = self._mode == "contains"
            return Finding(Outcome.PASS, Reason.CORRECT, f"{self._mode} match", sound=sound)
        return Finding(Outcome.FAIL, Reason.INCORRECT, f"no {self._mode} match")

    def _fits(self, text: str) -> bool:
        if self._mode == "exact":
            return text.strip() == self._ideal.strip()
        reply = normalized(text)
        return self._normal in reply if self._mode == "contains" else self._normal == reply
