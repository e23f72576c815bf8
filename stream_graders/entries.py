"""A check on one run: its grader, what decided it, and what was said of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .answers import Asked
from .events import Event, RunEnd, RunStart, part_of_json, stamp
from .folding import Turns
from .grading import Grader, RunFacts, Seen
from .matching.tools import fits
from .suites import Check, Suite
from .verdicts import Finding, Outcome, Reason

EVIDENCE = 1_000
"""Characters of evidence in a verdict; the rest is cut and counted."""

Decided = tuple[str, int | None, str, int]
"""The event that decided: id, seq, time, journal offset."""


class Entry:
    """A check on this run."""

    __slots__ = (
        "asked",
        "astray",
        "bare",
        "called",
        "check",
        "decided",
        "gave_up",
        "grader",
        "in_turn",
        "is_narrow",
        "kept",
        "over",
        "probability",
        "published",
        "raised",
        "revision",
        "said",
        "settled",
        "turn",
        "turns",
        "unfit",
        "violation",
    )  # fmt: skip

    def __init__(self, check: Check, bare: Grader) -> None:
        self.check = check
        self.bare = bare
        """The check's grader with this run's references, which has seen nothing."""
        self.turns = Turns() if check.folds else None
        """What became of the turns before the present one, for a check that looks at each."""
        self.turn = 0 if isinstance(check.turn, str) else check.turn
        """The turn that it looks at now."""
        self.is_narrow = check.turn is not None or check.is_partial
        """Is it about some of the run's events only: those of a turn, or of some of its agents?"""
        self.unfit: list[str] | None = None
        """Why the references that the run brought cannot be used: reason and evidence."""
        self.violation = "none"
        """Whether somebody was told of a failure: none, told, resolved, or kept for good."""
        self.kept: Any = None
        """The state as JSON, encoded when it was last asked for; None once something changed since then (`Gradebook` says so)."""
        self.asked: Asked | None = None
        """What its grader asked a judge; None before."""
        self.probability = 1.0
        """How likely it was that a judge would be asked about such a run."""
        self.begin()

    def begin(self) -> None:
        """Look at the run, or at a turn, from its beginning."""
        self.grader = self.bare.fresh()
        self.settled = self.grader.settled
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
        """Of the last final or amended verdict: outcome, reason, id of the evidence, score, and whether it was sent."""

    def begin_turn(self, turn: int) -> None:
        """Look at the next turn. What was said of the last one stands, where each has a verdict of its own."""
        said = (self.revision, self.published)
        self.begin()
        self.turn, self.in_turn = turn, 1
        if self.check.turn != "each":
            self.revision, self.published = said
        elif self.violation != "none":
            self.violation = "kept"

    @property
    def is_out(self) -> bool:
        """Does it wait for a judge?"""
        return self.asked is not None and self.asked.standing == "out"

    @property
    def gathers(self) -> bool:
        """Does it have one verdict on all turns?"""
        return self.check.turn in ("any", "all")

    def concerns(self, event: Event, own: str | None) -> bool:
        """Is an event one of the agents that the check is about? ``own`` is the run's; what names none is its."""
        check, kind = self.check, type(event)
        if kind is RunStart or kind is RunEnd:
            return True
        name = own if event.agent is None else event.agent.name
        if check.depth == "own" and name != own:
            return False
        return check.agent is None or (name is not None and fits(name, check.agent))

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

    def snapshot(self) -> Any:
        """The state as JSON, encoded anew only if it changed: of a run's checks an event changes a few."""
        if self.kept is None:
            self.kept = part_of_json(self._told())
        return self.kept

    def _told(self) -> list[Any]:
        kept = None if isinstance(self.grader, Gone) else self.grader.snapshot()
        if self._is_plain():
            told: list[Any] = [self.check.name, self.check.version, kept]
            return [*told, True, -1, self.decided] if self.settled else told
        told = [
            self.check.name, self.check.version, kept, self.settled, self.revision, self.decided, self.published,
            self.called, self.said, self.violation, self.raised, self.gave_up, self.in_turn, self.astray, self.over,
            self.turn, 0 if self.turns is None else self.turns.snapshot(), self.unfit,
            None if self.asked is None else self.asked.snapshot(), self.probability,
        ]  # fmt: skip
        # Of most checks little but their grader's state is to be told, so the rest is left off where it is untouched.
        count = len(told)
        while count > 3 and told[count - 1] == _UNTOUCHED[count - 1]:
            count -= 1
        return told[:count]

    def _is_plain(self) -> bool:
        """Was nothing said of it yet, and is there nothing to tell but what its grader remembers and what decided it?"""
        return (
            self.published is None and self.turn is None and self.said is False and not self.called
            and (self.settled if self.decided else not self.settled) and self.revision < 0 and self.violation == "none"
            and self.raised is None and self.unfit is None and not self.gave_up and not self.astray
            and self.asked is None
        )  # fmt: skip

    def restore(self, values: Sequence[Any]) -> None:
        """Take over a state that `snapshot` gave."""
        if not isinstance(self.grader, Gone):
            self.grader.restore(values[2])
        (_, _, _, self.settled, self.revision, decided, self.published, self.called, self.said, self.violation,
         self.raised, self.gave_up, self.in_turn, self.astray, self.over, self.turn, turns,
         self.unfit, asked, self.probability) = [*values, *_UNTOUCHED[len(values) :]]  # fmt: skip
        self.decided = None if decided is None else (decided[0], decided[1], decided[2], decided[3])
        if self.published is not None:
            self.published[:2] = Outcome(self.published[0]), Reason(self.published[1])
        self.turns = Turns.resume(turns) if turns else None
        self.asked = None if asked is None else Asked(*asked)


_UNTOUCHED: list[Any] = [
    None, None, None, False, -1, None, None, False, False, "none", None, False, 0, False, False, None, 0, None,
    None, 1.0,
]  # fmt: skip
"""A snapshot of a check on the whole run that nothing was said of; a grader that is settled from the beginning says so."""


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
