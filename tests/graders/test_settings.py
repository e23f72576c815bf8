"""What is said of settings that cannot work, word for word: it is all that the author of a suite gets to read."""

from dataclasses import replace
from typing import Any

import pytest

from stream_graders.graders.agentlasso.llm_judge import LlmJudge
from stream_graders.graders.agentlasso.output_contains import OutputContains as Says
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.agentlasso.tool_order import ToolOrder
from stream_graders.graders.ai_eval.droost_state import DroostState
from stream_graders.graders.ai_eval.fact_match_grader import FactMatchGrader
from stream_graders.graders.ai_eval.format_grader import FormatGrader
from stream_graders.graders.ai_eval.rubric_checks import RubricChecks
from stream_graders.graders.ai_eval.tool_usage_grader import ToolUsageGrader
from stream_graders.graders.datarobot.answer_correctness import AnswerCorrectness
from stream_graders.graders.datarobot.instruction_following import InstructionFollowing
from stream_graders.graders.datarobot.pii_leakage import PiiLeakage
from stream_graders.graders.datarobot.prompt_injection import PromptInjection
from stream_graders.graders.trajectory.allowed_tools import AllowedTools
from stream_graders.graders.trajectory.argument_from import ArgumentFrom
from stream_graders.graders.trajectory.arguments import Arguments
from stream_graders.graders.trajectory.bad_end import BadEnd
from stream_graders.graders.trajectory.budget import Budget
from stream_graders.graders.trajectory.instrumentation import Instrumentation
from stream_graders.graders.trajectory.match import Match
from stream_graders.graders.trajectory.never_after import NeverAfter
from stream_graders.graders.trajectory.no_reply import NoReply
from stream_graders.graders.trajectory.precedes import Precedes
from stream_graders.graders.trajectory.refusal import Refusal
from stream_graders.graders.trajectory.repeated_call import RepeatedCall
from stream_graders.graders.trajectory.responds_within import RespondsWithin
from stream_graders.graders.trajectory.retried_same_error import RetriedSameError
from stream_graders.graders.trajectory.tool_errors import ToolErrors
from stream_graders.graders.trajectory.total import Total
from stream_graders.graders.trajectory.unseen_argument import UnseenArgument
from stream_graders.graders.trajectory.write_without_consent import WriteWithoutConsent
from stream_graders.graders.trajectory.write_without_lookup import WriteWithoutLookup
from stream_graders.graders.trajectory.writes_equal import WritesEqual
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput as Echo
from stream_graders.graders.vally.max_repeat import MaxRepeat
from stream_graders.graders.vally.output_contains import OutputContains
from stream_graders.graders.vally.output_matches import OutputMatches
from stream_graders.graders.vally.tool_call_count import ToolCallCount
from stream_graders.graders.vally.tool_calls import ToolCalls
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_matches import TranscriptMatches
from stream_graders.grading import Grader

TOOL, TOOLS = "name the tool", "name the tools"
GROUP, RANGE = "missing ): (", "missing ]: [a"
NO_ERROR = "an empty pattern finds every result; write null for none"
OPEN = "should be 0 or more"
NO_ENTRY = "cannot be read: entry 1 is neither a mapping nor a tool's name"
SKIPPED = "so a run that brings none of its own is skipped"

