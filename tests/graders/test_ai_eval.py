"""The deterministic graders of ai_eval, case by case (R98 to R125), and what they never show (P10)."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_graders.catalogue import catalogue
from stream_graders.events import Event, Expected
from stream_graders.graders.ai_eval.droost_state import DroostState
from stream_graders.graders.ai_eval.fact_match_grader import FactMatchGrader
from stream_graders.graders.ai_eval.format_grader import FormatGrader
from stream_graders.graders.ai_eval.rubric_checks import RubricChecks
from stream_graders.graders.ai_eval.tool_usage_grader import ToolUsageGrader
from stream_graders.grading import Grader
from stream_graders.suites import Check
from stream_graders.testing import graded, run
from stream_graders.verdicts import Verdict
from tests.graders.cases import deciding

NO_RECORD = {"reports": ("messages", "end")}


def said(grader: Grader, reply: str) -> Verdict:
    return graded(grader, run().starts().says(reply).ends())


FORMS: dict[str, tuple[Any, str, float, str]] = {
    "plain": (None, "Your order has been sent.", 5.0, "no rule of the form is broken"),
    "each rule once": ("markdown", "# A\n## B\n[a](b) [c](d) **e** __f__", 2.0, "uses # headings; uses [text](url) links; uses bold"),
    "one short of short": ("text", "x" * 19, 4.0, "suspiciously short, under 20 characters"),
    "not short": ("text", "x" * 20, 5.0, "no rule of the form is broken"),
    "as long as it may be": (None, "x" * 40, 5.0, "no rule of the form is broken"),
    "too long": (None, "é" * 41, 4.0, "too long, over 40 characters"),
    "a tag is no heading": (None, "#refund is the tag of this ticket", 5.0, "no rule of the form is broken"),
    "seven signs are no heading": (None, "####### not a heading at all", 5.0, "no rule of the form is broken"),
    "names in code are not bold": (None, "call my__own__name, 2 ** 3 ** 4", 5.0, "no rule of the form is broken"),
    "blank": ("json", " \n ", 0.0, "the response is empty"),
    "json": ("json", ' {"a": 1}\n', 5.0, "valid JSON"),
    "no json": ("json", "{a}", 0.0, "invalid JSON: expecting property name enclosed in double quotes at line 1, column 2"),
    "a number that is none": ("json", "NaN", 0.0, "invalid JSON: NaN is no JSON value"),
}  # fmt: skip


@pytest.mark.parametrize(("form", "reply", "score", "evidence"), FORMS.values(), ids=list(FORMS))
def test_form(form: Any, reply: str, score: float, evidence: str) -> None:
    verdict = said(FormatGrader(form, response_char_limit=40), reply)
    assert (verdict.score, verdict.evidence) == (score, evidence)
    assert verdict.outcome == ("pass" if score >= 3.5 else "fail")


def test_a_form_of_any_shape_is_read() -> None:
    assert said(FormatGrader(["json"]), "Your order has been sent.").score == 5.0
    assert [setting for setting, _ in FormatGrader("md").warnings()] == ["format"]
    assert FormatGrader(response_char_limit=0).problems()


def check(kind: str, **more: Any) -> dict[str, Any]:
    return {"id": kind, "kind": kind, **more}


A, B = check("must_contain_any", values="Gate"), check("regex", pattern="^gate")
RUBRICS: dict[str, tuple[list[dict[str, Any]], Any, str, float]] = {
    "case is ignored": ([A], None, "the gate is 4", 5.0),
    "unless it is not": ([{**A, "case_sensitive": True}], None, "the gate is 4", 0.0),
    "any of them": ([check("must_contain_any", values=["x", "gate"])], None, "gate", 5.0),
    "none of them": ([check("must_not_contain", values=["x", "GATE"])], None, "gate", 0.0),
    "an empty reply lacks": ([check("must_not_contain", values="x")], None, "", 5.0),
    "all": ([A, B], "all_pass", "The gate", 0.0),
    "any": ([A, B], "any_pass", "The gate", 5.0),
    "the least": ([A, B], "min", "The gate", 0.0),
    "the most": ([A, B], "max", "The gate", 5.0),
    "the middle": ([A, B], "median", "The gate", 2.5),
    "by weight": ([{**A, "weight": 3}, B], "weighted_avg", "The gate", 3.75),
    "exactly": ([check("target_match", target="Gate 4.", mode="exact")], None, " Gate 4.\n", 5.0),
    "not exactly": ([check("target_match", target="Gate 4.", mode="exact")], None, "gate 4", 0.0),
    "but for marks": ([check("target_match", target="Gate 4.")], None, "gate, 4", 5.0),
    "nearly": ([check("target_match", target="It leaves at gate 4", mode="chrf", threshold=0.6)], None, "It leaves at gate 5", 5.0),
    "not nearly": ([check("target_match", target="It leaves at gate 4", mode="chrf", threshold=0.6)], None, "Who knows?", 0.0),
    "a schema": ([check("json_schema", schema={"type": "object", "required": ["n"]})], None, '{"n": 1}', 5.0),
    "another": ([check("json_schema", schema={"properties": {"n": {"maximum": 0}}})], None, '{"n": 1}', 0.0),
    "no json": ([check("json_schema", schema=True)], None, "n: 1", 0.0),
}  # fmt: skip


@pytest.mark.parametrize(("checks", "combine", "reply", "score"), RUBRICS.values(), ids=list(RUBRICS))
def test_rubric(checks: list[dict[str, Any]], combine: Any, reply: str, score: float) -> None:
    grader = RubricChecks({"checks": checks, "scoring": {"combine": combine}})
    assert not grader.problems()
    assert said(grader, reply).score == score


WRONG: dict[str, tuple[Any, str]] = {
    "a name": ("tone", "should be a rubric"),
    "no checks": ({}, "should have checks"),
    "a kind that is none": ({"checks": [check("must_contain")]}, "check 1 is of kind 'must_contain'"),
    "a check that is none": ({"checks": ["x"]}, "check 1 is of kind None"),
    "a key that is not known": ({"checks": [{**A, "value": "x"}]}, "check 1 has 'value'"),
    "no values": ({"checks": [check("must_not_contain")]}, "check 1 needs values"),
    "a pattern": ({"checks": [check("regex", pattern="(a")]}, "check 1 has a pattern that is not valid"),
    "a pattern in a schema": ({"checks": [check("json_schema", schema={"pattern": "(a"})]}, "check 1 has a schema"),
    "a keyword": ({"checks": [check("json_schema", schema={"items": {"anyOf": []}})]}, "anyOf is not supported"),
    "no schema": ({"checks": [check("json_schema")]}, "None is no schema"),
    "a weight": ({"checks": [{**A, "weight": -1}]}, "check 1 has a weight"),
    "no weight": ({"checks": [{**A, "weight": 0}], "scoring": {"combine": "weighted_avg"}}, "has no weight above 0"),
    "a mode": ({"checks": [check("target_match", target="x", mode="bleu")]}, "check 1 has the mode 'bleu'"),
    "no threshold": ({"checks": [check("target_match", target="x", mode="chrf")]}, "needs a threshold with chrf"),
    "a way to combine": ({"checks": [A], "scoring": {"combine": "mean"}}, "combines by 'mean'"),
}


@pytest.mark.parametrize(("rubric", "told"), WRONG.values(), ids=list(WRONG))
def test_a_rubric_that_cannot_work_is_refused(rubric: Any, told: str) -> None:
    assert told in "\n".join(message for _, message in RubricChecks(rubric).problems())


def test_a_run_that_names_another_rubric_is_skipped() -> None:
    grader = RubricChecks({"id": "tone", "checks": [A]})
    for name, outcome in (("tone", "pass"), ("facts", "skipped")):
        story = run().starts(expected=Expected(rubric_ref=name)).says("the gate").ends()
        assert graded(grader, story).outcome == outcome
    assert said(RubricChecks({"checks": [check("llm_judge")]}), "x").evidence == (
        "no executable checks; skipping (not executed: llm_judge)"
    )


FIND = {"tool": "find", "should_run": True}
USES: dict[str, tuple[Any, Iterable[Event], float | None, str]] = {
    "called": ([FIND], run().starts().calls("find").ends(), 5.0, "all 1 tool expectations met (read from the agent's tool-call record)"),
    "more calls add nothing": ([FIND], run().starts().calls("find").calls("find").ends(), 5.0, "all 1 "),
    "should_run is true if missing": ([{"tool": "find"}], run().starts().ends(), 0.0, "0 of 1 tool expectations met; find did not run"),
    "an empty record is no unknown one": ([FIND], run().starts().says("find()").ends(), 0.0, "0 of 1 "),
    "a call that must not have these arguments": (
        [{"tool": "find", "should_run": False, "args": {"all": True}}], run().starts().calls("find", {"all": 1}).ends(), 5.0, "all 1 ",
    ),
    "one that has": (
        [{"tool": "find", "should_run": False, "args": {"all": True}}], run().starts().calls("find", {"all": True}).ends(), 0.0,
        "0 of 1 tool expectations met; find ran with all as expected",
    ),
    "null is not a missing key": ([{**FIND, "args": {"n": None}}], run().starts().calls("find", {}).ends(), 0.0, "0 of 1 "),
    "arguments that are none": ([{**FIND, "args": {"n": 1}}], run().starts().calls("find", "n=1").ends(), 0.0, "0 of 1 "),
    "after": ([{**FIND, "after": "a:log"}], run().starts().calls("log", plugin_id="a:log").calls("find").ends(), 5.0, "all 1 "),
    "after one that came later": ([{**FIND, "after": "log"}], run().starts().calls("find").calls("log").ends(), 0.0, "0 of 1 tool expectations met; find did not run after log"),
    "after itself": ([{**FIND, "after": "find"}], run().starts().calls("find").calls("find").ends(), 5.0, "all 1 "),
    "a plugin without its id": ([{"tool": "a:find"}], run().starts().calls("find").ends(), 0.0, "0 of 1 "),
    "a bare name meets a plugin id": ([{"tool": "index"}], run().starts().calls("find", plugin_id="index").ends(), 5.0, "all 1 "),
    "a function's name with a colon is no plugin id": ([{"tool": "a:find"}], run().starts().calls("a:find").ends(), 0.0, "0 of 1 "),
    "a malformed entry": ([FIND, {"should_run": True}], run().starts().calls("find").ends(), 2.5, "1 of 2 tool expectations met; expectation 2 names no tool"),
    "no list": ({"tool": "find"}, run().starts().calls("find").ends(), 5.0, "all 1 "),
    "spelled out": ([FIND], run().starts(**NO_RECORD).says("Tool call: find.").ends(), 5.0, "all 1 tool expectations met (no tool-call record available; read from the response text"),
    "only mentioned": ([FIND], run().starts(**NO_RECORD).says("I could find it; refind(x).").ends(), 0.0, "0 of 1 tool expectations met; find did not run (no tool-call"),
    "another's name": ([FIND], run().starts(**NO_RECORD).says("Tool call: find-all").ends(), 0.0, "0 of 1 "),
    "args on the fallback": (
        [{**FIND, "args": {"n": 1}}], run().starts(**NO_RECORD).says("find(n=1)").ends(), 0.0,
        "0 of 1 tool expectations met; find: args cannot be checked without a tool-call record (no tool-call record available",
    ),
    "none": ([], run().starts().ends(), None, "no expected_tools; skipping"),
}  # fmt: skip


@pytest.mark.parametrize(("expected", "story", "score", "evidence"), USES.values(), ids=list(USES))
def test_tool_usage(expected: Any, story: Iterable[Event], score: float | None, evidence: str) -> None:
    verdict = graded(Check("c", ToolUsageGrader(expected), "minor", missing_input="source"), story)
    assert verdict.score == score
    assert verdict.evidence.startswith(evidence)


def test_it_is_decided_once_every_entry_is() -> None:
    grader = ToolUsageGrader([FIND, {"tool": "drop", "should_run": False}])
    assert deciding(grader, run().starts().calls("find").calls("find").calls("drop").says("x")) == 3
    assert deciding(grader, run().starts().calls("find").says("x").ends()) is None


def test_a_run_may_bring_anything() -> None:
    for value in ("find", 7, {"a": 1}, [None, "x", {"tool": ""}, {"tool": "a", "args": [1]}]):
        verdict = graded(ToolUsageGrader(), run().starts(expected=Expected(expected_tools=value)).calls("find").ends())
        assert (verdict.outcome, verdict.score) == ("fail", 0.0)
    assert ToolUsageGrader(["find"]).problems() == [("expected_tools", "entry 1 is no mapping with `tool`")]
    assert ToolUsageGrader([{"tool": "find", "arg": 1}]).warnings() == [
        ("expected_tools", "entry 1 has arg, which nothing reads")
    ]


SPEC = {"assertions": [{"id": "a"}, {"id": "b"}]}
STATES: dict[str, tuple[Any, Any, float | None, str, str]] = {
    "no spec": (None, {"a": True}, None, "no_reference", "no droost spec; skipping"),
    "no mapping": ([1], {"a": True}, 0.0, "setup_failed", "setup failed: the spec is no mapping"),
    "no assertions": ({}, None, 0.0, "setup_failed", "setup failed: assertions is no list with entries"),
    "assertions that are no list": ({"assertions": {"a": 1}}, None, 0.0, "setup_failed", "setup failed: "),
    "nothing looked": (SPEC, None, None, "no_probe", "no probe has looked at the state"),
    "nothing answered": (SPEC, {}, 0.0, "setup_failed", "setup failed: the probes returned nothing"),
    "all hold": (SPEC, {"a": True, "b": {"ok": True}}, 5.0, "state_as_expected", "2 of 2 assertions hold\nPASS a\nPASS b"),
    "one has no answer": (SPEC, {"a": True, "b": None}, 0.0, "state_not_as_expected", "1 of 2 assertions hold\nPASS a\nFAIL b: nothing answered"),
    "one is no assertion": ({"assertions": [1]}, {"a": True}, 0.0, "state_not_as_expected", "0 of 1 assertions hold\nFAIL assertion 1: has no id"),
    "1 is not true": ({"assertions": [{"id": "a"}]}, {"a": 1}, 0.0, "state_not_as_expected", "0 of 1 assertions hold\nFAIL a"),
}  # fmt: skip


@pytest.mark.parametrize(("spec", "results", "score", "reason", "evidence"), STATES.values(), ids=list(STATES))
def test_state(spec: Any, results: Any, score: float | None, reason: str, evidence: str) -> None:
    verdict = said(DroostState(spec, results), "All done.")
    assert (verdict.score, verdict.reason) == (score, reason)
    assert verdict.evidence.startswith(evidence)


def test_facts_of_the_run_make_a_judge_apply() -> None:
    told = graded(FactMatchGrader(), run().starts(expected=Expected(expected_facts=["x"])).says("x").ends())
    assert (told.outcome, told.reason) == ("not_graded", "no_judge")


FLAGS = {name.partition(".")[2]: kind for name, kind in catalogue().items() if name.startswith("ai_eval.")}


def test_the_catalogue_says_of_each_grader_what_its_source_says() -> None:
    """R69 to R81."""
    judges = {"relevance", "completeness", "accuracy", "actionability", "fact_match", "groundedness"}
    others = {"format_grader", "rubric_checks", "tool_usage_grader", "droost_state"}
    assert set(FLAGS) == {f"{name}_grader" for name in judges} | others
    assert {name for name, kind in FLAGS.items() if kind.metadata["kind"] == "llm_judge"} == set(FLAGS) - others
    assert {name for name, kind in FLAGS.items() if kind.metadata["observes_actions"] == "yes"} == {
        "tool_usage_grader", "droost_state",
    }  # fmt: skip
    assert {name for name, kind in FLAGS.items() if kind.metadata["sees_tool_calls"] == "yes"} == {
        "accuracy_grader", "groundedness_grader",
    }  # fmt: skip
    assert {name: kind.scale for name, kind in FLAGS.items() if list(kind.scale) != [0, 5]} == {
        "groundedness_grader": (0, 1)
    }


SECRETS = st.text("qxzj", min_size=4, max_size=8)


@settings(max_examples=200, deadline=None)
@given(st.lists(SECRETS, min_size=1, max_size=3), SECRETS, st.booleans())
def test_no_argument_and_no_result_is_ever_shown(values: list[str], result: str, as_json: bool) -> None:
    """P10: not even where the reply repeats them, or the check asks for them."""
    story = run().starts().asks("go")
    for value in values:
        story.calls("find", {"key": value, "more": [value]}).returns(result)
    reply = f"[{values[0]}, {result}" if as_json else f"# {values[0]}: **{result}**"
    events = list(story.says(reply).ends())
    rubric = {"checks": [{"id": "has", "kind": "must_contain_any", "values": [values[0]]}]}
    graders: list[Grader] = [
        FormatGrader("json" if as_json else None),
        RubricChecks(rubric),
        ToolUsageGrader([{"tool": "find", "args": {"key": values[0]}}, {"tool": "find", "args": {"key": "other"}}]),
        *(FLAGS[name]() for name in FLAGS),
    ]
    for grader in graders:
        told = graded(grader, events, evidence="full")
        assert not [secret for secret in (*values, result) if secret in str(told)], told


def test_only_what_asks_for_calls_assumes_some() -> None:
    assert ToolUsageGrader([{"tool": "find", "should_run": False}]).assumes is None
    assert ToolUsageGrader([{"tool": "find"}]).assumes == "the tools are not called"
    assert (
        ToolUsageGrader([{"tool": "find"}, {"tool": "pay", "should_run": False}]).assumes == "the tools are not called"
    )
