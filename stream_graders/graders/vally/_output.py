"""The output graders differ in what they look for and in which answer passes; all else is here."""

from dataclasses import dataclass

from ...matching.patterns import Pattern
from ...matching.text import Needle
from ...replies import SoughtReply
from ...verdicts import Finding, Outcome, Reason
from ._taxonomy import LOW_COST, TAXONOMY


@dataclass
class Output(SoughtReply):
    """Looks for a text or a pattern in the final reply, which the origin calls the output (R28, R37)."""

    metadata = TAXONOMY

    def negated(self) -> bool:
        """Does a run pass if it is not there?"""
        raise NotImplementedError

    def words(self, *, found: bool) -> str:
        """The evidence."""
        raise NotImplementedError

    def is_there(self, *, firm: bool, around: str) -> Finding:
        outcome = Outcome.FAIL if self.negated() else Outcome.PASS
        return Finding(outcome, Reason.FOUND, self.words(found=True), sound=firm)

    def is_missing(self) -> Finding:
        outcome = Outcome.PASS if self.negated() else Outcome.FAIL
        return Finding(outcome, Reason.NOT_FOUND, self.words(found=False))


@dataclass
class OutputText(Output):
    """Looks for ``substring``."""

    metadata = LOW_COST

    substring: str
    case_sensitive: bool = False

    def sought(self) -> Needle | Pattern:
        return Needle(self.substring, self.case_sensitive)

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.substring else [("substring", "an empty text is in every reply; write what to look for")]

    def words(self, *, found: bool) -> str:
        return f"'{self.substring}' {'found' if found else 'NOT found'} in output"


@dataclass
class OutputPattern(Output):
    """Looks for ``pattern``; flags may stand in front of it, as in ``(?i)done``."""

    pattern: str

    def sought(self) -> Needle | Pattern:
        return Pattern(self.pattern)

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.pattern else [("pattern", "an empty pattern matches every reply; write what to look for")]

    def words(self, *, found: bool) -> str:
        return f"Output {'matches' if found else 'does not match'} pattern /{self.pattern}/"
