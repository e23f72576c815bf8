"""What the benchmarks share that ask a judge model: a case without what it is judged by is skipped (R162)."""

from dataclasses import dataclass
from typing import ClassVar

from ...questions import JudgeGrader
from ...verdicts import Finding, Outcome, Reason


@dataclass
class Judged(JudgeGrader):
    """Has a judge model score the final reply from 0 to 1; 0.5 passes."""

    pass_at = 0.5
    metadata: ClassVar[dict[str, str]] = {"kind": "llm_judge"}
    key: ClassVar[str | None] = None
    """The field without which a case is skipped."""

    def unfit(self) -> Finding | None:
        if self.key is None or self.given():
            return None
        return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, f"no {self.key} defined — cannot score", sound=True)

    def given(self) -> bool:
        """Does the case hold what it is judged by?"""
        return bool(getattr(self, self.key or ""))

    def warnings(self) -> list[tuple[str, str]]:
        without = self.unfit()
        return [] if without is None else [(self.key or "", f"every run is skipped: {without.evidence}")]
