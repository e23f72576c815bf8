"""P7: the mark is what a display makes of the outcome; no evidence holds one (R23)."""

import io
import re
from collections.abc import Sequence
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_graders.cli.report import Report, write_junit
from stream_graders.cli.tail import _line
from stream_graders.events import Event
from stream_graders.session import Reading
from stream_graders.suites import Check
from stream_graders.testing import fed, run, run_verdicts_of, session_of, suite_of, verdicts_of
from stream_graders.verdicts import Outcome, Verdict
from tests.core.runs import runs
from tests.core.stories import GRADERS, STORIES

MARK = re.compile("[\u2610-\u2612\u2705\u2713-\u2718\u274c\u274e\u2b55\U0001f5f8\U0001f7e2\U0001f534]")
"""Ticks, crosses, and what people draw in their place."""
SUITE = suite_of(*(Check(name, grader, "critical", early="always") for name, grader in GRADERS.items()))
EVIDENCE = st.text(max_size=40) | st.sampled_from(["\u2713 found", "\u2717", "fail", "pass: all is well", "<failure/>"])
TAGS = {
    Outcome.PASS: None, Outcome.FAIL: "failure", Outcome.ERROR: "error", Outcome.SKIPPED: "skipped", Outcome.NOT_GRADED: "skipped",
}  # fmt: skip


def unmarked(events: Sequence[Event]) -> None:
    for told in (events[: len(events) // 2 or 1], events):  # A run that goes on, and a whole one.
        session = session_of(SUITE, events[0].run_id)
        effects = fed(session, told)
        said: list[Reading | Verdict] = [*session.readings()]
        said += verdicts_of([*effects, *session.finish()])
        assert [(one.check, one.evidence) for one in said if MARK.search(one.evidence)] == []


@settings(max_examples=60, deadline=None)
@given(runs())
def test_no_evidence_of_a_random_run_holds_a_mark(events: list[Event]) -> None:
    unmarked(events)


@pytest.mark.parametrize("events", STORIES.values(), ids=list(STORIES))
def test_no_evidence_of_a_story_holds_a_mark(events: Sequence[Event]) -> None:
    unmarked(list(events))


SESSION = session_of(suite_of(Check("c", GRADERS["contains"], "critical")))
EFFECTS = [*fed(SESSION, run().starts().says("x").ends()), *SESSION.finish()]
VERDICT, RUN = verdicts_of(EFFECTS)[-1], run_verdicts_of(EFFECTS)[-1]


@given(st.sampled_from(Outcome), EVIDENCE)
def test_what_is_shown_follows_from_the_outcome_whatever_the_evidence_says(outcome: Outcome, evidence: str) -> None:
    verdict = msgspec.structs.replace(VERDICT, outcome=outcome, evidence=evidence)
    line = _line(msgspec.to_builtins(verdict))
    assert line.split(" ", 1)[0] == outcome
    assert line.endswith(f": {evidence}")
    report = Report()
    report.add(verdict)
    report.add(msgspec.structs.replace(RUN, checks=[msgspec.structs.replace(RUN.checks[0], outcome=outcome)]))
    out = io.StringIO()
    write_junit(report, out)
    (case,) = ElementTree.fromstring(out.getvalue()).iter("testcase")
    assert [child.tag for child in case] == ([TAGS[outcome]] if TAGS[outcome] else [])
