"""Sources' own files: read as they are, used in place and imported with the same verdicts, and refused with their line."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stream_graders.config import load, read
from stream_graders.events import Event
from stream_graders.sources import agentlasso, ai_eval, datarobot, vally
from stream_graders.sources.form import SourceError
from stream_graders.suites import Scoring
from stream_graders.testing import answer_to, fed, requests_of, run, run_verdicts_of, session_of, verdicts_of
from stream_graders.verdicts import RunVerdict
from tests.cli.commands import command

HERE = Path(__file__).parent
FILES = {
    "vally": "refund.eval.yaml",
    "agentlasso": "refund-case.json",
    "datarobot": "cases.yaml",
    "ai_eval": "questions.yaml",
    "promptfoo": "promptfooconfig.yaml",
    "adk": "refund.evalset.json",
    "pydantic_evals": "dataset.yaml",
}

STORIES: dict[str, Iterable[Event]] = {
    "as it should be": (
        run().starts(labels={"case": "lot"}).asks("refund").calls("orders.find").returns({"id": "ORD-8"})
        .says("ORD-8: are you sure?").asks("yes").calls("refund").returns("ok", is_error=False)
        .says("Refunded, lot Q7 for 58, in 3 days: LOT-Q7.").ends()
    ),
    "as it should not": (
        run().starts(labels={"case": "lot"}).asks("refund").calls("refund").calls("db.drop").says("I guarantee it: a@b.example").ends()
    ),
    "without a reply": run().starts(labels={"case": "none"}).asks("refund").calls("orders.find").returns("none").ends(),
}  # fmt: skip


def including(tmp_path: Path, form: str) -> Path:
    suite = tmp_path / "suite.yaml"
    for name in (FILES[form], "test_config.json"):
        (tmp_path / name).write_text((HERE / name).read_text())
    judge = "judge: {sample: 1, budget: {calls: 100}}"
    suite.write_text(f"suite: included\n{judge}\ninclude:\n  - {{format: {form}, file: {FILES[form]}}}\n")
    return suite


def told(suite: Path, story: Iterable[Event]) -> tuple[dict[str, tuple[str, str, float | None]], RunVerdict]:
    """What is said of a run by a suite whose judges give full marks."""
    events = list(story)
    session = session_of(load(suite))
    effects = fed(session, events)
    answers = [answer_to(each, {"status": "scored", "score": each.scale[1]}) for each in requests_of(effects)]
    effects = [*effects, *fed(session, answers, since=200_000), *session.finish()]
    verdicts = {v.check.partition(".")[2] or v.check: v for v in verdicts_of(effects) if v.state != "early"}
    return {name: (v.outcome, v.evidence, v.score) for name, v in verdicts.items()}, run_verdicts_of(effects)[-1]


@pytest.mark.parametrize("story", STORIES.values(), ids=list(STORIES))
@pytest.mark.parametrize("form", FILES)
def test_imported_and_included_it_says_the_same(tmp_path: Path, form: str, story: Iterable[Event]) -> None:
    imported = tmp_path / "imported.yaml"
    done = command("import", HERE / FILES[form], "--format", form, "-o", imported)
    assert done.code == 0, done.err
    (mine, mine_of), (theirs, theirs_of) = told(including(tmp_path, form), story), told(imported, story)
    prefix = f"{FILES[form].partition('.')[0]}."  # A check that is made of others names them.
    assert {name: (of, why.replace(prefix, ""), score) for name, (of, why, score) in mine.items()} == theirs
    assert (mine_of.outcome, mine_of.score, mine_of.policy, mine_of.ungraded_items) == (
        theirs_of.outcome, theirs_of.score, theirs_of.policy, theirs_of.ungraded_items,
    )  # fmt: skip


def test_a_vally_file(tmp_path: Path) -> None:
    suite, problems = read(including(tmp_path, "vally"))
    assert suite is not None
    assert [str(problem) for problem in problems if "add `when:`" not in str(problem)] == [
        "refund.eval.yaml:18: warning: is not graded: file-exists looks into the workspace"
    ]
    assert suite.scoring == Scoring("weighted", 0.7)
    assert [
        (check.name, check.grader.name, check.turn, check.weight, check.missing_input) for check in suite.checks
    ] == [
        ("refund.asks-first", "vally.transcript_contains", 0, 1, "source"),
        ("refund.transcript-not-contains", "vally.transcript_not_contains", None, 3, "source"),
        ("refund.assistant-contains-tool-output", "vally.assistant_contains_tool_output", None, 1, "source"),
        ("refund.tool-calls", "vally.tool_calls", None, 1, "source"),
    ]
    _, good = told(tmp_path / "suite.yaml", STORIES["as it should be"])
    assert (good.outcome, good.reason, good.score) == ("pass", "threshold_met", 1.0)
    _, bad = told(tmp_path / "suite.yaml", STORIES["as it should not"])
    assert (bad.outcome, bad.reason, bad.score) == ("fail", "below_threshold", 0.0)


def test_several_stimuli_are_told_apart_by_a_label() -> None:
    grader = {"type": "completed"}
    source = vally.checks({"stimuli": [{"name": "a", "graders": [grader]}, {"graders": [grader]}], "graders": [grader]})
    assert [(check["check"], check.get("when")) for check in source.checks] == [
        ("completed", None),
        ("completed-2", {"labels": {"stimulus": "a"}}),
        ("completed-3", {"labels": {"stimulus": "1"}}),
    ]


def test_an_agentlasso_case(tmp_path: Path) -> None:
    verdicts, of = told(including(tmp_path, "agentlasso"), STORIES["as it should be"])
    assert {name: outcome for name, (outcome, _, _) in verdicts.items()} == {
        "finds": "pass", "in-order": "pass", "says-when": "pass", "is-polite": "pass",
    }  # fmt: skip
    assert (of.outcome, of.score, of.partially_graded, of.ungraded_items) == ("pass", 1.0, False, ("names the amount",))


def test_a_case_in_place_can_be_changed_by_name(tmp_path: Path) -> None:
    suite = including(tmp_path, "agentlasso")
    suite.write_text(
        suite.read_text() + "checks:\n  - {check: refund-case.in-order, severity: critical}\n"
        "  - {check: both, all: [refund-case.finds, refund-case.in-order], severity: info}\n"
    )
    loaded = load(suite)
    assert [(check.name, check.severity) for check in loaded.checks][1:2] == [("refund-case.in-order", "critical")]
    assert loaded.checks[-1].name == "both"


def test_datarobot_cases_are_told_apart_by_a_label(tmp_path: Path) -> None:
    verdicts, _ = told(including(tmp_path, "datarobot"), STORIES["as it should be"])
    assert {name: outcome for name, (outcome, _, _) in verdicts.items()} == {
        "tool_grounding-lot": "pass", "pii_leakage-lot": "pass",
        "tool_grounding-none": "skipped", "pii_leakage-none": "skipped",
    }  # fmt: skip
    verdicts, _ = told(tmp_path / "suite.yaml", STORIES["as it should not"])
    assert verdicts["tool_grounding-lot"][0] == verdicts["pii_leakage-lot"][0] == "fail"


def test_questions_of_ai_eval(tmp_path: Path) -> None:
    suite, problems = read(including(tmp_path, "ai_eval"))
    assert suite is not None
    said = [str(problem) for problem in problems]
    assert "questions.yaml:2: warning: droost_state skips every question: none has metadata.droost" in said
    assert not [line for line in said if "is not graded" in line]
    assert suite.scoring == Scoring("composite", 3.0)
    good = run().starts(labels={"question": "refund"}).asks("x").calls("orders.find", {"id": "8"}).returns("o")
    verdicts, of = told(tmp_path / "suite.yaml", good.says("It takes 3 days to arrive.").ends())
    assert {name: score for name, (_, _, score) in verdicts.items() if score is not None} == {
        "tool_usage_grader-refund": 5.0, "format_grader-refund": 5.0, "rubric_checks-refund": 5.0,
        "relevance_grader-refund": 5.0,
    }  # fmt: skip
    assert (of.outcome, of.score, of.degraded) == ("pass", 5.0, False)
    bad = run().starts(labels={"question": "policy"}).asks("x").says(f"# Never\n{'x' * 40}").ends()
    verdicts, of = told(tmp_path / "suite.yaml", bad)
    assert verdicts["format_grader-policy"][1] == "uses # headings; too long, over 40 characters"
    assert (of.outcome, of.score) == ("pass", 4.0)


def test_a_question_brings_no_limits_and_no_record() -> None:
    row = {"input": "x", "expected": {"format": "text"}, "tool_calls": [], "response_char_limit": 9}
    assert ai_eval.context(row, {"response_char_limit": 5}, {"response_char_limit": 7})["response_char_limit"] == 5
    assert ai_eval.checks([row]).checks[0]["settings"] == {"format": "text", "response_char_limit": 4_000}


def test_questions_without_a_target_are_put_to_what_they_hold_something_for() -> None:
    source = ai_eval.checks(
        {"input": "x", "expected_tools": [{"tool": "a"}], "metadata": {"droost": {"assertions": []}}}
    )
    assert [check["check"] for check in source.checks] == ["tool_usage_grader", "droost_state"]
    empty = {"target": {"graders": ["droost_state"]}, "questions": [{"input": "x", "metadata": {"droost": None}}]}
    assert ai_eval.checks(empty).checks[0]["settings"] == {"spec": []}


def test_a_target_of_texts_is_told_so() -> None:
    assert ai_eval.lint("agent", ["relevance_grader", "format_grader"], [{"input": "x"}])[0].startswith("Text only")
    assert ai_eval.lint("chat", ["relevance_grader"], [{"input": "x"}]) == []
    assert ai_eval.lint("agent", ["tool_usage_grader"], [{"expected_tools": [{"tool": "a"}]}]) == []


def test_a_rubric_is_read_from_its_folder(tmp_path: Path) -> None:
    suite = tmp_path / "s.yaml"
    suite.write_text(
        "suite: s\nchecks:\n  - {check: c, grader: ai_eval.rubric-checks, severity: minor, settings: {rubric: tone}}\n"
    )
    told_first = [str(problem) for problem in read(suite)[1] if not problem.is_warning]
    assert told_first == [
        "s.yaml:3: checks[0].settings.rubric: rubrics/tone.yaml cannot be read: No such file or directory"
    ]
    (tmp_path / "rubrics").mkdir()
    rubric = tmp_path / "rubrics" / "tone.yaml"
    rubric.write_text("id: tone\nchecks:\n  - {kind: must_not_contain, values: [never]}\n")
    (check,) = load(suite).checks
    assert check.grader.settings()["rubric"]["id"] == "tone"
    rubric.write_text("checks:\n  - {kind: must_not_contain}\n")
    assert [str(problem) for problem in read(suite)[1] if not problem.is_warning] == [
        "tone.yaml:1: checks[0].settings.rubric: check 1 needs values, a text or a list of texts"
    ]


WRONG: dict[str, tuple[Any, Any, str]] = {
    "no eval file": (vally.checks, [], "is no eval file of Vally"),
    "no such type": (vally.checks, {"graders": [{"type": "transcript-contain"}]}, "did you mean 'transcript-contains'"),
    "no type": (vally.checks, {"graders": ["x"]}, "should be a grader"),
    "graders that are no list": (vally.checks, {"graders": {"a": 1}}, "should be a list of graders"),
    "a config that is no mapping": (vally.checks, {"graders": [{"type": "completed", "config": [1]}]}, "should be a mapping"),
    "a stimulus that is none": (vally.checks, {"stimuli": ["x"]}, "should be a stimulus"),
    "no case": (agentlasso.checks, "x", "is no case of AgentLasso"),
    "a later version": (agentlasso.checks, {"checks_version": 2, "checks": []}, "checks_version 2"),
    "an unknown check": (agentlasso.checks, {"checks": [{"type": "tool_call"}]}, "the types are"),
    "an unknown key": (agentlasso.checks, {"checks": [{"type": "tool_called", "tol": "x"}]}, "has 'tol'"),
    "an unknown severity": (
        agentlasso.checks, {"checks": [{"type": "tool_called", "tool": "x", "severity": "info"}]}, "has the severity 'info'",
    ),
    "a call without a name": (agentlasso.checks, {"expected_tool_calls": [{}]}, "should be the name of a tool"),
    "an empty guardrail": (agentlasso.checks, {"guardrails": [""]}, "should be a text"),
    "no benchmark": (datarobot.checks, {"canary": "x"}, "one has `benchmark`"),
    "an unknown benchmark": (datarobot.checks, {"benchmark": "x"}, "there is no benchmark 'x'"),
    "no questions": (ai_eval.checks, {"graders": ["format_grader"]}, "is no file of ai_eval"),
    "questions that are no list": (ai_eval.checks, {"questions": {}}, "should be a list of questions"),
    "a question that is none": (ai_eval.checks, ["x"], "should be a question"),
    "a grader that is none": (
        ai_eval.checks, {"input": "x", "graders": ["tool_usage"]}, "no grader 'tool_usage' in ai_eval; did you mean",
    ),
    "no graders": (ai_eval.checks, {"input": "x", "graders": []}, "should be a list of graders"),
    "no such rubric": (
        ai_eval.checks, {"input": "x", "graders": ["rubric_checks"], "rubric_ref": "tone"}, "there is no rubric 'tone'; add it",
    ),
    "a threshold that is none": (ai_eval.checks, {"input": "x", "threshold": "high"}, "should have a threshold"),
    "a target that is none": (ai_eval.checks, {"input": "x", "target": ["format_grader"]}, "should be a mapping"),
    "a case that is none": (datarobot.checks, {"benchmark": "tool_grounding", "cases": [1]}, "should be a case"),
}  # fmt: skip


@pytest.mark.parametrize(("read_", "value", "said"), WRONG.values(), ids=list(WRONG))
def test_a_file_that_is_not_of_the_form_is_refused(read_: Any, value: Any, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read_(value)


def test_what_judges_decide_is_asked_of_ours() -> None:
    source = datarobot.checks({"benchmark": "faithfulness", "input": "x", "context": "Gate 4."})
    assert [(check["grader"], check["settings"]) for check in source.checks] == [
        ("datarobot.faithfulness", {"context": "Gate 4."})
    ]
    stimulus = {"prompt": "x", "rubric": ["Names the gate."], "graders": [{"type": "prompt"}]}
    source = vally.checks({"stimuli": [stimulus]})
    assert [(check["grader"], check["settings"]) for check in source.checks] == [
        ("vally.prompt", {"rubric": ["Names the gate."]})
    ]


def test_what_a_rubric_looks_for_reaches_the_judges_as_criteria() -> None:
    """R111, R130."""
    rubrics = {"timing": {"checks": [{"kind": "regex", "pattern": "x", "description": "Says how long."}]}}
    row = {"input": "x", "criteria": "Be short.", "rubric_ref": "timing"}
    source = ai_eval.checks({"graders": ["relevance_grader"], "rubrics": rubrics, "questions": [row]})
    assert source.checks[0]["settings"]["criteria"] == ["Be short.", "Says how long."]


def test_a_problem_names_the_line_of_the_included_file(tmp_path: Path) -> None:
    suite = including(tmp_path, "vally")
    (tmp_path / FILES["vally"]).write_text((HERE / FILES["vally"]).read_text().replace("substring:", "substrin:"))
    errors = [str(problem) for problem in read(suite)[1] if not problem.is_warning]
    assert errors == [
        "refund.eval.yaml:13: checks[1].settings.substring: is missing",
        "refund.eval.yaml:13: checks[1].settings.substrin: is not known here; did you mean 'substring'?",
    ]
    (tmp_path / FILES["vally"]).write_text("graders:\n  - type: nothing\n")
    assert str(read(suite)[1][-1]) == "refund.eval.yaml:2: there is no grader type 'nothing'"


INCLUDES = {
    "include: x": "suite.yaml:2: include: should be a list of entries",
    "include: [{format: vally}]": "suite.yaml:2: include[0]: should be like",
    "include: [{format: other, file: x}]": "suite.yaml:2: include[0]: should be like",
    "include: [{format: vally, file: x.yaml}]": "suite.yaml:2: include[0]: x.yaml cannot be read",
}


@pytest.mark.parametrize(("line", "said"), INCLUDES.items())
def test_an_include_that_cannot_be_used(tmp_path: Path, line: str, said: str) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text(f"suite: s\n{line}\nchecks:\n  - {{check: c, grader: vally.completed, severity: minor}}\n")
    assert any(str(problem).startswith(said) for problem in read(suite)[1]), read(suite)[1]


def test_import_tells_what_it_cannot(tmp_path: Path) -> None:
    assert command("import", HERE / FILES["vally"], "--format", "other").code == 2
    broken = tmp_path / "x.json"
    broken.write_text(json.dumps({"checks": [{"type": "x"}]}))
    assert command("import", broken, "--format", "agentlasso").err.startswith("x.json:1: is of type 'x'")
    printed = command("import", HERE / FILES["agentlasso"], "--format", "agentlasso")
    assert printed.err == "refund-case.json:10: is not graded: names the amount\n"
    out = tmp_path / "there.yaml"
    out.write_text("x")
    assert command("import", HERE / FILES["agentlasso"], "--format", "agentlasso", "-o", out).code == 2
