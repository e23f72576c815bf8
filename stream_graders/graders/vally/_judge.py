"""What Vally's two graders share that ask models: a rubric, and a score from 0 to 1."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...questions import JudgeGrader, listed
from ...verdicts import Finding, Outcome, Reason
from ._taxonomy import TAXONOMY

JUDGED = {**TAXONOMY, "determinism": "non-deterministic", "cost": "high", "score_kind": "llm"}


@dataclass
class Prompted(JudgeGrader):
    """Has models score the final reply by ``rubric``, from 0 to 1; 0.5 passes. Without a rubric the check is skipped."""

    metadata = JUDGED
    pass_at = 0.5
    references: ClassVar[dict[str, str]] = {"rubric": "criteria"}

    rubric: Any = None

    def unfit(self) -> Finding | None:
        if self.rubric:
            return None
        return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, "no rubric; skipping", sound=True)

    def warnings(self) -> list[tuple[str, str]]:
        text = "says nothing to judge by, so a run that brings no criteria of its own is skipped"
        return [] if self.rubric else [("rubric", text)]

    def asked(self) -> dict[str, str]:
        return {
            "dimension": "rubric: how far the response meets the criteria",
            "guide": "1: it meets all of them. 0.5: about half. 0: none.",
            "criteria": listed(self.rubric),
        }
