"""Checks made of other checks, checks on some agents of a run, and what travels in verdicts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from stream_graders.events import Agent, Event, Expected, Trace
from stream_graders.folding import Combination
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.datarobot.tool_grounding import ToolGrounding
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.grading import Grader, RunFacts, Seen
from stream_graders.session import EXPECTED_BYTES, At, Ledger, Session
from stream_graders.suites import About, Check, Scoring, When
from stream_graders.testing import fed, run, run_verdicts_of, session_of, suite_of, verdicts_of
from stream_graders.trajectory import HELD_MS
from stream_graders.verdicts import Finding, Outcome, Reason, Verdict

CALLED = Check("called", ToolCalled("find"), "info")
SAID = Check("said", TranscriptContains("found"), "info")


def told(checks: Iterable[Check], events: Iterable[Event], **settings: Any) -> dict[str, Verdict]:
    events = list(events)
    session = session_of(suite_of(*checks, **settings), events[0].run_id)
    return {v.check: v for v in verdicts_of([*fed(session, events), *session.finish()]) if v.state != "early"}


def made(how: Any, *parts: str, severity: Any = "critical", **more: Any) -> Check:
    return Check("made", Combination(how, parts), severity, **more)


STORIES = {
    "both": (run().starts().calls("find").says("found").ends(), "pass", "pass", "fail"),
    "one": (run().starts().calls("find").says("no").ends(), "fail", "pass", "fail"),
    "none": (run().starts().says("no").ends(), "fail", "fail", "pass"),
    "one is not known": (run().starts(reports=("tools", "end")).calls("find").ends(), "not_graded", "pass", "fail"),
}


@pytest.mark.parametrize(("story", "of_all", "of_any", "of_not"), STORIES.values(), ids=list(STORIES))
def test_outcomes_follow(story: Iterable[Event], of_all: str, of_any: str, of_not: str) -> None:
    assert told([CALLED, SAID, made("all", "called", "said")], story)["made"].outcome == of_all
    assert told([CALLED, SAID, made("any", "called", "said")], story)["made"].outcome == of_any
    assert told([CALLED, made("not", "called")], story)["made"].outcome == of_not


def test_its_evidence_names_the_others() -> None:
    verdict = told([CALLED, SAID, made("all", "called", "said")], run().starts().says("found").ends())["made"]
    assert verdict.evidence == "all of: called fail (not_called), said pass (found)"
    assert (verdict.reason, verdict.grader, verdict.score) == ("combined", "combination", 0.0)


def test_it_counts_for_the_run_and_its_info_parts_do_not() -> None:
    session = session_of(suite_of(CALLED, SAID, made("any", "called", "said")))
    effects = fed(session, run().starts().says("found").ends())
    (record,) = run_verdicts_of(effects)
    assert (record.outcome, record.score) == ("pass", 1.0)


def test_a_condition_holds_for_it_too() -> None:
    check = made("all", "called", when=When(said="hello"))
    assert told([CALLED, check], run().starts().calls("find").ends())["made"].outcome == "skipped"


def test_it_is_amended_with_its_parts() -> None:
    events = list(run().starts().asks("x").calls("find").ends())
    session = session_of(suite_of(CALLED, made("not", "called")))
    effects = fed(session, [*events[:2], *events[3:]])
    effects += session.advance(10_000 + HELD_MS)
    effects += session.feed(events[2], At(50_000, 50, 300))
    said = [(v.check, v.revision, v.outcome) for v in verdicts_of(effects) if v.check == "made"]
    assert said == [("made", 1, "not_graded"), ("made", 2, "fail")]


def test_combined_of_combined() -> None:
    checks = [CALLED, SAID, made("any", "called", "said"), Check("top", Combination("not", ("made",)), "critical")]
    assert told(checks, run().starts().says("found").ends())["top"].outcome == "fail"


# -- agents --------------------------------------------------------------------------------------------------------------


def with_a_helper() -> list[Event]:
    helper = Agent("billing-bot", "1")
    return list(
        run()
        .starts()
        .asks("x")
        .calls("find")
        .calls("db.write", agent=helper)
        .says("found", agent=helper)
        .says("done")
        .ends()
    )


def test_a_check_reads_what_its_agent_did() -> None:
    def of(**more: Any) -> str:
        check = Check("c", ToolNotCalled("db.write"), "critical", **more)
        return told([check], with_a_helper())["c"].outcome

    assert of() == "fail"
    assert of(depth="own") == "pass"
    assert of(agent="billing-*") == "fail"
    assert of(agent="agent-1") == "pass"
    assert (
        told([Check("c", TranscriptContains("done"), "critical", agent="billing-*")], with_a_helper())["c"].outcome
        == "fail"
    )


def test_an_event_that_names_no_agent_is_the_runs_own() -> None:
    events = list(run().starts().says("found", agent=None).ends())
    assert told([Check("c", TranscriptContains("found"), "critical", depth="own")], events)["c"].outcome == "pass"


# -- what travels --------------------------------------------------------------------------------------------------------


def test_owner_runbook_and_links_travel() -> None:
    suite = About("payments", "https://w/suite", {"run": "https://r/{run_id}", "trace": "https://t/{trace_id}"})
    own = About(runbook="https://w/check", links={"board": "https://b"})
    checks = [Check("c", ToolCalled("find"), "minor", about=own), Check("d", ToolCalled("find"), "minor")]
    events = list(run("a/b c", trace=Trace("4bf9")).starts().ends())
    verdicts = told(checks, events, about=suite)
    assert verdicts["c"].owner == "payments"
    assert verdicts["c"].runbook == "https://w/check"
    assert verdicts["c"].links == {"run": "https://r/a%2Fb%20c", "trace": "https://t/4bf9", "board": "https://b"}
    assert verdicts["d"].runbook == "https://w/suite"


def test_a_link_that_asks_for_a_trace_is_left_out_without_one() -> None:
    about = About(links={"run": "https://r/{run_id}", "trace": "https://t/{trace_id}"})
    verdict = told([CALLED], run().starts().ends(), about=about)["called"]
    assert verdict.links == {"run": "https://r/run-1"}
    assert told([CALLED], run().starts().ends())["called"].links is None


# -- scores --------------------------------------------------------------------------------------------------------------


@dataclass
class Halved(Grader):
    """Scores 2.5 of 5, and passes."""

    scale = (0, 5)

    def wants(self) -> tuple[type[Event], ...]:
        return ()

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS, Reason.FOUND, sound=True, score=2.5)


def test_a_score_passes_from_where_the_check_says() -> None:
    verdict = told([Check("c", Halved(), "critical", pass_at=2.5)], run().starts().ends())["c"]
    assert (verdict.outcome, verdict.score, verdict.scale) == ("pass", 2.5, (0, 5))
    assert told([Check("c", Halved(), "critical", pass_at=3.0)], run().starts().ends())["c"].outcome == "fail"


def test_the_suites_policy_scores_the_run() -> None:
    for scoring, score, outcome in (
        (Scoring("composite", 2.0), 2.5, "pass"),
        (Scoring("composite"), 2.5, "fail"),
        (Scoring("weighted", 0.6), 0.5, "fail"),
        (Scoring(), 1.0, "pass"),
    ):
        session = session_of(suite_of(Check("c", Halved(), "critical"), scoring=scoring))
        (record,) = run_verdicts_of(fed(session, run().starts().ends()))
        assert (record.policy, record.score, record.outcome) == (scoring.policy, score, outcome)


# -- references that a run brings along ----------------------------------------------------------------------------------


@dataclass
class Refers(ToolGrounding):
    """The canary may come with the run."""

    references: ClassVar[dict[str, str]] = {"canary": "metadata.canary"}


REFERS = Check("c", Refers("suite"), "critical")


def expecting(**metadata: Any) -> Expected:
    return Expected(metadata=metadata)


@pytest.mark.parametrize(
    ("expected", "reply", "outcome"),
    [
        (expecting(canary="mine"), "it is mine", "pass"),
        (expecting(canary="mine"), "of the suite", "fail"),
        (expecting(canary=["a", 1]), "a 1", "pass"),
        (expecting(canary=[]), "x", "skipped"),
        (expecting(canary=None), "of the suite", "pass"),
        (expecting(other="mine"), "of the suite", "pass"),
        (Expected(criteria="be nice"), "of the suite", "pass"),
        (None, "of the suite", "pass"),
    ],
)
def test_a_runs_own_reference_wins(expected: Expected | None, reply: str, outcome: str) -> None:
    assert told([REFERS], run().starts(expected=expected).says(reply).ends())["c"].outcome == outcome


def test_it_survives_a_move() -> None:
    session = session_of(suite_of(REFERS))
    events = list(run().starts(expected=expecting(canary="mine")).says("it is mine").ends())
    effects = []
    for n, event in enumerate(events):
        session = Session.resume(session.fleet, session.run_id, session.snapshot(), Ledger()) if n else session
        effects += session.feed(event, At(1_000 * n, n, 300))
    assert verdicts_of(effects)[-1].outcome == "pass"


def test_one_that_comes_after_what_it_is_compared_with_is_no_reference() -> None:
    story = run(producer="p1").starts(expected=expecting(canary="mine")).says("it is mine").ends()
    early = list(run(producer="p0").says("first", id="x", seq=0))
    verdicts = told([REFERS, CALLED], [*early, *story])
    assert (verdicts["c"].outcome, verdicts["c"].reason) == ("not_graded", "expected_late")
    assert verdicts["called"].outcome == "fail"


def test_one_that_is_too_large_is_no_reference() -> None:
    large = expecting(canary="x" * EXPECTED_BYTES)
    verdict = told([REFERS], run().starts(expected=large).says("suite").ends())["c"]
    assert (verdict.outcome, verdict.reason, verdict.flags) == ("not_graded", "state_limit", ("expected_dropped",))


class Raises(Refers):
    def __post_init__(self) -> None:
        if isinstance(self.canary, int):
            raise TypeError("no text")
        super().__post_init__()

    def update(self, seen: Seen) -> None:
        super().update(seen)


def test_one_that_the_grader_cannot_take_is_that_checks_error() -> None:
    checks = [Check("c", Raises("suite"), "minor"), CALLED]
    verdicts = told(checks, run().starts(expected=expecting(canary=7)).says("suite").calls("find").ends())
    assert (verdicts["c"].outcome, verdicts["c"].reason) == ("error", "grader_raised")
    assert "TypeError: no text" in verdicts["c"].evidence
    assert verdicts["called"].outcome == "pass"


def test_nobody_forges_what_the_runner_knows() -> None:  # AE-42
    told_by_run = {"tool_calls": [{"tool": "forged"}], "response_char_limit": 9}
    assert not hasattr(Expected(metadata=told_by_run), "tool_calls")
    checks = [Check("c", ToolCalled("forged"), "critical")]
    start = run().starts(expected=Expected(metadata=told_by_run), reports=("messages", "end"))
    assert told(checks, start.says("x").ends())["c"].outcome == "not_graded"
