"""A finding as the record that is published: what it may quote, its id, and what it says of its run."""

from typing import Any, NamedTuple

from .entries import EVIDENCE, Decided, Entry, Gone
from .matching.redaction import masked
from .suites import Check, Suite
from .verdicts import GRADED, Decider, Finding, Point, State, Verdict, identify
from .weighing import Standpoint


class Stage(NamedTuple):
    """Which of a check's verdicts on a run or turn it is, its score, and the event that decided it."""

    state: State
    revision: int
    score: float | None
    decided: Decided | None


def verdict_of(
    suite: Suite, version: str, entry: Entry, finding: Finding, at: Standpoint, flags: tuple[str, ...], stage: Stage
) -> Verdict:
    """The verdict of a check of this suite; ``version`` is the one that the run is pinned to."""
    check = entry.check
    about = suite.abouts.get(check.name) or check.about.over(suite.about)  # A check may be gone from its suite.
    evidence, points = _shown(suite, finding)
    decided, trace = stage.decided, at.identity.trace
    judge = judge_of(entry)
    return Verdict(
        id=identify(
            at.segment, suite.name, check.key(entry.turn if check.turn == "each" else check.turn), stage.revision
        ),
        run_id=at.run_id,
        opened_at=at.opened_at,
        turn=None if entry.gathers else entry.turn,
        suite=suite.name,
        suite_version=version,
        check=check.name,
        check_version=check.version,
        grader=entry.grader.was if isinstance(entry.grader, Gone) else check.grader.name,
        severity=check.severity,
        notify=check.notify,
        owner=about.owner,
        runbook=about.runbook,
        links=about.linked(at.run_id, None if trace is None else trace.trace_id),
        state=stage.state,
        revision=stage.revision,
        outcome=finding.outcome,
        reason=finding.reason,
        score=stage.score,
        scale=check.grader.scale,
        evidence=evidence,
        points=points,
        decided_by=None if decided is None else Decider(decided[0], decided[2], decided[1]),
        flags=flags if judge is None else tuple(sorted({*flags, *judge.pop("flags", ())})),
        inclusion_probability=entry.probability,
        judge=judge,
        **at.fields,
    )


def judge_of(entry: Entry) -> dict[str, Any] | None:
    """What a verdict says of the judge that gave it: the request, and how the answer came about."""
    asked = entry.asked
    if asked is None or asked.standing != "answered":
        return None
    answer = asked.read
    told = {"request": asked.request, **answer.judge}
    if answer.code:
        told["code"] = answer.code
    return {**told, "flags": answer.flags} if answer.flags else told


def score_of(finding: Finding, check: Check) -> float | None:
    """The score of a finding; of one without, the end of the scale that its outcome stands for."""
    outcome = finding.outcome
    if outcome not in GRADED:
        return None
    return float(check.grader.scale[outcome is GRADED[0]]) if finding.score is None else finding.score


def _shown(suite: Suite, finding: Finding) -> tuple[str, tuple[Point, ...]]:
    if suite.evidence == "none":
        return "", tuple(Point(p.event_id, p.seq, p.path) for p in finding.points)
    hide = masked if suite.evidence == "excerpts" else str
    evidence = hide(finding.evidence)
    if len(evidence) > EVIDENCE:
        evidence = f"{evidence[:EVIDENCE]}… ({len(evidence)} characters)"
    points = tuple(Point(p.event_id, p.seq, p.path, hide(p.excerpt)) if p.excerpt else p for p in finding.points[:3])
    return evidence, points
