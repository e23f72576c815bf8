"""What ai_eval's deterministic graders share: a score from 0 to 5, and evidence that quotes nothing of the run."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...replies import ReplyGrader
from ...verdicts import Finding, Outcome, Reason

TOLD = 20
"""Entries that evidence lists; the rest are counted."""
LENGTH = 100
"""Characters of each of them."""


@dataclass
class ScoredReply(ReplyGrader):
    """Scores the final reply from 0 to 5. A run that reports none is read as an empty one, as the origin does.

    A reply may repeat what a tool was given or returned, so none is quoted (R140, R146).
    """

    lazy = True

    quotes = False
    scale = (0, 5)
    pass_at = 3.5

    def scored(self, score: float, good: Reason, bad: Reason, evidence: str) -> Finding:
        """A finding with this score: a pass from ``pass_at`` on."""
        assert self.pass_at is not None
        is_pass = score >= self.pass_at
        return Finding(Outcome.PASS if is_pass else Outcome.FAIL, good if is_pass else bad, evidence, score=score)


def short(text: str) -> str:
    """A configured text, as evidence tells it."""
    return text if len(text) <= LENGTH else text[: LENGTH - 1] + "…"


def listed(texts: list[str], mark: str) -> str:
    """Texts for a sentence, the tail counted."""
    return mark.join(_listed(texts))


def _listed(texts: list[str]) -> Iterator[str]:
    yield from texts[:TOLD]
    if len(texts) > TOLD:
        yield f"… ({len(texts) - TOLD} more)"


def entries(value: Any) -> list[Any]:
    """What a field lists: a single value is a list of one, null is none."""
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
