"""`vally.assistant_contains_tool_output`: R1 to R23, and a path in place of a pattern (design 6)."""

from typing import Any

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.vally.assistant_contains_tool_output import LITERAL, VALUES, AssistantContainsToolOutput
from stream_graders.suites import Check
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, holds

PATTERN = "ORD-[0-9]+"
NOTHING = 'no "depot" output matched "ORD-[0-9]+"'


def told(result: Any, *said: str, tool: str = "depot", **body: Any) -> Story:
    """A run in which a tool returns something and the assistant then speaks."""
    story = run().starts().asks("where is it?").calls(tool).returns(result, **body)
    for text in said:
        story.says(text)
    return story.ends()


CASES = {
    "the value is repeated": Case(
        told("is ORD-12", "It is ORD-12."), "pass", 'assistant echoed captured value "ORD-12"'
    ),
    "the value is part of a longer word": Case(
        told("ORD-12", "xORD-123"), "pass", 'assistant echoed captured value "ORD-12"'
    ),
    "another value is said": Case(told("ORD-12", "ORD-13"), "fail", "assistant did not echo 1 captured value(s)"),
    "the case differs": Case(told("ORD-12", "ord-12"), "fail", "assistant did not echo 1 captured value(s)"),
    "nothing matches": Case(told("none", "ORD-12"), "fail", NOTHING),
    "the tool never ran": Case(run().starts().says("ORD-12").ends(), "fail", NOTHING),
    "another tool returned it": Case(told("ORD-12", "ORD-12", tool="depots"), "fail", NOTHING),
    "a tool with a longer name": Case(told("ORD-12", "ORD-12", tool="depot-find"), "fail", NOTHING),
    "a tool with another case": Case(told("ORD-12", "ORD-12", tool="Depot"), "fail", NOTHING),
    "a tool of the namespace": Case(
        told("ORD-12", "ORD-12", tool="depot.find"), "pass", 'assistant echoed captured value "ORD-12"'
    ),
    "the message comes before the result": Case(
        run().starts().says("ORD-12").calls("depot").returns("ORD-12").ends(),
        "fail",
        "assistant did not echo 1 captured value(s)",
    ),
    "the echo is split over two messages": Case(
        told("ORD-12", "ORD-", "12"), "fail", "assistant did not echo 1 captured value(s)"
    ),
    "only the user repeats it": Case(
        run().starts().calls("depot").returns("ORD-12").asks("ORD-12").ends(),
        "fail",
        "assistant did not echo 1 captured value(s)",
    ),
    "only a later argument repeats it": Case(
        run().starts().calls("depot").returns("ORD-12").calls("x", {"id": "ORD-12"}).ends(),
        "fail",
        "assistant did not echo 1 captured value(s)",
    ),
    "the first match of a result counts": Case(
        told("ORD-1 ORD-22", "ORD-22"), "fail", "assistant did not echo 1 captured value(s)"
    ),
    "captures are counted, not values": Case(
        run().starts().calls("depot").returns("ORD-1").calls("depot").returns("ORD-1").says("no").ends(),
        "fail",
        "assistant did not echo 2 captured value(s)",
    ),
    "any of several values is enough": Case(
        run().starts().calls("depot").returns("ORD-7").calls("depot").returns("ORD-8").says("ORD-8").ends(),
        "pass",
        'assistant echoed captured value "ORD-8"',
    ),
    "of the values in one message the one captured first": Case(
        run().starts().calls("depot").returns("ORD-8").calls("depot").returns("ORD-7").says("ORD-7, ORD-8").ends(),
        "pass",
        'assistant echoed captured value "ORD-8"',
    ),
    "a failed call still returned it": Case(
        told("ORD-12", "ORD-12", is_error=True), "pass", 'assistant echoed captured value "ORD-12"'
    ),
    "a result without a name takes that of its call": Case(
        told("ORD-12", "ORD-12", name=None), "pass", 'assistant echoed captured value "ORD-12"'
    ),
    "an object is searched as compact JSON": Case(
        told({"a": {"id": "ORD-12"}}, "ORD-12"), "pass", 'assistant echoed captured value "ORD-12"'
    ),
    "null is no output": Case(told(None, "ORD-12"), "fail", NOTHING),
    "empty text is no output": Case(told("", "ORD-12"), "fail", NOTHING),
    "messages without text": Case(
        run().starts().calls("depot").returns("ORD-1").says(None).says("").ends(),
        "fail",
        "assistant did not echo 1 captured value(s)",
    ),
    "in the next turn": Case(
        run().starts().calls("depot").returns("ORD-1").asks("and?").says("ORD-1").ends(),
        "pass",
        'assistant echoed captured value "ORD-1"',
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(AssistantContainsToolOutput(["depot"], PATTERN), case)


GROUPS = {
    "group 1 is the value": ('"id":"([^"]+)"', {"id": "Q7"}, "lot Q7", "pass"),
    "only group 1": ("(a)(b)", "ab", "b", "fail"),
    "a group that took no part": ("x(y)?", "x", "x", "fail"),
    "a group that matched nothing": ("x(y*)", "x", "x", "fail"),
    "no group at all, only a non-capturing one": ("x(?:y)z", "xyz", "xyz", "pass"),
    "a named group": ("x(?<value>[0-9])", "x7", "7", "pass"),
    "a flag at the start": ("(?i)ord-[0-9]", "ORD-7", "ORD-7", "pass"),
    "the value has regex characters": ("v=(.*)", "v=a.c", "abc", "fail"),
    "the end is the end, not the last line break": ("7$", "7\n", "7", "fail"),
    "digits are ASCII": (r"\d+", "٣", "٣", "fail"),
    "non-ASCII is kept in JSON": ("é[a-z]+", ["étage"], "étage", "pass"),
    "a composed and a decomposed form differ": (".+", "\u00e9", "e\u0301", "fail"),
    "numbers are exact": ("[0-9]+", {"n": 12345678901234567890123}, "12345678901234567890123", "pass"),
}


@pytest.mark.parametrize(("pattern", "result", "said", "outcome"), GROUPS.values(), ids=list(GROUPS))
def test_what_a_pattern_captures(pattern: str, result: Any, said: str, outcome: str) -> None:
    assert graded(AssistantContainsToolOutput(["depot"], pattern), told(result, said)).outcome == outcome


def test_tools_and_patterns_are_shown_as_json_strings() -> None:
    grader = AssistantContainsToolOutput(["depot", 'sto"re'], '"é\\d"')
    assert graded(grader, told("x", "x")).evidence == 'no "depot", "sto\\"re" output matched "\\"é\\\\d\\""'


@pytest.mark.parametrize(
    ("pattern", "told_part"),
    [("(a", "missing )"), ("(?=x)", "look-around"), (r"(a)\1", "back-references")],
)
def test_an_invalid_pattern_fails_and_says_so(pattern: str, told_part: str) -> None:
    grader = AssistantContainsToolOutput(["depot"], pattern)
    assert graded(grader, told("a", "a")).outcome == "fail"
    verdict = graded(grader, run().starts(reports=()).ends())  # Even where nothing else is known.
    assert (verdict.outcome, verdict.reason) == ("fail", "invalid_pattern")
    assert told_part in verdict.evidence
    assert grader.problems() == []
    assert [setting for setting, _ in grader.warnings()] == ["pattern"]


PATHS = {
    "a name": ("id", {"id": "Q7"}, "Q7", "pass"),
    "deeper, and a list": ("items[1].sku", {"items": [{}, {"sku": "S-1"}]}, "S-1", "pass"),
    "text that is JSON": ("id", '{"id":"Q7"}', "Q7", "pass"),
    "text that is none": ("id", "id: Q7", "Q7", "fail"),
    "a number": ("n", {"n": 58}, "58 EUR", "pass"),
    "a large number": ("n", {"n": 12345678901234567890123}, "12345678901234567890123", "pass"),
    "true is no value": ("ok", {"ok": True}, "true", "fail"),
    "null is none": ("id", {"id": None}, "null", "fail"),
    "an object is none": ("id", {"id": {"x": 1}}, "x", "fail"),
    "a name that is missing": ("id", {"x": "Q7"}, "Q7", "fail"),
    "a place beyond the list": ("[3]", ["Q7"], "Q7", "fail"),
    "an empty text": ("id", {"id": ""}, "x", "fail"),
}


@pytest.mark.parametrize(("path", "result", "said", "outcome"), PATHS.values(), ids=list(PATHS))
def test_what_stands_at_a_path(path: str, result: Any, said: str, outcome: str) -> None:
    assert graded(AssistantContainsToolOutput(["depot"], path=path), told(result, said)).outcome == outcome


def test_the_raw_text_serves_where_the_result_was_left_out() -> None:
    story = told(UNSENT, "Q7", result_raw='{"id":"Q7"}')
    assert graded(AssistantContainsToolOutput(["depot"], path="id"), story).outcome == "pass"
    assert graded(AssistantContainsToolOutput(["depot"], '"id":"(..)"'), story).outcome == "pass"


def test_the_raw_text_is_what_a_pattern_searches() -> None:
    story = told({"id": "Q7"}, "Q7", result_raw='{ "id" : "Q7" }')
    assert graded(AssistantContainsToolOutput(["depot"], '"id" : "(..)"'), story).outcome == "pass"


def test_the_message_that_echoes_decides_and_both_ends_are_evidence() -> None:
    story = told({"id": "Q7"}, "moment", "it is Q7", "Q7 again")
    grader = AssistantContainsToolOutput(["depot"], path="id")
    assert deciding(grader, story) == 5
    first, second = graded(grader, story).points
    assert (first.seq, first.path) == (3, "result.id")
    assert (second.seq, second.path, second.excerpt) == (5, "content", "it is Q7")


def test_nothing_but_an_echo_decides_early() -> None:
    assert deciding(AssistantContainsToolOutput(["depot"], PATTERN), list(told("ORD-1", "no"))[:-1]) is None


def test_a_value_that_html_hides_gets_a_hint() -> None:
    verdict = graded(AssistantContainsToolOutput(["depot"], "v=(.*)"), told("v=Tom &amp; Jo", "Tom & Jo"))
    assert verdict.outcome == "fail"
    assert "HTML entities" in verdict.evidence


@pytest.mark.parametrize("length", [LITERAL - 1, LITERAL, LITERAL + 1, 5_000])
def test_values_of_any_length_are_told_apart(length: int) -> None:
    value = ("v" * length)[:-1] + "7"
    grader = AssistantContainsToolOutput(["depot"], ".+")
    assert graded(grader, told(value, f"see {value}!")).outcome == "pass"
    assert graded(grader, told(value, f"see {value[:-1]}8!")).outcome == "fail"
    assert graded(grader, told(value, f"see {value[:LITERAL]} and {value}")).outcome == "pass"


def test_a_long_value_is_cut_in_the_evidence() -> None:
    verdict = graded(AssistantContainsToolOutput(["depot"], ".+"), told("v" * 5_000, "v" * 5_000))
    assert verdict.outcome == "pass"
    assert len(verdict.evidence) < 1_100


def many(count: int, said: str) -> Story:
    story = run().starts()
    for n in range(count):
        story.calls("depot").returns(f"ORD-{n:05d}" + ("0" * 50 if n == 3 else ""))
    return story.says(said).ends()


def test_the_longest_value_is_forgotten_first() -> None:
    grader = AssistantContainsToolOutput(["depot"], PATTERN)
    assert graded(grader, many(VALUES, "no")).reason == "not_echoed"
    over = graded(grader, many(VALUES + 1, "no"))
    assert (over.outcome, over.reason) == ("not_graded", "state_limit")
    assert graded(grader, many(VALUES + 1, "ORD-00200")).outcome == "pass"
    assert graded(grader, many(VALUES + 1, "ORD-00003" + "0" * 50)).outcome == "not_graded"


def test_a_value_that_holds_an_older_one_costs_nothing() -> None:
    story = run().starts()
    for n in range(2 * VALUES):
        story.calls("depot").returns("ORD-1" + "1" * n)
    assert graded(AssistantContainsToolOutput(["depot"], PATTERN), story.says("ORD-1").ends()).outcome == "pass"
    failed = graded(AssistantContainsToolOutput(["depot"], PATTERN), story.ends())
    assert failed.outcome == "pass"  # The first end's verdict; and nothing was dropped:
    grader = AssistantContainsToolOutput(["depot"], PATTERN)
    assert graded(grader, [e for e in story if e.seq != 4 * VALUES + 1]).reason != "state_limit"


def test_a_cut_result_may_hold_another_value() -> None:
    cut = told("x ORD-12 and", "ORD-13", flags=("truncated",))
    assert graded(AssistantContainsToolOutput(["depot"], PATTERN), cut).reason == "truncated"
    at_the_cut = told("x ORD-12", "ORD-129", flags=("truncated",))  # It may have been ORD-123.
    assert graded(AssistantContainsToolOutput(["depot"], PATTERN), at_the_cut).reason == "truncated"
    whole = told("x ORD-12 and", "ORD-12", flags=("truncated",))
    assert graded(AssistantContainsToolOutput(["depot"], PATTERN), whole).outcome == "pass"


def test_results_that_were_not_sent_are_not_graded() -> None:
    grader = AssistantContainsToolOutput(["depot"], PATTERN)
    assert graded(grader, told(UNSENT, "ORD-1")).reason == "content_missing"
    unreported = run().starts(reports=("messages", "tools", "end")).calls("depot").says("x").ends()
    assert graded(grader, unreported).reason == "content_missing"
    assert graded(grader, unreported, missing_input="source").reason == "nothing_captured"


def test_a_turn_is_sliced_before_it_is_graded() -> None:  # R8
    story = run().starts().asks("a").calls("depot").returns("ORD-1").says("hm").asks("b").says("ORD-1").ends()
    grader = AssistantContainsToolOutput(["depot"], PATTERN)
    assert graded(Check("c", grader, "minor", turn=0), story).evidence == "assistant did not echo 1 captured value(s)"
    assert graded(Check("c", grader, "minor", turn=1), story).evidence == NOTHING
    assert graded(grader, story).outcome == "pass"


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        ({"tools": [], "pattern": "x"}, "tools"),
        ({"tools": ["a", ""], "pattern": "x"}, "tools"),
        ({"tools": ["a"]}, "pattern"),
        ({"tools": ["a"], "pattern": "x", "path": "y"}, "pattern"),
        ({"tools": ["a"], "path": "a..b"}, "path"),
        ({"tools": ["a"], "path": ""}, "path"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: dict[str, Any], setting: str) -> None:
    assert [name for name, _ in AssistantContainsToolOutput(**settings).problems()] == [setting]
