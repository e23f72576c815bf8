"""The two transcript graders differ in which answer passes; all else is here."""

from dataclasses import dataclass, field

from ...events import Event, Message
from ...grading import Grader, RunFacts, Seen, excerpt
from ...matching.text import Needle
from ...verdicts import Finding, Outcome, Point, Reason


@dataclass
class Transcript(Grader):
    """Looks for a text in every assistant message (R24 to R36)."""

    order_free = True

    substring: str
    case_sensitive: bool = False

    spoken: bool = field(default=False, init=False)
    cut: bool = field(default=False, init=False)
    hit: list[object] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._needle = Needle(self.substring, self.case_sensitive)

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.substring else [("substring", "an empty text is in every message; write what to look for")]

    def update(self, seen: Seen) -> None:
        if self.settled or not seen.is_assistant:
            return
        self.spoken = True
        if self._needle.within(seen.text, seen.lower):
            start, end = self._needle.place(seen.text)
            self.hit = [seen.event.id, seen.event.seq, excerpt(seen.text, start, end)]
            self.settled = True
        elif seen.truncated:
            self.cut = True

    def told(self, *, negated: bool) -> Finding:
        """The finding of the plain or of the negated grader."""
        if self.hit is not None:
            outcome = Outcome.FAIL if negated else Outcome.PASS
            event_id, seq, text = self.hit
            point = Point(str(event_id), seq if isinstance(seq, int) else None, "content", str(text))
            return Finding(outcome, Reason.FOUND, f"'{self.substring}' found in transcript", (point,), sound=True)
        if negated and not self.spoken:
            return Finding(Outcome.FAIL, Reason.NO_MESSAGES, "no assistant messages in transcript to check")
        outcome = Outcome.PASS if negated else Outcome.FAIL
        return Finding(outcome, Reason.NOT_FOUND, f"'{self.substring}' NOT found in transcript", cut=self.cut)

    def finding(self, run: RunFacts) -> Finding:
        raise NotImplementedError
