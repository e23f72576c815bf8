"""What ai_eval's judges share: one dimension each, a guide how to score it, and criteria that the question may bring."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...questions import JudgeGrader, listed
from ._flags import JUDGE


@dataclass
class Judge(JudgeGrader):
    """Asks a judge model about one dimension of the final reply, on a scale from 0 to 5 (R67, R81, R85)."""

    version = 2
    metadata = JUDGE
    scale = (0, 5)
    pass_at = 3.5
    references: ClassVar[dict[str, str]] = {"criteria": "criteria"}

    dimension: ClassVar[str]
    meaning: ClassVar[str]
    """What the dimension is, in one sentence."""
    guide: ClassVar[str]
    """How it is scored."""

    criteria: Any = None

    def asked(self) -> dict[str, str]:
        told = listed(self.criteria)
        facts = self.facts()
        return {
            "dimension": f"{self.dimension}: {self.meaning}",
            "guide": self.guide,
            "criteria": "\n\n".join(part for part in (facts, told) if part),
        }

    def facts(self) -> str:
        """What is known to be true and stands before the criteria; by default nothing."""
        return ""


def ground_truth(expected_facts: Any) -> str:
    """Facts that are known, as a block of the criteria (R89); none are no block."""
    if not expected_facts:
        return ""
    facts = expected_facts if isinstance(expected_facts, str | list | tuple) else [expected_facts]
    told = listed([facts] if isinstance(facts, str) else facts)
    return f"GROUND TRUTH (verified; where the response differs from it, the response is wrong)\n{told}"
