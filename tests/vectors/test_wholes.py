"""The vectors that are about more than one check: cases, questions, gates, targets and the catalogue."""

from collections.abc import Callable
from typing import Any

import pytest

from stream_graders.catalogue import grader_named
from stream_graders.events import Event, from_json, to_json
from stream_graders.scoring.composite import PASSES_AT, by_mean, mean_score
from stream_graders.sources import agentlasso, ai_eval
from stream_graders.suites import Check
from stream_graders.testing import answer_to, fed, requests_of, run_verdicts_of, session_of, suite_of, verdicts_of
from stream_graders.verdicts import CheckOutcome, Outcome, Reason, RunVerdict
from tests.vectors.sources import grader_of, vector_events
from tests.vectors.test_vectors import NOW, WHOLES

Vector = dict[str, Any]
FLAGS = {True: "yes", False: "no", None: "n/a"}


def case(vector: Vector) -> None:
    """A case of AgentLasso: its checks and what they come to together."""
    source = agentlasso.checks(vector["config"])
    checks = []
    for entry in source.checks:
        grader, foreign = grader_of(entry["grader"], entry["settings"])
        assert grader is not None
        assert not foreign
        checks.append(Check(entry["check"], grader, entry["severity"], missing_input="source"))
    judge = {name: verdict for name, verdict in vector["config"].get("judge", {}).items() if verdict is not None}
    told, verdicts = graded(checks, vector_events(vector), tuple(item for _, item in source.ungraded), judge)
    expect = vector["expect"]
    asked = {(True, "graded"): "pass", (False, "graded"): "fail"}.get(
        (expect["passed"], expect["status"]), "not_graded"
    )
    assert (told.outcome, told.score) == (asked, expect["score"])
    assert {name: verdicts[name] for name in expect.get("check_results", {})} == expect.get("check_results", {})
    assert told.partially_graded is expect.get("partially_graded", told.partially_graded)
    assert list(told.ungraded_items) == expect.get("ungraded_items", [])
    kinds = [check.grader.name.partition(".")[2] for check in checks]
    assert kinds == expect.get("converted_types", kinds)
    assert "counts_in_pass_rate" not in expect or (told.outcome in ("pass", "fail")) is expect["counts_in_pass_rate"]


def graded(
    checks: list[Check], events: list[Event], items: tuple[str, ...], judge: dict[str, str] | None = None
) -> tuple[RunVerdict, dict[str, str]]:
    """What checks come to together, with a judge that answers for some of them."""
    session = session_of(suite_of(*checks, ungraded_items=items), "r")
    effects = fed(session, events)
    scores = {name: {"status": "scored", "score": float(verdict == "pass")} for name, verdict in (judge or {}).items()}
    answers = [answer_to(request, scores[request.check]) for request in requests_of(effects) if request.check in scores]
    effects = [*effects, *fed(session, answers, since=200_000), *session.finish()]
    return run_verdicts_of(effects)[-1], {v.check: str(v.outcome) for v in verdicts_of(effects) if v.state == "final"}


def question_score(vector: Vector) -> None:
    lines = [line(result) for result in vector["config"]["results"]]
    standing = by_mean(lines, None)
    assert (standing.score, standing.degraded) == (vector["expect"]["score"], vector["expect"]["degraded"])


def line(result: dict[str, Any]) -> CheckOutcome:
    """A grader's result in a vector's words, as the outcome of a check."""
    lowest, highest = result["scale"]
    if result["score"] is None:
        outcome = Outcome.SKIPPED if result["why"] == "skip" else Outcome.ERROR
    else:
        outcome = Outcome.PASS if (result["score"] - lowest) / (highest - lowest) >= 0.7 else Outcome.FAIL
    name = result["grader"]
    return CheckOutcome(name, "v", "critical", outcome, Reason.FOUND, result["score"], (lowest, highest))


def gate(vector: Vector) -> None:
    config = vector["config"]
    by_rate = config["metric"] == "pass_rate"
    scores = [
        q["score"] if q["score"] is None or not by_rate else float(q["score"] >= PASSES_AT) for q in config["questions"]
    ]
    value = mean_score(zip(scores, (q["degraded"] for q in config["questions"]), strict=True))
    assert (value, value >= config["threshold"]) == (vector["expect"]["score"], vector["expect"]["passed"])


def context(vector: Vector) -> None:
    config, expect = vector["config"], vector["expect"]
    known = ai_eval.context(config["question"], config.get("target", {}), config.get("settings", {}))
    assert {key: known.get(key) for key in expect["context_equals"]} == expect["context_equals"]
    assert not set(known) & set(expect.get("context_lacks", ()))


def target_lint(vector: Vector) -> None:
    config = vector["config"]
    told = ai_eval.lint(config["mode"], config["graders"], config["questions"])
    for part in vector["expect"]["warnings_contains"]:
        assert part in "\n".join(told)


def catalog(vector: Vector) -> None:
    """What is said of each grader, as far as it names things that a grader has here."""
    told = vector["expect"]["catalog"]
    entries = told if isinstance(told, list) else [{"id": name, **flags} for name, flags in told.items()]
    for entry in entries:
        kind = grader_named(f"ai_eval.{entry['id']}")
        assert kind is not None
        for key in ("observes_actions", "sees_tool_calls"):
            if key in entry:
                assert kind.metadata[key] in (FLAGS.get(entry[key], entry[key]), "n/a")
        assert list(entry.get("scale", kind.scale)) == list(kind.scale)


HOLDS: dict[str, Callable[[Vector], None]] = {
    function.__name__: function for function in (case, question_score, gate, context, target_lint, catalog)
}


@pytest.mark.parametrize("vector", [v for v in NOW if v["grader_type"] in WHOLES], ids=lambda vector: vector["id"])
def test_a_vector_of_more_than_a_check(vector: Vector) -> None:
    HOLDS[vector["grader_type"]](vector)


def test_each_kind_of_whole_is_held() -> None:
    assert set(HOLDS) == set(WHOLES)


def test_a_run_verdict_carries_its_checks_and_the_versions_they_had() -> None:
    """P8, R61, R62."""
    source = agentlasso.checks({"checks_version": 1, "checks": [{"type": "tool_called", "tool": "find"}]})
    grader, _ = grader_of(source.checks[0]["grader"], source.checks[0]["settings"])
    assert grader is not None
    check = Check("finds", grader, "critical")
    told, _ = graded([check], vector_events({"config": {}, "events": []}), ())
    published = from_json(to_json(told))
    assert published["suite_version"].startswith("sha256:")
    assert [(line["check"], line["check_version"]) for line in published["checks"]] == [("finds", check.version)]