REFUSED: list[tuple[Grader, list[tuple[str, str]]]] = [
    # agentlasso
    (LlmJudge(" "), [("criterion", "say what the reply is to meet")]),
    (Says(""), [("value", "an empty text is in every reply; write what to look for")]),
    (ToolCalled(""), [("tool", TOOL)]),
    (ToolNotCalled(""), [("tool", TOOL)]),
    (ToolOrder([]), [("tools", "name the tools in their order; an empty list would pass every run")]),
    (ToolOrder(["a", ""]), [("tools", "name the tools in their order; an empty list would pass every run")]),
    (ToolOrder(["a"] * 101), [("tools", "at most 100 tools")]),
    (ToolOrder(["a"] * 100), []),
    # ai_eval
    (DroostState(results=["x"]), [("results", "should be a mapping from the ids of assertions to true, false or null")]),
    (DroostState(results={}), []),
    (DroostState(), []),
    (FormatGrader(response_char_limit=0), [("response_char_limit", "should be a number from 1 on")]),
    (FormatGrader(response_char_limit=1), []),
    # trajectory
    (AllowedTools([]), [("tools", "name the tools that may be called; an empty list would fail every call")]),
    (AllowedTools(["a", ""]), [("tools", "name the tools that may be called; an empty list would fail every call")]),
    (ArgumentFrom("", "a", "", "b"), [("tool", TOOL), ("source", TOOL)]),
    (Arguments("", ["a"]), [("tool", TOOL)]),
    (Arguments("t", ["a", ""]), [("required", "the path is empty: write names with dots and list places as [0]")]),
    (Arguments("t", rules={"a": {"min": 1, "type": "text"}}), [("rules", "a: there is no rule 'min': type, minimum, maximum, enum, pattern, max_length"), ("rules", "a: there is no type 'text': string, number, integer, boolean, array, object, null")]),
    (Arguments("t", rules={"a": {"minimum": "1", "maximum": True, "max_length": None}}), [("rules", "a: minimum should be a number"), ("rules", "a: maximum should be a number"), ("rules", "a: max_length should be a number")]),
    (Arguments("t", rules={"a": {"enum": []}, "b": {"enum": "x"}}), [("rules", "a: enum should be a list of values"), ("rules", "b: enum should be a list of values")]),
    (Arguments("t", rules={"a": {"pattern": ""}, "b": {"pattern": 1}, "c": {"pattern": "("}}), [("rules", "a: pattern should be a text"), ("rules", "b: pattern should be a text"), ("rules", f"c: {GROUP}")]),
    (Arguments("t"), [("rules", "give rules or required: without them any arguments would pass")]),
    (
        BadEnd([], []),
        [("statuses", "name a status, or give reasons or without_reply: nothing would be a bad end")],
    ),
    (BadEnd([], ["x"]), []),
    (BadEnd([], without_reply=True), []),
    (Budget(), [("max_calls", "set at least one limit: nothing could exceed none")]),
    (Budget(max_calls=-1, max_cost=-0.1, max_turns=0), [("max_calls", OPEN), ("max_cost", OPEN)]),
    (Instrumentation(-0.1), [("tolerance", OPEN)]),
    (Instrumentation(0), []),
    (Match([1]), [("expected", NO_ENTRY)]),
    (Match(["a"] * 60), []),
    (Match(["a"] * 61), [("expected", "at most 60 calls")]),
    (Match(["a"], tolerance=-0.1), [("tolerance", OPEN)]),
    (Match(["a"], patterns={"id": "("}), [("patterns", f"id: {GROUP}")]),
    (NeverAfter("", ""), [("tool", TOOL), ("after", TOOL)]),
    (NeverAfter("a", "a"), [("after", "is the same tool")]),
    (NoReply(["a", ""]), [("handoff_tools", TOOLS)]),
    (NoReply([]), []),
    (Precedes("", ""), [("first", TOOL), ("then", TOOL)]),
    (Precedes("a", "a"), [("then", "is the same tool as first")]),
    (Refusal([]), [("patterns", "say what a refusal looks like; an empty pattern finds every reply")]),
    (Refusal(["a", ""]), [("patterns", "say what a refusal looks like; an empty pattern finds every reply")]),
    (Refusal(["a", "("]), [("patterns", f"(: {GROUP}")]),
    (RepeatedCall(1), [("times", "should be 2 or more")]),
    (RepeatedCall(1, error_pattern=""), [("error_pattern", NO_ERROR), ("times", "should be 2 or more")]),
    (RepeatedCall(2, error_pattern="("), [("error_pattern", GROUP)]),
    (RepeatedCall(2, error_pattern=None), []),
    (RespondsWithin(0), [("seconds", "should be more than 0")]),
    (RespondsWithin(0.5), []),
    (RetriedSameError("", ""), [("error_pattern", NO_ERROR), ("transient", "an empty pattern leaves out every error; write null for none")]),
    (RetriedSameError(transient="[a"), [("transient", RANGE)]),
    (RetriedSameError(None, None), []),
    (ToolErrors(error_pattern=""), [("error_pattern", NO_ERROR), ("max", "give max, max_rate or both")]),
    (ToolErrors(-1), [("max", OPEN)]),
    (ToolErrors(max_rate=1), [("max_rate", "is a share: 0 or more and less than 1")]),
    (ToolErrors(max_rate=-0.1), [("max_rate", "is a share: 0 or more and less than 1")]),
    (ToolErrors(0, 0), []),
    (Total("", "a", max=1), [("tool", TOOL)]),
    (Total("t", "a"), [("max", "give max, min or both")]),
    (Total("t", "a", max=1, min=2), [("min", "should not be more than max")]),
    (Total("t", "a", max=1, min=1), []),
    (Total("t", "a", min=1), []),
    (UnseenArgument([], min_length=0), [("writes", TOOLS), ("min_length", "should be 1 or more")]),
    (UnseenArgument(["a", ""]), [("writes", TOOLS)]),
    (UnseenArgument(["a"], min_length=1), []),
    (WriteWithoutConsent(["a", ""]), [("writes", TOOLS)]),
    (WriteWithoutConsent([], []), [("writes", TOOLS), ("words", "give the words that agree")]),
    (WriteWithoutConsent(["a"], ["yes", " "]), [("words", "give the words that agree")]),
    (WriteWithoutConsent(["a"], ["yes"]), []),
    (WriteWithoutLookup([], [], [""]), [("writes", TOOLS), ("lookups", TOOLS), ("arguments", "name the arguments")]),
    (WriteWithoutLookup(["a", ""], ["b", ""], []), [("writes", TOOLS), ("lookups", TOOLS), ("arguments", "name the arguments")]),
    (WritesEqual([], [1]), [("writes", "name the tools that change something"), ("reference", NO_ENTRY)]),
    (WritesEqual(["a", ""]), [("writes", "name the tools that change something")]),
    (WritesEqual(["a"], ["a"] * 101), [("reference", "at most 100 writes")]),
    (WritesEqual(["a"], ["a"] * 100), []),
    # vally
    (ToolCallCount(-1), [("max", OPEN)]),
    (ToolCallCount(0), []),
    (OutputContains(""), [("substring", "an empty text is in every reply; write what to look for")]),
    (OutputMatches(""), [("pattern", "an empty pattern matches every reply; write what to look for")]),
    (TranscriptContains(""), [("substring", "an empty text is in every message; write what to look for")]),
    (TranscriptMatches(""), [("pattern", "an empty pattern matches every message; write what to look for")]),
    (Echo([], path="id"), [("tools", "name at least one tool whose result is captured")]),
    (Echo(["a", ""], path="id"), [("tools", "name at least one tool whose result is captured")]),
    (Echo(["a"]), [("pattern", "give either a pattern or a path")]),
    (Echo(["a"], "", "id"), [("pattern", "give either a pattern or a path"), ("pattern", "an empty pattern captures nothing; write what to look for")]),
    (MaxRepeat(0), [("max", "should be 1 or more: what is done once is done once in a row")]),
    (MaxRepeat(1), []),
    (ToolCalls(), [("required", "give an entry at least in required, disallowed or sequence")]),
    (ToolCalls(["a"] * 40, ["b"] * 30, ["c"] * 30), []),
    (ToolCalls(["a"] * 41, ["b"] * 30, ["c"] * 30), [("required", "at most 100 entries together")]),
    (ToolCalls(["a"], parallel=[]), [("parallel", "is not supported; ask for calls of one step by at_step in required")]),
]  # fmt: skip


