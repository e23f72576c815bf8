"""Files of promptfoo, Google ADK and Pydantic Evals: what they ask, and what of it is told and not graded."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from stream_graders.config import load, read
from stream_graders.events import Event
from stream_graders.sources import adk, promptfoo, pydantic_evals
from stream_graders.sources.form import Source, SourceError
from stream_graders.testing import run
from tests.cli.commands import command
from tests.sources.test_sources import including, told


def outcomes(suite: Path, events: Iterable[Event]) -> dict[str, str]:
    """What the checks that apply say, without the parts that they are made of."""
    said = told(suite, events)[0].items()
    return {name: str(outcome) for name, (outcome, _, _) in said if outcome != "skipped" and "-part-" not in name}


def warned(suite: Path) -> list[str]:
    return [str(problem) for problem in read(suite)[1] if "add `when:`" not in str(problem)]


def refund(**labels: str) -> Any:
    return (
        run().starts(labels=labels).asks("Refund order 8").calls("orders.find", {"id": 8, "trace": "q"}).returns("ok")
    )


# -- promptfoo -------------------------------------------------------------------------------------------------------


def test_a_config_of_promptfoo(tmp_path: Path) -> None:
    suite = including(tmp_path, "promptfoo")
    assert warned(suite) == [
        "promptfooconfig.yaml:17: warning: is not graded: llm-rubric asks a judge model in a way of its own: write a check with agentlasso.llm_judge or vally.prompt for it",
        "promptfooconfig.yaml:20: warning: is not graded: contains has a value that is filled in for each test: write it out",
    ]
    good = refund(test="refund").calls("Refund").returns("ok").says("In 3 days.").ends()
    verdicts, of = told(suite, good)
    assert {outcome for outcome, _, _ in verdicts.values()} == {"pass", "skipped"}
    assert (of.outcome, of.policy, of.score) == ("pass", "weighted", 1.0)
    bad = refund(test="refund").calls("look").returns("ok").calls("refund").returns("ok").says("I guarantee it.").ends()
    assert {name for name, outcome in outcomes(suite, bad).items() if outcome == "fail"} == {
        "not-icontains", "trajectory-tool-sequence-refund", "says-when-refund",
    }  # fmt: skip
    assert outcomes(suite, refund(test="other").calls("refund").says("x").ends()) == {
        "not-icontains": "pass", "trajectory-tool-used": "pass", "not-trajectory-tool-used-other": "fail",
    }  # fmt: skip


def asserted(*entries: Any, **test: Any) -> Source:
    return promptfoo.checks({"tests": [{"assert": list(entries), **test}]})


def asked(kind: str, value: Any, **more: Any) -> tuple[str, dict[str, Any]]:
    check = asserted({"type": kind, "value": value, **more}).checks[0]
    return check["grader"], check["settings"]


TOOLS = "vally.tool_calls"
PROMPTFOO: dict[str, tuple[str, Any, str, dict[str, Any]]] = {
    "contains": ("contains", "A", "vally.output_contains", {"substring": "A", "case_sensitive": True}),
    "a number": ("icontains", 12.0, "vally.output_contains", {"substring": "12", "case_sensitive": False}),
    "not-contains": ("not-contains", "A", "vally.output_not_contains", {"substring": "A", "case_sensitive": True}),
    "regex": ("regex", "a+", "vally.output_matches", {"pattern": "a+"}),
    "not-regex": ("not-regex", "a+", "vally.output_not_matches", {"pattern": "a+"}),
    "equals": ("equals", "a.", "vally.output_matches", {"pattern": r"\Aa\.\z"}),
    "starts-with": ("starts-with", "a.", "vally.output_matches", {"pattern": r"\Aa\."}),
    "is-json": ("is-json", None, "agentlasso.output_valid_json", {}),
    "a tool": ("trajectory:tool-used", "orders.f*", TOOLS, {"required": [r"(?i)^orders\.f.*$"]}),
    "two tools": ("trajectory:tool-used", ["a", "b?"], TOOLS, {"required": ["(?i)^a$", "(?i)^b.$"]}),
    "no such tool": ("not-trajectory:tool-used", ["a", "b"], TOOLS, {"disallowed": ["(?i)^a$", "(?i)^b$"]}),
    "twice": (
        "trajectory:tool-used", {"name": "a", "min": 2}, TOOLS, {"required": [{"name": "(?i)^a$", "min_count": 2}]},
    ),
    "never": ("trajectory:tool-used", {"pattern": "a", "min": 0, "max": 0}, TOOLS, {"disallowed": ["(?i)^a$"]}),
    "in order": ("trajectory:tool-sequence", ["a", {"name": "b"}], TOOLS, {"sequence": ["(?i)^a$", "(?i)^b$"]}),
    "arguments": (
        "trajectory:tool-args-match", {"name": "a", "arguments": {"n": 1}, "mode": "exact"}, "trajectory.match",
        {"expected": [{"name": "a", "args": {"n": 1}}], "arguments": "exact"},
    ),
    "at most": ("trajectory:step-count", {"type": "tool", "max": 3}, "vally.tool_call_count", {"max": 3}),
    "at least": (
        "trajectory:step-count", {"type": "tool", "name": "a*", "min": 3}, TOOLS,
        {"required": [{"name": "(?i)^a.*$", "min_count": 3}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "grader", "settings"), PROMPTFOO.values(), ids=list(PROMPTFOO))
def test_what_promptfoo_asks_is_asked(kind: str, value: Any, grader: str, settings: dict[str, Any]) -> None:
    assert asked(kind, value) == (grader, settings)


UNLIKE: dict[str, tuple[dict[str, Any], str]] = {
    "a judge": ({"type": "not-llm-rubric", "value": "x"}, "not-llm-rubric asks a judge model in a way of its own: write a check with agentlasso.llm_judge or vally.prompt for it"),
    "a program": ({"type": "javascript", "value": "x"}, "javascript runs a program"),
    "a set": ({"type": "assert-set", "assert": []}, "assert-set scores its assertions together: write them beside the others"),
    "a misspelt type": ({"type": "contain", "value": "x"}, "contain is no type that is read here; did you mean 'contains'?"),
    "another type": ({"type": "cost", "threshold": 1}, "cost is no type that is read here"),
    "another file": ({"type": "contains", "value": "file://x.txt"}, "contains has a value that stands in another file"),
    "a changed reply": (
        {"type": "contains", "value": "x", "transform": "output.a"}, "contains looks at a reply that was transformed before",
    ),
    "a schema": ({"type": "is-json", "value": {"type": "object"}}, "is-json is asked with a schema"),
    "no JSON": ({"type": "not-is-json"}, "not-is-json is not asked of a reply that is none"),
    "no text": ({"type": "contains", "value": [1]}, "contains has a value that is no text"),
    "a template": ({"$ref": "#/assertionTemplates/x"}, "refers to a template of assertions: write it out here"),
    "at most of one tool": (
        {"type": "trajectory:tool-used", "value": {"name": "a", "max": 2}}, "trajectory:tool-used limits the calls of one tool from above",
    ),
    "a search": (
        {"type": "trajectory:tool-used", "value": {"name": "a", "type": "search"}}, "trajectory:tool-used has a step that is no call of a tool",
    ),
    "no sequence": ({"type": "trajectory:tool-sequence", "value": []}, "trajectory:tool-sequence has no steps"),
    "a forbidden sequence": ({"type": "not-trajectory:tool-sequence", "value": ["a"]}, "not-trajectory:tool-sequence forbids a sequence"),
    "defaults": (
        {"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {}, "defaults": {"n": 1}}},
        "trajectory:tool-args-match leaves arguments out by their values, or of all arguments",
    ),
    "several tools": (
        {"type": "trajectory:tool-args-match", "value": {"name": "a*", "args": {}}}, "trajectory:tool-args-match asks it of several tools",
    ),
    "all steps": (
        {"type": "trajectory:step-count", "value": {"max": 3}},
        "trajectory:step-count counts steps that are not calls, or asks for another number",
    ),
    "half a call": (
        {"type": "trajectory:step-count", "value": {"type": "tool", "max": 0.5}},
        "trajectory:step-count has a limit that is no whole number from 0 on",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("entry", "why"), UNLIKE.values(), ids=list(UNLIKE))
def test_what_is_not_asked_here_is_told(entry: dict[str, Any], why: str) -> None:
    source = asserted(entry)
    assert (source.checks, source.ungraded) == ([], [(("tests", 0, "assert", 0), why)])


def test_an_exact_sequence_has_no_other_calls(tmp_path: Path) -> None:
    suite = tmp_path / "s.yaml"
    (tmp_path / "p.yaml").write_text(
        "tests: [{assert: [{type: 'trajectory:tool-sequence', value: {mode: exact, steps: [a, b]}}]}]"
    )
    suite.write_text("suite: s\ninclude: [{format: promptfoo, file: p.yaml}]\n")
    for calls, outcome in (
        ("ab", "pass"),
        ("AB", "pass"),
        ("aab", "fail"),
        ("ba", "fail"),
        ("a", "fail"),
        ("abc", "fail"),
    ):
        story = run().starts()
        for name in calls:
            story.calls(name).returns("ok")
        _, of = told(suite, story.says("x").ends())
        assert (of.outcome, of.score) == (outcome, 1.0 if outcome == "pass" else 0.0), calls


def test_weights_thresholds_and_default_assertions() -> None:
    text = {"type": "contains", "value": "x"}
    source = promptfoo.checks(
        {
            "defaultTest": {"assert": [text], "threshold": 0.5},
            "tests": [{"assert": [{**text, "weight": 3}]}, {"options": {"disableDefaultAsserts": True}, "assert": [{**text, "weight": 0}]}],
        }
    )  # fmt: skip
    assert source.scoring == {"policy": "weighted", "threshold": 0.5}
    assert [(c["check"], c.get("weight"), c["severity"], c["when"]["labels"]["test"]) for c in source.checks] == [
        ("contains-0", None, "critical", "0"), ("contains-0-2", 3, "critical", "0"), ("contains-1", None, "info", "1"),
    ]  # fmt: skip
    changed = promptfoo.checks(
        {"defaultTest": {"options": {"transform": "x"}, "assert": [text]}, "tests": ["file://a"]}
    )
    assert [why for _, why in changed.ungraded] == [
        "contains looks at a reply that was transformed before", "names another file, which is not read",
    ]  # fmt: skip


# -- Google ADK ------------------------------------------------------------------------------------------------------


def test_an_eval_set_of_adk(tmp_path: Path) -> None:
    suite = including(tmp_path, "adk")
    assert warned(suite) == [
        "refund.evalset.json:1: warning: is not graded: safety_v1 asks a judge model in a way of its own: write a check with agentlasso.llm_judge or vally.prompt for it",
        "refund.evalset.json:22: warning: is not graded: simulated has no conversation whose calls could be expected",
    ]
    good = (
        run().starts(labels={"eval_id": "refund"}).asks("Refund order 8").calls("look").calls("orders.find", {"id": 8})
    )
    assert outcomes(suite, good.says("Sure?").asks("Yes").calls("refund").says("Done.").ends()) == {
        "refund-turn-0": "pass", "refund-turn-1": "pass",
    }  # fmt: skip
    bad = run().starts(labels={"eval_id": "refund"}).asks("Refund order 8").calls("orders.find", {"id": 8, "all": True})
    assert outcomes(suite, bad.calls("refund").says("Done.").ends()) == {
        "refund-turn-0": "fail",
        "refund-turn-1": "fail",
    }


CASE = {"eval_id": "a", "conversation": [{"intermediate_data": {"tool_uses": [{"name": "f"}, {"name": "g"}]}}]}
MADE = {"same": "fg", "and more": "fhg", "turned": "gf", "lacking": "f"}
MATCH: dict[str, tuple[Any, set[str]]] = {
    "without a config": (None, {"same"}),
    "a threshold alone": (1.0, {"same"}),
    "EXACT": ({"threshold": 1, "match_type": "EXACT"}, {"same"}),
    "IN_ORDER": ({"threshold": 1, "matchType": "in order"}, {"same", "and more"}),
    "ANY_ORDER": ({"threshold": 0.5, "match_type": 2}, {"same", "and more", "turned"}),
}


@pytest.mark.parametrize(("criterion", "passes"), MATCH.values(), ids=list(MATCH))
def test_how_adk_matches(tmp_path: Path, criterion: Any, passes: set[str]) -> None:
    (tmp_path / "a.evalset.json").write_text(json.dumps({"eval_cases": [CASE]}))
    if criterion is not None:
        (tmp_path / "test_config.json").write_text(json.dumps({"criteria": {adk.TRAJECTORY: criterion}}))
    suite = tmp_path / "s.yaml"
    suite.write_text("suite: s\ninclude: [{format: adk, file: a.evalset.json}]\n")
    found = set()
    for name, calls in MADE.items():
        story = run().starts().asks("x")
        for call in calls:
            story.calls(call).returns("ok")
        found |= {name} if told(suite, story.says("x").ends())[1].outcome == "pass" else set()
    assert found == passes


def test_arguments_may_be_left_out_by_adk() -> None:
    source = adk.checks(
        {"eval_cases": [CASE]},
        {"criteria": {adk.TRAJECTORY: {"threshold": 1.0, "ignore_args": True}, "my_metric": 1.0}},
    )
    assert source.checks[0]["settings"]["arguments"] == "ignore"
    assert source.ungraded == [((), "my_metric is a metric of your own, or of a later version")]


@pytest.mark.parametrize(("threshold", "outcome"), [(1.0, "fail"), (0.6, "fail"), (0.5, "pass")])
def test_the_share_of_turns_decides_in_adk(tmp_path: Path, threshold: float, outcome: str) -> None:
    two = {**CASE, "conversation": [*CASE["conversation"], {}]}
    (tmp_path / "a.evalset.json").write_text(json.dumps({"eval_cases": [two]}))
    (tmp_path / "test_config.json").write_text(json.dumps({"criteria": {adk.TRAJECTORY: threshold}}))
    suite = tmp_path / "s.yaml"
    suite.write_text("suite: s\ninclude: [{format: adk, file: a.evalset.json}]\n")
    story = run().starts().asks("x").calls("f").returns("ok").calls("g").returns("ok").says("x").asks("y").calls("f")
    _, of = told(suite, story.returns("ok").says("x").ends())
    assert (of.outcome, of.score) == (outcome, 0.5)


def test_turns_without_expected_calls_that_count_are_told() -> None:
    two = {**CASE, "conversation": [*CASE["conversation"], {}]}
    source = adk.checks(
        {"eval_cases": [two]}, {"criteria": {adk.TRAJECTORY: {"threshold": 0.5, "match_type": "IN_ORDER"}}}
    )
    assert source.checks == []
    assert [why for _, why in source.ungraded] == [
        "a counts turns in which no call is expected, and here they are skipped"
    ]


def test_a_config_of_adk_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.evalset.json").write_text(json.dumps({"eval_cases": [CASE]}))
    (tmp_path / "test_config.json").write_text("{")
    done = command("import", tmp_path / "a.evalset.json", "--format", "adk")
    assert done.code == 2
    assert done.err.startswith("a.evalset.json:1: is scored by test_config.json, which ")


# -- Pydantic Evals --------------------------------------------------------------------------------------------------


def test_a_dataset_of_pydantic_evals(tmp_path: Path) -> None:
    suite = including(tmp_path, "pydantic_evals")
    assert warned(suite) == [
        "dataset.yaml:8: warning: ToolCorrectness counts no call that failed, unless it is told include_failed: here they count",
        "dataset.yaml:18: warning: is not graded: LLMJudge asks a judge model in a way of its own: write a check with agentlasso.llm_judge or vally.prompt for it",
    ]
    good = refund(case="refund").calls("refund").returns("ok")
    assert outcomes(suite, good.says("Done.").ends()) == {
        "MaxToolCalls": "pass", "EqualsExpected-refund": "pass", "ToolCorrectness-refund": "pass",
        "TrajectoryMatch-refund": "pass", "Contains-refund": "fail",
    }  # fmt: skip
    more = refund(case="refund").calls("refund").calls("refund").says("ord-8: Done.").ends()
    assert outcomes(suite, more) == {
        "MaxToolCalls": "fail", "EqualsExpected-refund": "fail", "ToolCorrectness-refund": "fail",
        "TrajectoryMatch-refund": "fail", "Contains-refund": "pass",
    }  # fmt: skip
    verdicts, of = told(suite, run().starts(labels={"case": "none"}).asks("Hello").says("Hello").ends())
    assert verdicts["ToolCorrectness-none"][0] == "pass"
    assert (of.outcome, of.ungraded_items) == (
        "pass",
        (
            "LLMJudge asks a judge model in a way of its own: write a check with agentlasso.llm_judge or vally.prompt for it",
        ),
    )


def evaluated(*entries: Any, **case: Any) -> Source:
    return pydantic_evals.checks({"cases": [{"evaluators": list(entries), **case}]})


EVALUATORS: dict[str, tuple[Any, str, str, dict[str, Any]]] = {
    "extra calls": (
        {"ToolCorrectness": {"expected_tools": ["a"], "allow_extra": True}}, "critical", "trajectory.match",
        {"expected": ["a"], "mode": "superset", "arguments": "ignore"},
    ),
    "any order": (
        {"TrajectoryMatch": {"expected_trajectory": ["a"], "order": "any_order"}}, "info", "trajectory.match",
        {"expected": ["a"], "mode": "any_order", "arguments": "ignore"},
    ),
    "one argument": ({"Contains": "x"}, "critical", "vally.output_contains", {"substring": "x", "case_sensitive": True}),
    "the long form": (
        {"name": "Equals", "arguments": ["x+"]}, "critical", "vally.output_matches", {"pattern": r"\Ax\+\z"},
    ),
    "calls": ({"MaxToolCalls": {"max_calls": 0}}, "critical", "vally.tool_call_count", {"max": 0}),
}  # fmt: skip


@pytest.mark.parametrize(("entry", "severity", "grader", "settings"), EVALUATORS.values(), ids=list(EVALUATORS))
def test_what_evaluators_ask_is_asked(entry: Any, severity: str, grader: str, settings: dict[str, Any]) -> None:
    checks = evaluated(entry).checks
    assert (checks[-1]["severity"], checks[0]["grader"], checks[0]["settings"]) == (severity, grader, settings)


LEFT_OUT: dict[str, tuple[Any, str]] = {
    "the usual order": (
        {"TrajectoryMatch": ["a"]}, "TrajectoryMatch scores the longest common subsequence, which is not scored here",
    ),
    "a type": ({"IsInstance": "str"}, "IsInstance asks for a type of the program's"),
    "one's own": ("Mine", "Mine is an evaluator of your own, or of a later version"),
    "no text": ({"Equals": 4}, "Equals compares with what is not text"),
    "failed calls": (
        {"MaxToolCalls": {"max_calls": 1, "include_failed": False}},
        "MaxToolCalls does not count calls that failed, and here they count",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("entry", "why"), LEFT_OUT.values(), ids=list(LEFT_OUT))
def test_evaluators_that_are_not_asked_here_are_told(entry: Any, why: str) -> None:
    source = evaluated(entry)
    assert (source.checks, [told for _, told in source.ungraded]) == ([], [why])


def test_an_expected_output_that_is_not_there_is_not_compared() -> None:
    assert evaluated("EqualsExpected").checks == []
    assert [check["settings"] for check in evaluated("EqualsExpected", expected_output="x").checks] == [
        {"pattern": r"\Ax\z"}
    ]
    report = pydantic_evals.checks({"cases": [], "report_evaluators": ["ConfusionMatrix"]})
    assert report.ungraded == [(("report_evaluators", 0), "ConfusionMatrix looks at all runs together")]


# -- what is none ----------------------------------------------------------------------------------------------------

WRONG: dict[str, tuple[Callable[[Any], Source], Any, str]] = {
    "no config": (promptfoo.checks, {"prompts": []}, "is no config of promptfoo"),
    "tests elsewhere": (promptfoo.checks, {"tests": "tests.csv"}, "names another file"),
    "tests that are no list": (promptfoo.checks, {"tests": {"a": 1}}, "should be a list"),
    "no assertion": (promptfoo.checks, {"tests": [{"assert": ["x"]}]}, "should be an assertion"),
    "a weight below 0": (
        promptfoo.checks, {"tests": [{"assert": [{"type": "contains", "value": "x", "weight": -1}]}]}, "from 0 on",
    ),
    "a threshold in words": (promptfoo.checks, {"tests": [{"threshold": "high"}]}, "from 0 to 1"),
    "several thresholds": (promptfoo.checks, {"tests": [{"threshold": 1}, {"threshold": 0.5}]}, "has another threshold"),
    "no eval set": (adk.checks, {"cases": []}, "is no eval set of ADK"),
    "no eval case": (adk.checks, {"eval_cases": [{"conversation": []}]}, "should be a case"),
    "no invocation": (adk.checks, {"eval_cases": [{**CASE, "conversation": ["x"]}]}, "should be an invocation"),
    "a call of nothing": (
        adk.checks, {"eval_cases": [{**CASE, "conversation": [{"intermediateData": {"toolUses": [{}]}}]}]}, "names no tool",
    ),
    "no dataset": (pydantic_evals.checks, [], "is no dataset of Pydantic Evals"),
    "no case": (pydantic_evals.checks, {"cases": ["x"]}, "should be a case"),
    "no evaluator": (pydantic_evals.checks, {"cases": [{"evaluators": [{"A": 1, "B": 2}]}]}, "should be an evaluator"),
    "an evaluator told nothing": (pydantic_evals.checks, {"cases": [{"evaluators": ["Contains"]}]}, "is not told value"),
    "tools that are none": (pydantic_evals.checks, {"cases": [{"evaluators": [{"ToolCorrectness": "a"}]}]}, "a list of tools"),
    "half a call": (pydantic_evals.checks, {"cases": [{"evaluators": [{"MaxToolCalls": 0.5}]}]}, "a whole number"),
}  # fmt: skip
CONFIGS: dict[str, tuple[Any, str]] = {
    "no criteria": ({}, "has no `criteria`"),
    "no threshold": ({"criteria": {adk.TRAJECTORY: {}}}, "has no threshold"),
    "a threshold over 1": ({"criteria": {adk.TRAJECTORY: 2}}, "from 0 to 1"),
    "no such match": (
        {"criteria": {adk.TRAJECTORY: {"threshold": 1, "match_type": "SOME"}}},
        "EXACT, IN_ORDER, ANY_ORDER",
    ),
}


@pytest.mark.parametrize(("form", "value", "why"), WRONG.values(), ids=list(WRONG))
def test_what_is_of_no_form_is_refused(form: Callable[[Any], Source], value: Any, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        form(value)


@pytest.mark.parametrize(("config", "why"), CONFIGS.values(), ids=list(CONFIGS))
def test_configs_of_adk_that_are_none_are_refused(config: Any, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        adk.checks({"eval_cases": [CASE]}, config)


def test_they_are_imported_with_what_is_left_out(tmp_path: Path) -> None:
    out = tmp_path / "out.yaml"
    done = command("import", Path(__file__).parent / "promptfooconfig.yaml", "--format", "promptfoo", "-o", out)
    assert (done.code, done.out) == (0, f"{out}: 12 checks\n")
    assert len(load(out).checks) == 12
