"""`agentlasso.output_contains`, `output_not_contains` and `output_valid_json`: R43 to R47, R55, R56, R60."""

import pytest

from stream_graders.graders.agentlasso.output_contains import OutputContains
from stream_graders.graders.agentlasso.output_not_contains import OutputNotContains
from stream_graders.graders.agentlasso.output_valid_json import OutputValidJson
from stream_graders.grading import Grader, shown
from stream_graders.suites import Check
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, holds

UNREPORTED = "the run reported no reply, so there is nothing to check"

CONTAINS = {
    "the reply holds it": ("2 days", False, "in 2 Days.", "pass", "“2 days” found: in 2 Days."),
    "it does not": ("2 days", False, "soon", "fail", "“2 days” was not found in the reply."),
    "letters that a pattern would read otherwise": ("1+1", False, "1+1=2", "pass", "“1+1” found: 1+1=2"),
    "lowered, not folded": ("STRASSE", False, "straße", "fail", "“STRASSE” was not found in the reply."),
    "a pattern": (r"\b42\b", True, "(42)!", "pass", r"“\b42\b” found: (42)!"),
    "a pattern minds case": ("days", True, "2 Days", "fail", "“days” was not found in the reply."),
    "unless it says so": ("(?i)days", True, "2 Days", "pass", "“(?i)days” found: 2 Days"),
    "a dot does not cross lines": ("a.b", True, "a\nb", "fail", "“a.b” was not found in the reply."),
    "unless it says so, too": ("(?s)a.b", True, "a\nb", "pass", "“(?s)a.b” found: a\nb"),
}


@pytest.mark.parametrize(("value", "regex", "reply", "outcome", "evidence"), CONTAINS.values(), ids=list(CONTAINS))
def test_contains(value: str, regex: bool, reply: str, outcome: str, evidence: str) -> None:
    story = run().starts().says("one moment").says(reply).ends()
    holds(OutputContains(value, regex), Case(story, outcome, evidence))
    other = {"pass": ("fail", f"Forbidden {evidence}"), "fail": ("pass", evidence)}[outcome]
    holds(OutputNotContains(value, regex), Case(story, *other))


def test_the_detail_quotes_what_stands_around_the_hit() -> None:
    before, after = "It should arrive in 3-5 business days. " * 5, " Then we will see." * 10
    verdict = graded(OutputNotContains("guarantee"), run().says(f"{before}I guarantee it.{after}").ends())
    assert verdict.evidence.startswith("Forbidden “guarantee” found: …")
    assert "business days. I guarantee it." in verdict.evidence
    assert verdict.evidence.endswith("…")
    assert len(verdict.evidence) < 160
    assert verdict.points[0].excerpt == verdict.evidence.removeprefix("Forbidden “guarantee” found: ")


def test_a_detail_is_masked_like_any_evidence() -> None:
    found = graded(OutputNotContains("sk-[A-Za-z0-9]{8,}", regex=True), run().says("use sk-EXAMPLEabcdef1").ends())
    assert found.outcome == "fail"
    assert "EXAMPLEabcdef1" not in str(found)


EMPTY: dict[str, tuple[Grader, str, str]] = {
    "contains": (OutputContains("x"), "fail", "“x” was not found in the reply."),
    "does not contain": (OutputNotContains("x"), "pass", "“x” was not found in the reply."),
    "matches nothing at all": (OutputContains("^$", regex=True), "pass", "“^$” found: "),
    "does not match nothing": (OutputNotContains(r"^\s*$", regex=True), "fail", r"Forbidden “^\s*$” found: "),
    "is json": (OutputValidJson(), "fail", "The reply is not valid JSON: it is empty."),
}


@pytest.mark.parametrize(("grader", "outcome", "evidence"), EMPTY.values(), ids=list(EMPTY))
def test_an_empty_reply_is_checked_as_text_and_none_at_all_fails(grader: Grader, outcome: str, evidence: str) -> None:
    holds(grader, Case(run().starts().says("").ends(), outcome, evidence))
    holds(grader, Case(run().starts().asks("x").ends(), "fail", UNREPORTED))
    assert graded(grader, run().starts().ends()).reason == "reply_not_reported"


def test_what_may_be_missing_is_not_graded_unless_the_source_is_to_be_followed() -> None:
    silent = run().starts(reports=("tools", "end")).ends()
    for grader in (OutputContains("x"), OutputNotContains("x"), OutputValidJson()):
        assert graded(grader, silent).reason == "content_missing"
        assert graded(grader, silent, missing_input="source").evidence == UNREPORTED


