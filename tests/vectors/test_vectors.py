"""The source families' graders say of each vector what its source says of it (R1 to R169).

``SG_VECTORS=FILE`` runs the vectors of another file of the same form.
"""

from typing import Any

import pytest

from stream_graders.catalogue import grader_named
from stream_graders.grading import Grader
from stream_graders.suites import Check
from stream_graders.testing import fed, graded, session_of, suite_of, verdicts_of
from stream_graders.verdicts import Verdict
from tests.vectors.sources import grader_of, lines, of_question, vector_events

VECTORS = lines("SG_VECTORS", "vectors.jsonl")


def name_of(vector: dict[str, Any]) -> str:
    """Our name of a vector's grader."""
    return f"{vector['system']}.{vector['grader_type'].replace('-', '_')}"


WHOLES = ("case", "question_score", "gate", "context", "target_lint", "catalog")
"""What is no check, but a run, a target or the catalogue: `tests.vectors.test_wholes`."""


def why_later(vector: dict[str, Any]) -> str | None:
    """Why a vector cannot run yet."""
    config = vector["config"]
    if vector["grader_type"] == "run_identity" or {"judge_reply", "judge_error"} & set(config):
        return "a judge's answer"
    if any(verdict is not None for verdict in config.get("judge", {}).values()):
        return "a judge's verdict"
    is_known = vector["grader_type"] in WHOLES or grader_named(name_of(vector)) is not None
    return None if is_known else f"no grader yet: {name_of(vector)}"


LATER = {vector["id"]: reason for vector in VECTORS if (reason := why_later(vector)) is not None}
"""The vectors that cannot run yet, by id: the one place that lists them."""
NOW = [vector for vector in VECTORS if vector["id"] not in LATER]
READY = [vector for vector in NOW if vector["grader_type"] not in WHOLES]


def check_of(vector: dict[str, Any]) -> Check:
    config = vector["config"]
    if vector["system"] == "ai_eval":
        config = of_question(name_of(vector), config)
    grader, foreign = grader_of(name_of(vector), config)
    assert grader is not None, "the settings are refused"
    assert not foreign, f"{vector['id']} uses settings that the grader lacks: {sorted(foreign)}"
    return Check("check", grader, vector["config"].get("severity", "critical"), turn=vector.get("turn"))


def verdict_of(vector: dict[str, Any]) -> Verdict:
    return graded(check_of(vector), vector_events(vector), missing_input="source")


OUTCOMES = {(True, "graded"): "pass", (False, "graded"): "fail"}


def expected_outcome(vector: dict[str, Any]) -> str | None:
    """The outcome that is asked for; None where the source makes no claim beside the score."""
    expect = vector["expect"]
    if expect["status"] == "graded":
        if expect["passed"] is None:
            return None
        return OUTCOMES[expect["passed"], "graded"]
    # What DataRobot calls inconclusive is our `skipped`.
    return "skipped" if vector["system"] == "datarobot" else str(expect["status"])


@pytest.mark.parametrize("vector", READY, ids=lambda vector: vector["id"])
def test_a_vector_gets_the_verdict_of_its_source(vector: dict[str, Any]) -> None:
    verdict = verdict_of(vector)
    outcome = expected_outcome(vector)
    assert verdict.outcome in (("pass", "fail") if outcome is None else (outcome,)), verdict.evidence
    assert verdict.score == (None if vector["expect"]["score"] is None else float(vector["expect"]["score"]))
    assert (vector["expect"].get("evidence_contains") or "") in verdict.evidence
    for secret in vector["expect"].get("result_excludes", ()):
        assert secret not in str(verdict)


@pytest.mark.parametrize("vector", [v for v in READY if "metadata" in v["expect"]], ids=lambda vector: vector["id"])
def test_a_grader_says_of_itself_what_its_source_says(vector: dict[str, Any]) -> None:
    assert check_of(vector).grader.metadata == vector["expect"]["metadata"]


@pytest.mark.parametrize("vector", READY, ids=lambda vector: vector["id"])
def test_no_final_verdict_comes_before_the_end_and_an_early_one_stays(vector: dict[str, Any]) -> None:
    check = check_of(vector)
    eager = Check("check", check.grader, check.severity, turn=check.turn, early="always")
    session = session_of(suite_of(eager, missing_input="source"), "r")
    events = vector_events(vector)
    before = verdicts_of(fed(session, events[:-1]))
    assert all(verdict.state == "early" for verdict in before if verdict.turn is None)  # P2
    after = verdicts_of(fed(session, events[-1:], since=100_000))
    final = [verdict for verdict in before + after if verdict.state == "final"][-1]
    assert {verdict.outcome for verdict in before} <= {final.outcome}
    whole = verdict_of(vector)
    assert (final.id, final.outcome, final.evidence) == (whole.id, whole.outcome, whole.evidence)  # P1


def test_a_grader_says_the_same_of_a_vector_from_a_fresh_copy() -> None:
    graders: list[Grader] = [check_of(vector).grader for vector in READY]
    assert all(grader.fresh() == grader for grader in graders)


def test_the_vectors_of_later_graders_are_listed() -> None:
    assert set(LATER) | {vector["id"] for vector in NOW} == {vector["id"] for vector in VECTORS}
    print("later:", LATER)
