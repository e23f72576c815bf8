"""What the tests of graders share: a run, the outcome and evidence expected, and the event that decides."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from stream_graders.events import Event
from stream_graders.grading import Grader
from stream_graders.suites import Check
from stream_graders.testing import fed, graded, session_of, suite_of, verdicts_of
from stream_graders.verdicts import Verdict


class Case(NamedTuple):
    """A run and what its verdict says."""

    story: Iterable[Event]
    outcome: str
    evidence: str


def holds(grader: Grader, case: Case) -> None:
    """Grade the run as a finished one and compare. The grader is made anew, so that its making is held too."""
    verdict = graded(replace(grader), case.story)
    assert (verdict.outcome, verdict.evidence) == (case.outcome, case.evidence)
    assert verdict.score == {"pass": 1.0, "fail": 0.0}.get(case.outcome)


def early(grader: Grader, story: Iterable[Event]) -> Verdict | None:
    """The verdict that is said before the end of the run, if the check may say a pass early too."""
    check = Check("check", grader, "critical", early="always")
    told = [verdict for verdict in verdicts_of(fed(session_of(suite_of(check)), story)) if verdict.state == "early"]
    assert len(told) <= 1
    return told[0] if told else None


def deciding(grader: Grader, story: Iterable[Event]) -> int | None:
    """The number of the event that decided before the end of the run."""
    verdict = early(grader, story)
    return None if verdict is None or verdict.decided_by is None else verdict.decided_by.seq