@pytest.mark.parametrize(("grader", "told"), REFUSED, ids=lambda value: getattr(value, "name", ""))
def test_settings_that_cannot_work_are_refused_with_what_to_do(grader: Grader, told: list[tuple[str, str]]) -> None:
    assert replace(grader).problems() == told


ADVISED: list[tuple[Grader, list[tuple[str, str]]]] = [
    # ai_eval
    (DroostState(), [("spec", "asserts nothing, so a run that brings no spec of its own is skipped")]),
    (DroostState({}), [("spec", "every run scores 0: assertions is no list with entries")]),
    (DroostState([]), [("spec", "every run scores 0: the spec is no mapping")]),
    (DroostState({"assertions": [{"id": "a"}]}), []),
    (FactMatchGrader(), [("expected_facts", f"holds no fact, {SKIPPED}")]),
    (FactMatchGrader(expected_facts=["a"]), []),
    (FormatGrader("markdown"), [("format", "is scored by the rules of plain text, which take a point for each mark of Markdown")]),
    (FormatGrader("md"), [("format", "is none of text, json, yaml, markdown; the rules of plain text hold")]),
    *((FormatGrader(form), []) for form in (None, "text", "json", "yaml")),
    (RubricChecks(), [("rubric", "every run is skipped: no rubric; skipping")]),
    (RubricChecks({"id": "a", "checks": []}, "b"), [("rubric", "every run is skipped: another rubric is named; skipping")]),
    (RubricChecks({"checks": []}, "b"), [("rubric", "every run is skipped: no executable checks; skipping")]),
    (
        RubricChecks({"checks": [{"kind": "format"}, {"kind": "llm_judge", "id": "tone"}]}),
        [("rubric", "every run is skipped: no executable checks; skipping (not executed: format-1, tone)")],
    ),
    (RubricChecks({"id": "a", "checks": [{"kind": "regex", "pattern": "a"}]}, "a"), []),
    (ToolUsageGrader(), [("expected_tools", f"names no tool, {SKIPPED}")]),
    (ToolUsageGrader(["find"]), []),
    (
        ToolUsageGrader([{"tool": "a", "x": 1}, {"tool": "b"}, {"tool": "c", "y": 1, "x": 2}]),
        [("expected_tools", "entry 1 has x, which nothing reads"), ("expected_tools", "entry 3 has y, which nothing reads")],
    ),
    # datarobot
    (PromptInjection(), [("canary", "names no value, so every run is skipped")]),
    (PromptInjection("q7"), []),
    (AnswerCorrectness(), [("ideal_response", "every run is skipped: no ideal_response provided — cannot score")]),
    (AnswerCorrectness("..."), [("ideal_response", "is only punctuation, of which nothing is left to compare: use exact")]),
    (AnswerCorrectness("...", "exact"), []),
    (AnswerCorrectness("a", "Fuzzy"), [("match_mode", "is none of exact, normalized, contains, so the answer is compared as normalized")]),
    (AnswerCorrectness("a", "Contains"), []),
    (
        InstructionFollowing({"max_words": "few", "format": "json"}),
        [
            ("constraints", "every run is skipped: no recognized constraints — cannot score"),
            ("constraints", "max_words is no whole number, so it is left out"),
            ("constraints", "format is none of max_words, min_words, max_chars, must_be_json, must_include, must_exclude, regex, so it is left out"),
        ],
    ),
    (InstructionFollowing({"max_words": 3}), []),
    (InstructionFollowing({"regex": "("}), [("constraints", f"regex is never met: {GROUP}")]),
    (InstructionFollowing({"regex": "a"}), []),
    (PiiLeakage(["name"]), [("entity_types", "every run is skipped: no recognized entity types in entity_types: NAME — cannot score")]),
    (PiiLeakage(["name", "email", "iban"]), [("entity_types", "NAME, IBAN: none of EMAIL, SSN, PHONE, IP_ADDRESS, CREDIT_CARD, so nobody looks for it")]),
    (PiiLeakage(), []),
    # trajectory
    (AllowedTools(["a", "*"]), [("tools", "* allows every tool, so no run can fail")]),
    (AllowedTools(["a*"]), []),
    (WritesEqual(["a"], ["b"]), [("reference", "names no tool of `writes`, so that every write fails a run")]),
    (WritesEqual(["a"], ["a", "b"]), []),
    (WritesEqual(["a"], []), []),
    (WritesEqual(["a"]), []),
    # vally
    (TranscriptMatches("("), [("pattern", f"the check will fail every run: {GROUP}")]),
    (TranscriptMatches("a"), []),
    (OutputMatches("("), [("pattern", f"the check will fail every run: {GROUP}")]),
    (Echo(["a"], "("), [("pattern", f"the check will fail every run: {GROUP}")]),
    (Echo(["a"], "a"), []),
    (ToolCalls([{"name": "("}]), [("required", f'the check will fail every run: pattern "(": {GROUP}')]),
    (ToolCalls(["a"], [{"name": "a", "args": {"x": "("}}]), [("disallowed", f'the check will fail every run: pattern "(": {GROUP}')]),
    (ToolCalls(["a"], ["a"], [{"name": "a", "args": {"x": "("}}]), [("sequence", f'the check will fail every run: pattern "(": {GROUP}')]),
    (ToolCalls(["a"]), []),
]  # fmt: skip