def test_a_pattern_that_is_not_valid_fails_every_run_and_is_told_before() -> None:
    for grader in (OutputContains("([0-9+ days", regex=True), OutputNotContains("(?=a)", regex=True)):
        ((setting, message),) = grader.warnings()
        assert setting == "value"
        error = message.removeprefix("the check will fail every run: ")
        for story in (run().says("2 days").ends(), run().starts(reports=()).ends()):
            verdict = graded(grader, story)
            assert (verdict.outcome, verdict.reason) == ("fail", "invalid_pattern")
            assert verdict.evidence == f"invalid pattern {shown(grader.value)}: {error}"
    assert OutputContains("([0-9+ days").warnings() == []


def test_a_value_is_asked_for() -> None:
    assert [setting for setting, _ in OutputContains("").problems()] == ["value"]
    assert [setting for setting, _ in OutputNotContains("").problems()] == ["value"]


CUT = {
    "the text is there": (OutputContains("q7"), "lot q7", "pass"),
    "it is not": (OutputContains("q7"), "lot", "not_graded"),
    "a forbidden text is there": (OutputNotContains("q7"), "lot q7", "fail"),
    "it may still come": (OutputNotContains("q7"), "lot", "not_graded"),
    "a pattern has its match within": (OutputContains("q7", regex=True), "lot q7.", "pass"),
    "a match at the cut may be another": (OutputContains(r"q7\b", regex=True), "lot q7", "not_graded"),
    "json may go on": (OutputValidJson(), "{}", "not_graded"),
    "or be made whole": (OutputValidJson(), "{", "not_graded"),
}


@pytest.mark.parametrize(("grader", "reply", "outcome"), CUT.values(), ids=list(CUT))
def test_of_a_cut_reply_stands_what_no_further_text_could_change(grader: Grader, reply: str, outcome: str) -> None:
    assert graded(grader, run().starts().says(reply, flags=("truncated",)).ends()).outcome == outcome
    assert graded(grader, run().starts().ends(output=reply, flags=("truncated",))).outcome == outcome


JSON = {
    "an object": ('{"ok": [1, null]}', None),
    "blanks around": ("\n\t {} \r\n", None),
    "a bare number": ("42", None),
    "a bare string": ('"x"', None),
    "numbers of any size": (f"[1e999, {'9' * 5_000}]", None),
    "a fence within a string": ('{"md": "```js\\n1\\n```"}', None),
    "half a surrogate pair, escaped": ('"\\ud800"', None),
    "keys that repeat": ('{"a": 1, "a": 2}', None),
    "200 levels": ("[" * 200 + "]" * 200, None),
    "NaN": ('{"score": NaN}', "NaN is no JSON value"),
    "Infinity": ("-Infinity", "-Infinity is no JSON value"),
    "a fence around": ("```json\n{}\n```", "it is a code fence"),
    "a byte order mark": ('\ufeff{"a":1}', "it begins with a byte order mark (U+FEFF)"),
    "only blanks": ("  ", "it is empty"),
    "words": ("Here: {}", "expecting value at line 1, column 1"),
    "words after it": ("{}\nDone.", "extra data at line 2, column 1"),
    "an unclosed string": ('{"a": "b', "unterminated string starting at line 1, column 7"),
    "a blank that is none": ("\xa0{}", "expecting value at line 1, column 1"),
    "201 levels": ("[" * 201 + "]" * 201, "it is nested deeper than 200 levels"),
    "brackets without end": ("[" * 100_000, "it is nested deeper than 200 levels"),
    "brackets in a string": ('"' + "[" * 300 + '"', None),
}


@pytest.mark.parametrize(("reply", "wrong"), JSON.values(), ids=list(JSON))
def test_json(reply: str, wrong: str | None) -> None:
    story = run().starts().says(reply).ends()
    evidence = "The reply is valid JSON." if wrong is None else f"The reply is not valid JSON: {wrong}."
    holds(OutputValidJson(), Case(story, "pass" if wrong is None else "fail", evidence))


STORIES = {
    "the output of the end counts": (run().says("no").ends(output="q7"), "pass"),
    "an empty closing message hides nothing": (run().says("q7").says("").ends(), "pass"),
    "only the last message counts": (run().says("q7").says("no").ends(), "fail"),
    "a tool result is no reply": (run().starts().calls("t").returns("q7").says("no").ends(), "fail"),
}


@pytest.mark.parametrize(("story", "outcome"), STORIES.values(), ids=list(STORIES))
def test_which_text_is_the_reply(story: Story, outcome: str) -> None:
    assert graded(OutputContains("Q7"), story).outcome == outcome


def test_a_turn_has_its_own_reply() -> None:
    story = run().starts().asks("a").says("q7").asks("b").says("no").ends(output="q7")
    assert graded(Check("c", OutputContains("q7"), "minor", turn=0), story).outcome == "pass"
    assert graded(Check("c", OutputContains("q7"), "minor", turn=1), story).outcome == "fail"


def test_nothing_is_decided_before_the_end() -> None:
    for grader in (OutputContains("q7"), OutputNotContains("q7"), OutputValidJson()):
        assert deciding(grader, run().starts().says("q7").asks("x")) is None
