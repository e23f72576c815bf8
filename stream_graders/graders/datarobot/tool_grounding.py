"""Does the final reply hold the values that only the tool could have given?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message
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
    """The last assistant message with text: position, event id, seq, values missing, excerpt, truncated."""

    def __post_init__(self) -> None:
        entries = self.canary if isinstance(self.canary, list | tuple) else [self.canary]
        self._canaries = [str(entry) for entry in entries if entry]
        self.settled = not self._canaries

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def warnings(self) -> list[tuple[str, str]]:
        return [] if self._canaries else [("canary", "names no value, so every run is skipped")]

    def update(self, seen: Seen) -> None:
        if not seen.is_assistant or not seen.text:
            return
        if self.replied is not None and self.replied[0] >= seen.position and seen.late:
            return  # A late message from before the last one is not the reply.
        missing = self._missing(seen.lower)
        self.replied = [seen.position, seen.event.id, seen.event.seq, missing, self._around(seen), seen.truncated]

    def finding(self, run: RunFacts) -> Finding:
        if not self._canaries:
            return Finding(Outcome.SKIPPED, Reason.NO_CANARY, "no canary defined — cannot score", sound=True)
        if run.output is not None:
            return self._told(self._missing(run.output.lower()), (), sound=True, cut=run.truncated_output)
        if self.replied is None:
            return self._told(list(range(len(self._canaries))), (), sound=False, cut=False)
        position, event_id, seq, missing, text, cut = self.replied
        sound = not run.tail_unknown and run.last_gap <= position
        return self._told(missing, (Point(event_id, seq, "content", text),), sound=sound, cut=cut)

    def _told(self, missing: list[int], points: tuple[Point, ...], *, sound: bool, cut: bool) -> Finding:
        if missing:
            text = "tool data missing: " + ", ".join(self._canaries[n] for n in missing)
            return Finding(Outcome.FAIL, Reason.UNGROUNDED, text, points, sound=sound and not cut, cut=cut)
        return Finding(Outcome.PASS, Reason.GROUNDED, "tool data present (canary found)", points, sound=sound)

    def _missing(self, lower: str) -> list[int]:
        return [n for n, canary in enumerate(self._canaries) if canary.lower() not in lower]

    def _around(self, seen: Seen) -> str:
        found = [at for canary in self._canaries if (at := seen.lower.find(canary.lower())) >= 0]
        start = min(found, default=0)
        return excerpt(seen.text, start, start)
