"""What the demo has heard of its judge."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ..verdicts import Outcome, Reason, Verdict

SUITE = Path(__file__).parent / "judged.yaml"
"""What it is asked."""
NAME = "shop-judged"
"""The suite in that file."""


@dataclass
class Judged:
    """What the judge said, so far."""

    runs: dict[str, Verdict] = field(default_factory=dict)
    """The last verdict by run, if it is final."""

    def hear(self, verdict: Verdict) -> None:
        """Take a verdict of the judged suite. An amendment counts in place of what it amends."""
        known = self.runs.get(verdict.run_id)
        if verdict.state != "early" and (known is None or known.revision < verdict.revision):
            self.runs[verdict.run_id] = verdict

    @property
    def scored(self) -> list[Verdict]:
        """Those that have a score, the newest last."""
        return [verdict for verdict in list(self.runs.values()) if verdict.score is not None]

    def counts(self) -> Counter[str]:
        """How many runs have a score, and why the others have none."""
        told: Counter[str] = Counter()
        for verdict in list(self.runs.values()):
            has_outcome = verdict.outcome in (Outcome.PASS, Outcome.FAIL)
            told["scored" if has_outcome else str(verdict.reason).replace("_", " ")] += 1
        return told

    def line(self) -> str:
        """All of it in a line."""
        counts = self.counts()
        drawn_not = counts.pop(str(Reason.SAMPLED_OUT).replace("_", " "), 0)
        parts = [f"{counts.pop('scored', 0)} scored", f"{drawn_not} not drawn"]
        return ", ".join([*parts, *(f"{count} {why}" for why, count in counts.most_common())])
