"""The source families' graders say of each vector what its source says of it (R1 to R169).

``SG_VECTORS=FILE`` runs the vectors of another file of the same form.
"""

from typing import Any

import pytest

from stream_graders.catalogue import grader_named
from stream_graders.grading import Grader
from stream_graders.judges.answering import failed, scored
from stream_graders.judges.knobs import pinned
from stream_graders.judges.parsing import parse
from stream_graders.judges.prompts import build
from stream_graders.questions import JudgeGrader
from stream_graders.suites import Check
from stream_graders.testing import answer_to, fed, graded, judged, requests_of, session_of, suite_of, verdicts_of
from stream_graders.verdicts import JudgeRequest, Verdict
from tests.vectors.sources import grader_of, lines, of_question, vector_events

VECTORS = lines("SG_VECTORS", "vectors.jsonl")


def name_of(vector: dict[str, Any]) -> str:
    """Our name of a vector's grader."""
    kind = vector["config"]["grader"] if vector["grader_type"] == "run_identity" else vector["grader_type"]
    return f"{vector['system']}.{kind.replace('-', '_')}"


WHOLES = ("case", "question_score", "gate", "context", "target_lint", "catalog")
"""What is no check, but a run, a target or the catalogue: `tests.vectors.test_wholes`."""


def why_later(vector: dict[str, Any]) -> str | None:
    """Why a vector cannot run yet."""
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
    answer = answer_of(vector)
    if answer is not None:
        return judged(check_of(vector), vector_events(vector), answer, missing_input="source")
    return graded(check_of(vector), vector_events(vector), missing_input="source")


def answer_of(vector: dict[str, Any]) -> Any:
    """What the judge worker makes of the reply that a vector's judge gives; None where the vector names no judge."""
    config = vector["config"]
    if "judge_error" in config:
        return failed("connection", str(config["judge_error"]))
    if "judge_reply" not in config:
        return None
    grader = check_of(vector).grader
    assert isinstance(grader, JudgeGrader)
    knobs = pinned(config.get("provider_knobs", ()))
    return scored(parse(config["judge_reply"], grader.rule, grader.answers_on or grader.scale), {"knobs": knobs})


def asked(vector: dict[str, Any]) -> list[JudgeRequest]:
    session = session_of(suite_of(check_of(vector), missing_input="source"), "r")
    return requests_of(fed(session, vector_events(vector)))


ASKING = [vector for vector in READY if "judge_reply" in vector["config"] or "provider_calls" in vector["expect"]]


@pytest.mark.parametrize("vector", ASKING, ids=lambda vector: vector["id"])
def test_a_judge_is_shown_what_its_source_says(vector: dict[str, Any]) -> None:
    requests, expect = asked(vector), vector["expect"]
    assert len(requests) == expect.get("provider_calls", 1)
    for request in requests:
        prompt = build(request.input, request.scale, "k3f9")
        shown = f"{prompt.system}\n{prompt.user}"
        for part in expect.get("prompt_contains", ()):
            assert part in shown
        for part in expect.get("prompt_excludes", ()):
            assert part not in shown
        for part, count in expect.get("prompt_counts", {}).items():
            assert shown.count(part) == count, part
        knobs = pinned(vector["config"].get("provider_knobs", ()))
        assert knobs == expect.get("call_params", knobs)
        assert list(knobs) == expect.get("recorded_pins", list(knobs))


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
    assert (vector["expect"].get("display") or "") in verdict.evidence
    for secret in vector["expect"].get("result_excludes", ()):
        assert secret not in str(verdict)


@pytest.mark.parametrize("vector", [v for v in READY if "metadata" in v["expect"]], ids=lambda vector: vector["id"])
def test_a_grader_says_of_itself_what_its_source_says(vector: dict[str, Any]) -> None:
    assert check_of(vector).grader.metadata == vector["expect"]["metadata"]


@pytest.mark.parametrize("vector", READY, ids=lambda vector: vector["id"])
def test_no_final_verdict_comes_before_the_end_and_an_early_one_stays(vector: dict[str, Any]) -> None:
    answer = answer_of(vector)
    check = check_of(vector)
    eager = Check("check", check.grader, check.severity, turn=check.turn, early="always")
    session = session_of(suite_of(eager, missing_input="source"), "r")
    events = vector_events(vector)
    before = verdicts_of(fed(session, events[:-1]))
    assert all(verdict.state == "early" for verdict in before if verdict.turn is None)  # P2
    effects = fed(session, events[-1:], since=100_000)
    answers = [] if answer is None else [answer_to(request, answer) for request in requests_of(effects)]
    after = verdicts_of([*effects, *fed(session, answers, since=200_000), *session.finish()])
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
