"""A check on one run: its grader, what decided it, and what was said of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .events import Event, RunEnd, stamp
from .grading import Grader, RunFacts, Seen
from .suites import Check, Suite
from .verdicts import Finding, Outcome, Reason

EVIDENCE = 1_000
"""Characters of evidence in a verdict; the rest is cut and counted."""

Decided = tuple[str, int | None, str, int]
"""The event that decided: id, seq, time, journal offset."""


class Entry:
    """A check on this run."""

    __slots__ = (
        "astray",
        "called",
        "check",
        "decided",
        "gave_up",
        "grader",
        "in_turn",
        "over",
        "published",
        "raised",
        "revision",
        "said",
        "settled",
        "turn",
        "violation",
    )  # fmt: skip

    def __init__(self, check: Check, grader: Grader) -> None:
        self.check = check
        self.grader = grader
        self.turn = check.turn
        self.settled = grader.settled
        self.decided: Decided | None = None
        self.raised: str | None = None
        self.gave_up = False
        self.called = False
        self.said: bool | str = False
        """Which clauses of ``when`` that wait for an event came true; "cut" if the missing part of a text may have."""
        self.in_turn = 0
        """Events of the check's turn that were seen."""
        self.astray = False
        """An event that it was shown may belong elsewhere: into another turn, or behind another producer's events."""
        self.over = False
        """The check's turn ended."""
        self.revision = -1
        """Of the last verdict that was made: 0 early, 1 final, 2 and on amended; -1 none."""
        self.published: list[Any] | None = None
        """Outcome, reason, id of the evidence, and whether it was sent, of the last final or amended verdict."""
        self.violation = "none"
        """Whether somebody was told of a failure: none, told, resolved."""

    def belongs(self, seen: Seen) -> bool:
        """Does an event belong to the turn that the check is about?"""
        # The run's end reports the reply of the run, not that of a turn.
        if self.over or seen.turn != self.turn or type(seen.event) is RunEnd:
            return False
        self.astray = self.astray or (seen.gap and seen.event.turn is None)
        return True

    def size(self) -> int:
        """Bytes that its grader remembers, about; a grader that fails to say gives up."""
        try:
            return self.grader.size()
        except Exception as error:  # noqa: BLE001  (one grader's bug is one check's error; its neighbours go on)
            self.raised, self.settled, self.gave_up = fault(error), True, True
            return 0

    def snapshot(self) -> list[Any]:
        """The state as JSON values."""
        kept = None if isinstance(self.grader, Gone) else self.grader.snapshot()
        return [
            self.check.name, self.check.version, kept, self.settled, self.decided, self.raised,
            self.gave_up, self.called, self.said, self.in_turn, self.astray, self.over, self.revision, self.published,
            self.violation,
        ]  # fmt: skip

    def restore(self, values: Sequence[Any]) -> None:
        """Take over a state that `snapshot` gave."""
        if not isinstance(self.grader, Gone):
            self.grader.restore(values[2])
        decided = values[4]
        self.decided = None if decided is None else (decided[0], decided[1], decided[2], decided[3])
        (self.settled, _, self.raised, self.gave_up, self.called, self.said, self.in_turn, self.astray, self.over,
         self.revision, self.published, self.violation) = values[3:]  # fmt: skip


@dataclass
class Gone(Grader):
    """Stands in for a check whose definition this worker does not have any more (design 5.6)."""

    was: str = ""
    """The name of its grader."""

    def wants(self) -> tuple[type[Event], ...]:
        return ()

    def finding(self, run: RunFacts) -> Finding:
        text = "the check was edited or removed while this run was open; the next runs are graded by the new one"
        return Finding(Outcome.NOT_GRADED, Reason.SUITE_CHANGED, text, sound=True)


def decided_by(event: Event, offset: int) -> Decided:
    """An event as the one that decided."""
    return (event.id, event.seq, stamp(event.ts), offset)


def gone(suite: Suite, value: Sequence[Any], kind: Any) -> Entry:
    """The entry of a check that the loaded suite does not have; ``kind`` is its grader and severity, where kept."""
    name, version = value[0], value[1]
    edited = next((check for check in suite.checks if check.name == name), None)
    grader, severity = kind or ((edited.grader.name, edited.severity) if edited else ("", "critical"))
    entry = Entry(Check(name, Gone(was=grader), severity), Gone(was=grader))
    entry.check.__dict__["version"] = version
    entry.restore(value)
    entry.settled = True
    return entry


def fault(error: Exception) -> str:
    """What a grader raised, at a length that state can bear."""
    return f"{type(error).__name__}: {error}"[:EVIDENCE]
