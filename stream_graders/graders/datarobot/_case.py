"""What the benchmarks share: a case may name nothing to score by, and its fields may hold anything."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...grading import RunFacts
from ...replies import ReplyGrader
from ...verdicts import Finding, Outcome, Reason

NAMED = 100
"""How many entries of a list of the case are remembered by their places; the rest are counted."""


@dataclass
class Case(ReplyGrader):
    """Scores the final reply by fields of a case. One that names nothing to score by is skipped, never failed (R162).

    A run that reports no reply is read as an empty one, as the origin does.
    """

    lazy = True

    wanting: ClassVar[Reason] = Reason.NO_REFERENCE
    """Why a case is skipped."""
    key: ClassVar[str]
    """The field without which it is."""

    def __post_init__(self) -> None:
        self._wants = self.unfit()
        self.settled = self._wants is not None

    def unfit(self) -> str | None:
        """Why the case cannot be scored, in the origin's words; reads the case's fields, whatever they hold."""
        raise NotImplementedError

    def warnings(self) -> list[tuple[str, str]]:
        return [] if self._wants is None else [(self.key, f"every run is skipped: {self._wants}")]

    def scored(self, score: float, good: Reason, bad: Reason, evidence: str) -> Finding:
        """A finding with this score: a pass from ``pass_at`` on."""
        passed = score >= (self.scale[1] if self.pass_at is None else self.pass_at)
        outcome = Outcome.PASS if passed else Outcome.FAIL
        return Finding(outcome, good if passed else bad, evidence, score=score)

    def finding(self, run: RunFacts) -> Finding:
        if self._wants is not None:
            return Finding(Outcome.SKIPPED, self.wanting, self._wants, sound=True)
        return super().finding(run)


def entries(value: Any) -> list[str]:
    """The texts that a field lists; a single value is a list of one, and blank ones are none."""
    values = value if isinstance(value, list | tuple) else [value]
    return [text for entry in values if entry is not None and (text := str(entry)).strip()]


def named(places: list[int]) -> list[Any]:
    """Places in a list, to be remembered: the first of them, and how many there are."""
    return [places[:NAMED], len(places)]


def joined(texts: list[str], places: list[Any], mark: str = ", ") -> str:
    """The texts at remembered places, the rest counted."""
    first, count = places
    more = [f"… ({count - len(first)} more)"] if count > len(first) else []
    return mark.join([*(texts[n] for n in first), *more])
