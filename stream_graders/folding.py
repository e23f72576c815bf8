"""How several outcomes become one: those of a run's turns, and those of other checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .events import Event
from .grading import Grader, RunFacts
from .verdicts import Finding, Outcome, Point, Reason

Fold = Literal["all", "any", "not"]

_DECISIVE = {
    "all": (Outcome.FAIL, Outcome.ERROR, Outcome.NOT_GRADED, Outcome.PASS, Outcome.SKIPPED),
    "any": (Outcome.PASS, Outcome.ERROR, Outcome.NOT_GRADED, Outcome.FAIL, Outcome.SKIPPED),
}
"""Which outcome of several is that of them together: the first of these that is among them."""

TOLD = 200
"""Characters of the evidence of an ended turn that are remembered."""


def decisive(how: str, outcomes: Sequence[Outcome]) -> int:
    """The place of the first outcome that decides for all of them.

    What is unknown decides before what is known, unless that is enough by itself: one failure for ``all``, one pass for
    ``any``. Skipped ones decide only where there is nothing else.

    >>> decisive("all", [Outcome.PASS, Outcome.NOT_GRADED, Outcome.PASS])
    1
    """
    return next(outcomes.index(outcome) for outcome in _DECISIVE[how] if outcome in outcomes)


class Turns:
    """What became of the turns of a run that are over, for a check that looks at every turn.

    However many they are, the first of each outcome is all that decides what they come to, and where events are missing the
    first that none of them could change.
    """

    __slots__ = ("certain", "decided", "firsts", "lowest")

    def __init__(self) -> None:
        self.firsts: dict[str, list[Any]] = {}
        """Of each outcome the first turn that had it: turn, reason, evidence, points, sound."""
        self.certain: dict[str, list[Any]] = {}
        """Likewise the first that had it for certain, where that is another one."""
        self.lowest: float | None = None
        """The lowest score of a turn that was scored."""
        self.decided = False
        """A turn decided for all of them: no later one can change that."""

    def note(self, turn: int, found: Finding, score: float | None) -> None:
        """Remember the outcome of a turn that is over."""
        first = self.firsts.get(found.outcome)
        if first is None or (found.sound and not first[4] and found.outcome not in self.certain):
            points = [[p.event_id, p.seq, p.path, p.excerpt] for p in found.points]
            told = [turn, found.reason, found.evidence[:TOLD], points, found.sound]
            (self.firsts if first is None else self.certain)[found.outcome] = told
        if score is not None:
            self.lowest = score if self.lowest is None else min(self.lowest, score)

    def folded(self, how: str, turn: int, found: Finding, score: float | None) -> tuple[Finding, float | None]:
        """What all turns together come to, with ``found`` of the one that is not noted yet, and the lowest score.

        Once it is decided no later turn is read, so what is found of one says nothing.
        """
        scores = [value for value in (self.lowest, None if self.decided else score) if value is not None]
        outcomes = [*(Outcome(name) for name in self.firsts), *([] if self.decided else [found.outcome])]
        place = decisive(how, outcomes)
        lowest = min(scores, default=None)
        if place == len(self.firsts):
            return _of_turn(turn, found), lowest
        return _finding(outcomes[place], self.firsts[outcomes[place]]), lowest

    def for_certain(self, outcome: Outcome, turn: int, found: Finding) -> Finding | None:
        """Of the turns that had an outcome the first that no missing event could change; None if there is none."""
        if (told := self.certain.get(outcome)) is not None:
            return _finding(outcome, told)
        is_present = found.outcome is outcome and found.sound and not self.decided
        return _of_turn(turn, found) if is_present else None

    def snapshot(self) -> list[Any]:
        """The state as JSON values."""
        return [self.firsts, self.lowest, self.decided, self.certain]

    @classmethod
    def resume(cls, values: Sequence[Any]) -> "Turns":
        """The turns that gave this snapshot."""
        turns = cls()
        turns.firsts, turns.lowest, turns.decided, turns.certain = values
        return turns


def _of_turn(turn: int, found: Finding) -> Finding:
    evidence = f"turn {turn}: {found.evidence}"
    return Finding(found.outcome, found.reason, evidence, found.points, found.sound, found.cut)


def _finding(outcome: Outcome, told: Sequence[Any]) -> Finding:
    turn, reason, evidence, points, sound = told
    return Finding(outcome, Reason(reason), f"turn {turn}: {evidence}", tuple(Point(*point) for point in points), sound)


@dataclass
class Combination(Grader):
    """A check made of other checks' outcomes: ``all`` of them, ``any`` of them, or the opposite of one (``not``)."""

    how: Fold
    checks: tuple[str, ...]

    def wants(self) -> tuple[type[Event], ...]:
        return ()

    def combined(self, outcomes: Sequence[tuple[Outcome, Reason]]) -> Finding:
        """The outcome that follows from those of `checks`, in their order."""
        place = decisive("all" if self.how == "not" else self.how, [outcome for outcome, _ in outcomes])
        outcome, reason = outcomes[place]
        if self.how == "not":
            outcome = _OPPOSITE.get(outcome, outcome)
        told = ", ".join(f"{check} {of} ({why})" for check, (of, why) in zip(self.checks, outcomes, strict=True))
        if outcome in (Outcome.PASS, Outcome.FAIL):
            reason = Reason.COMBINED
        return Finding(outcome, reason, f"{self.how} of: {told}", sound=True)

    def finding(self, run: RunFacts) -> Finding:
        raise NotImplementedError("what it finds follows from other checks: ask `combined`")


_OPPOSITE = {Outcome.PASS: Outcome.FAIL, Outcome.FAIL: Outcome.PASS}
Combination.name = "combination"