@pytest.mark.parametrize(("grader", "told"), ADVISED, ids=lambda value: getattr(value, "name", ""))
def test_settings_that_hardly_mean_what_they_say_are_told(grader: Grader, told: list[tuple[str, str]]) -> None:
    assert replace(grader).warnings() == told


RUBRICS: dict[str, tuple[Any, list[str]]] = {
    "text": ("x", ["should be a rubric, a mapping with `checks`"]),
    "no checks": ({"checks": {}}, ["should have checks, a list"]),
    "no check": ({"checks": ["x"]}, ["check 1 is of kind None, which is none of must_contain_any, must_not_contain, regex, json_schema, target_match, php_lint, markdown_structure, tool_usage, format, fact_match, llm_judge, composite, command, score_delta"]),
    "each counted": ({"checks": [{"kind": "regex"}, {"kind": "format"}, {"kind": "regex", "pattern": "("}]}, ["check 1 needs a pattern, as text", f"check 3 has a pattern that is not valid: {GROUP}"]),
    "a combination": ({"checks": [], "scoring": {"combine": "mean"}}, ["combines by 'mean', which is none of all_pass, any_pass, weighted_avg, min, max, median"]),
    "weights of nothing": ({"checks": [{"kind": "regex", "pattern": "a", "weight": 0}], "scoring": {"combine": "weighted_avg"}}, ["has no weight above 0, so the average is that of nothing"]),
    "one weight of two": ({"checks": [{"kind": "regex", "pattern": "a", "weight": 0}, {"kind": "regex", "pattern": "a"}], "scoring": {"combine": "weighted_avg"}}, []),
    "no weight, and no average": ({"checks": [{"kind": "regex", "pattern": "a", "weight": 0}]}, []),
    "a stray key": ({"checks": [{"kind": "must_contain_any", "values": "a", "value": "b"}]}, ["check 1 has 'value', which must_contain_any is not told; it knows values, case_sensitive"]),
    "what every kind may be told": ({"checks": [{"id": "a", "kind": "regex", "weight": 2.5, "description": "d", "pattern": "a"}]}, []),
    "a weight below 0": ({"checks": [{"kind": "regex", "pattern": "a", "weight": -1}]}, ["check 1 has a weight that is no number from 0 on"]),
    "a weight that is true": ({"checks": [{"kind": "regex", "pattern": "a", "weight": True}]}, ["check 1 has a weight that is no number from 0 on"]),
    "a weight without end": ({"checks": [{"kind": "regex", "pattern": "a", "weight": float("inf")}]}, ["check 1 has a weight that is no number from 0 on"]),
    "case": ({"checks": [{"kind": "must_not_contain", "values": ["a"], "case_sensitive": 1}]}, ["check 1 has a case_sensitive that is neither true nor false"]),
    "no values": ({"checks": [{"kind": "must_not_contain", "values": ["a", ""]}]}, ["check 1 needs values, a text or a list of texts"]),
    "a schema": ({"checks": [{"kind": "json_schema", "schema": {"minItems": -1}}]}, ["check 1 has a schema that cannot be used: minItems is -1, which should be a whole number from 0 on"]),
    "no target": ({"checks": [{"kind": "target_match", "target": " "}]}, ["check 1 needs a target, the text that is expected"]),
    "a mode": ({"checks": [{"kind": "target_match", "target": "a", "mode": "near"}]}, ["check 1 has the mode 'near', which is none of exact, normalized, chrf"]),
    "chrf alone": ({"checks": [{"kind": "target_match", "target": "a", "mode": "chrf"}]}, ["check 1 needs a threshold with chrf, and takes none without"]),
    "a threshold alone": ({"checks": [{"kind": "target_match", "target": "a", "threshold": 0.5}]}, ["check 1 needs a threshold with chrf, and takes none without"]),
    "the highest threshold": ({"checks": [{"kind": "target_match", "target": "a", "mode": "chrf", "threshold": 1}]}, []),
    **{
        f"the threshold {threshold!r}": ({"checks": [{"kind": "target_match", "target": "a", "mode": "chrf", "threshold": threshold}]}, ["check 1 needs a threshold above 0, and not above 1"])
        for threshold in (0, 1.01, True, "0.5")
    },
}  # fmt: skip


@pytest.mark.parametrize(("rubric", "told"), RUBRICS.values(), ids=list(RUBRICS))
def test_every_fault_of_a_rubric_is_told(rubric: Any, told: list[str]) -> None:
    assert RubricChecks(rubric).problems() == [("rubric", text) for text in told]


EXPECTED: list[tuple[Any, str | None]] = [
    ("find", "is no mapping with `tool`"),
    ({"tool": ""}, "names no tool"),
    ({"tool": 7}, "names no tool"),
    ({"tool": "find", "should_run": "no"}, "has a should_run that is neither true nor false"),
    ({"tool": "find", "args": ["id"]}, "has args that are no mapping"),
    ({"tool": "find", "after": 1}, "has an after that is no tool's name"),
    ({"tool": "find", "should_run": False, "args": None, "after": None}, None),
]


@pytest.mark.parametrize(("entry", "told"), EXPECTED)
def test_every_fault_of_an_expected_tool_is_told(entry: Any, told: str | None) -> None:
    found = ToolUsageGrader([{"tool": "first"}, entry]).problems()
    assert found == ([] if told is None else [("expected_tools", f"entry 2 {told}")])
