"""Does the final reply hold the values that only the tool could have given?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, RunEnd
from ...grading import Grader, RunFacts, Seen, excerpt
from ...verdicts import Finding, Outcome, Point, Reason


@dataclass
class ToolGrounding(Grader):
    """Pass a run whose final reply holds every ``canary`` value, case ignored (R158 to R169).

    The final reply is the output that the run's end reports, else the last assistant message that has text; a run that
    reports none is read as an empty reply, as the origin does. Empty, null, 0 and false entries are no canaries; without
    any the check is skipped. Tool results do not count.

    >>> from stream_graders.testing import graded, run
    >>> graded(ToolGrounding(["LOT-Q7", "58"]), run().says("The lot is lot-q7.").ends()).evidence
    'tool data missing: 58'
    """

    order_free = True
    assumes = "the reply lacks the values"

    canary: Any = None

    replied: list[Any] | None = field(default=None, init=False)
    """The last assistant message with text: place, event id, seq, values missing, excerpt, partial, truncated."""
    output: list[Any] | None = field(default=None, init=False)
    """The output that the run's end reports, likewise."""
    unheard: list[Any] | None = field(default=None, init=False)
    """The last assistant message whose text was left out or cut to nothing: place, truncated."""

    def __post_init__(self) -> None:
        entries = self.canary if isinstance(self.canary, list | tuple) else [self.canary]
        self._canaries = [str(entry) for entry in entries if entry]
        self.settled = not self._canaries

    def wants(self) -> tuple[type[Event], ...]:
        return (Message, RunEnd)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def warnings(self) -> list[tuple[str, str]]:
        return [] if self._canaries else [("canary", "names no value, so every run is skipped")]

    def update(self, seen: Seen) -> None:
        if not self._canaries:
            return
        event = seen.event
        is_end = type(event) is RunEnd
        if not is_end and not seen.is_assistant:
            return
        # What fills a gap stands before the event behind the gap, in the order of its own numbers.
        place = [seen.position, 0 if seen.late else 1, event.seq or 0]
        if seen.text:
            missing = self._missing(seen.lower)
            told = [place, event.id, event.seq, missing, self._around(seen), seen.partial, seen.truncated]
            if is_end:
                self.output = _later(self.output, told)
            else:
                self.replied = _later(self.replied, told)
        elif not is_end and seen.partial:
            self.unheard = _later(self.unheard, [place, seen.truncated])

    def finding(self, run: RunFacts) -> Finding:
        if not self._canaries:
            return Finding(Outcome.SKIPPED, Reason.NO_CANARY, "no canary defined — cannot score", sound=True)
        if self.output is not None:
            return self._told(self.output, "output", sound=True)
        unheard, replied = self.unheard, self.replied
        if replied is None:
            cut = unheard is not None and unheard[1]
            return self._judged(list(range(len(self._canaries))), (), sound=False, cut=cut)
        position, follows_gap, _ = replied[0]
        if run.last_gap >= position + follows_gap:
            # Said here, for the gap may be closed where order does not matter: here the order of messages does.
            text = f"a later message may be missing; so far: {self._told(replied, 'content', sound=False).evidence}"
            return Finding(Outcome.NOT_GRADED, Reason.INCOMPLETE, text)
        if unheard is not None and unheard[0] > replied[0]:
            return self._told(replied, "content", sound=False, cut=unheard[1])
        return self._told(replied, "content", sound=not run.tail_unknown)

    def _told(self, reply: list[Any], path: str, *, sound: bool, cut: bool = False) -> Finding:
        _, event_id, seq, missing, text, partial, truncated = reply
        points = (Point(event_id, seq, path, text),)
        if missing:
            return self._judged(missing, points, sound=sound and not partial, cut=cut or truncated)
        return self._judged(missing, points, sound=sound, cut=cut)

    def _judged(self, missing: list[int], points: tuple[Point, ...], *, sound: bool, cut: bool) -> Finding:
        if missing:
            text = "tool data missing: " + ", ".join(self._canaries[n] for n in missing)
            return Finding(Outcome.FAIL, Reason.UNGROUNDED, text, points, sound=sound, cut=cut)
        return Finding(Outcome.PASS, Reason.GROUNDED, "tool data present (canary found)", points, sound=sound, cut=cut)

    def _missing(self, lower: str) -> list[int]:
        return [n for n, canary in enumerate(self._canaries) if canary.lower() not in lower]

    def _around(self, seen: Seen) -> str:
        found = [at for canary in self._canaries if (at := seen.lower.find(canary.lower())) >= 0]
        start = min(found, default=0)
        return excerpt(seen.text, start, start)


def _later(one: list[Any] | None, other: list[Any]) -> list[Any]:
    """Of two messages that one which stands later in the run."""
    return other if one is None or other[0] >= one[0] else one
