"""The transcript graders differ in what they look for and in which answer passes; all else is here."""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message
from ...grading import Grader, RunFacts, Seen, excerpt, shown
from ...matching.patterns import Pattern
from ...matching.sought import look
from ...matching.text import Needle
from ...verdicts import Finding, Outcome, Point, Reason
from ._taxonomy import TAXONOMY


@dataclass
class Transcript(Grader):
    """Looks for a text or a pattern in every assistant message (R24 to R36)."""

    order_free = True
    metadata = TAXONOMY

    spoken: bool = field(default=False, init=False)
    cut: bool = field(default=False, init=False)
    hit: list[Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._sought = self.sought()
        self._error = self._sought.error if isinstance(self._sought, Pattern) else None
        self.settled = self._error is not None

    def sought(self) -> Needle | Pattern:
        """What is looked for; asked once."""
        raise NotImplementedError

    def negated(self) -> bool:
        """Does a run pass if it is nowhere?"""
        raise NotImplementedError

    def words(self, *, found: bool) -> str:
        """The evidence."""
        raise NotImplementedError

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def warnings(self) -> list[tuple[str, str]]:
        return [] if self._error is None else [("pattern", f"the check will fail every run: {self._error}")]

    def update(self, seen: Seen) -> None:
        if self.settled or not seen.is_assistant:
            return
        self.spoken = True
        hit = look(self._sought, seen.text, seen.lower if isinstance(self._sought, Needle) else "")
        if hit is not None and (hit.firm or not seen.partial):
            self.hit = [seen.event.id, seen.event.seq, excerpt(seen.text, hit.start, hit.end)]
            self.settled = True
        elif seen.truncated:
            self.cut = True

    def finding(self, run: RunFacts) -> Finding:
        negated = self.negated()
        if self._error is not None:
            assert isinstance(self._sought, Pattern)
            text = f"invalid pattern {shown(self._sought.source)}: {self._error}"
            return Finding(Outcome.FAIL, Reason.INVALID_PATTERN, text, sound=True)
        if self.hit is not None:
            outcome = Outcome.FAIL if negated else Outcome.PASS
            event_id, seq, around = self.hit
            point = Point(event_id, seq, "content", around)
            return Finding(outcome, Reason.FOUND, self.words(found=True), (point,), sound=True)
        if negated and not self.spoken:
            return Finding(Outcome.FAIL, Reason.NO_MESSAGES, "no assistant messages in transcript to check")
        outcome = Outcome.PASS if negated else Outcome.FAIL
        return Finding(outcome, Reason.NOT_FOUND, self.words(found=False), cut=self.cut)


@dataclass
class TranscriptText(Transcript):
    """Looks for ``substring``."""

    substring: str
    case_sensitive: bool = False

    def sought(self) -> Needle | Pattern:
        return Needle(self.substring, self.case_sensitive)

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.substring else [("substring", "an empty text is in every message; write what to look for")]

    def words(self, *, found: bool) -> str:
        return f"'{self.substring}' {'found' if found else 'NOT found'} in transcript"


@dataclass
class TranscriptPattern(Transcript):
    """Looks for ``pattern``; flags may stand in front of it, as in ``(?i)done``."""

    pattern: str

    def sought(self) -> Needle | Pattern:
        return Pattern(self.pattern)

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.pattern else [("pattern", "an empty pattern matches every message; write what to look for")]

    def words(self, *, found: bool) -> str:
        return f"Transcript {'matches' if found else 'does not match'} pattern /{self.pattern}/"
