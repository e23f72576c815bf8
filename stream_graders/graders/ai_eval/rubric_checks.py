"""Does the final reply meet the checks of a rubric?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...events import SCHEMA, Message
from ...grading import RunFacts, Seen
from ...verdicts import Finding, Outcome, Reason
from ._flags import DETERMINISTIC
from ._reply import ScoredReply, listed
from ._rubric import Rubric, faults

_EMPTY = Seen(Message(schema=SCHEMA, id="-", run_id="-", ts=0, role="assistant", content=""), 0, 0)


@dataclass
class RubricChecks(ScoredReply):
    """Score the final reply by the ``checks`` of a ``rubric``, combined and times 5 (R108 to R111).

    Kinds that are executed: ``must_contain_any`` and ``must_not_contain`` with ``values``, case ignored unless
    ``case_sensitive``; ``regex`` with a ``pattern``, searched for; ``json_schema`` with a ``schema``; ``target_match``
    with a ``target`` and a ``mode``, ``exact``, ``normalized`` (the default) or ``chrf`` from a ``threshold`` on. The
    others of the portable form are left out and named; a rubric with none that is executed is skipped.

    ``scoring.combine`` is ``all_pass`` (the default), ``any_pass``, ``weighted_avg`` by the ``weight`` of each check,
    ``min``, ``max`` or ``median``; a check counts 1 or 0. A run that names another rubric, or a suite that has none, is
    skipped. In a suite file ``rubric`` may be the name of a file in ``rubrics/``.

    >>> from stream_graders.testing import graded, run
    >>> no = {"id": "promise", "kind": "must_not_contain", "values": ["guarantee"]}
    >>> grader = RubricChecks({"checks": [no, {"id": "days", "kind": "regex", "pattern": "[0-9]+ days"}]})
    >>> verdict = graded(grader, run().says("In 3 days, I guarantee it.").ends())
    >>> verdict.score, verdict.evidence
    (0.0, 'all_pass of 2 checks: promise failed, days passed')
    """

    metadata = DETERMINISTIC
    references: ClassVar[dict[str, str]] = {"rubric_ref": "rubric_ref"}
    assumes = "the reply is about something else"

    rubric: Any = None
    rubric_ref: Any = None

    def __post_init__(self) -> None:
        self._faults = [] if self.rubric is None else list(faults(self.rubric))
        self._rubric = None if self.rubric is None or self._faults else Rubric(self.rubric)
        self._unfit = self._why_not()
        self.settled = self._unfit is not None

    def problems(self) -> list[tuple[str, str]]:
        return [("rubric", told) for told in self._faults]

    def warnings(self) -> list[tuple[str, str]]:
        if self._unfit is None:
            return []
        return [("rubric", f"every run is skipped: {self._unfit}")]

    def finding(self, run: RunFacts) -> Finding:
        if self._unfit is not None:
            return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, self._unfit, sound=True)
        return super().finding(run)

    def read(self, seen: Seen) -> str:
        """Of each executed check a letter: ``y`` it holds, ``n`` it does not."""
        assert self._rubric is not None
        return "".join("y" if check.holds(seen) else "n" for check in self._rubric.checks)

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        rubric = self._rubric
        assert rubric is not None
        letters = self.read(_EMPTY) if judgement is None else judgement
        outcomes = [letter == "y" for letter in letters]
        lines = [f"{c.label} {'passed' if ok else 'failed'}" for c, ok in zip(rubric.checks, outcomes, strict=True)]
        text = f"{rubric.combine} of {len(lines)} checks: {listed(lines, ', ')}"
        if rubric.left_out:
            text += f"; not executed: {listed(rubric.left_out, ', ')}"
        return self.scored(5.0 * rubric.together(outcomes), Reason.RUBRIC_MET, Reason.RUBRIC_UNMET, text)

    def _why_not(self) -> str | None:
        rubric = self._rubric
        if rubric is None:
            return "no rubric; skipping"
        if self.rubric_ref is not None and rubric.id is not None and self.rubric_ref != rubric.id:
            return "another rubric is named; skipping"
        if not rubric.checks:
            return "no executable checks; skipping" + (
                f" (not executed: {listed(rubric.left_out, ', ')})" if rubric.left_out else ""
            )
        return None
