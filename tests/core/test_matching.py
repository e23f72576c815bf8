"""What graders share: paths, patterns, names, texts, and what is masked."""

import json
import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_graders.events import UNSENT, ToolCall
from stream_graders.grading import EXCERPT, excerpt
from stream_graders.matching.arguments import arguments, call_digest, holds
from stream_graders.matching.chrf import Chrf
from stream_graders.matching.differences import shown_value
from stream_graders.matching.durations import milliseconds
from stream_graders.matching.json_schema import JsonSchema, schema_faults
from stream_graders.matching.json_syntax import fault, unfenced
from stream_graders.matching.paths import parse, scalar_at
from stream_graders.matching.patterns import Match, Pattern
from stream_graders.matching.personal import found
from stream_graders.matching.redaction import _SECRETS, masked
from stream_graders.matching.references import Expected, Reference, reference_of
from stream_graders.matching.similarity import in_common
from stream_graders.matching.text import Needle, Phrases
from stream_graders.matching.tools import fits, listed
from stream_graders.matching.words import asked_codes, codes_of, forms
from stream_graders.testing import run

PATHS: dict[str, list[str | int]] = {
    "id": ["id"],
    "order.items[0].id": ["order", "items", 0, "id"],
    "[2]": [2],
    "a[0][1]": ["a", 0, 1],
    "with blank.é": ["with blank", "é"],
    ".a.b": ["a", "b"],
    "$.a": ["a"],
    "$[0].a": [0, "a"],
    "$": ["$"],
}


@pytest.mark.parametrize(("path", "steps"), PATHS.items())
def test_a_path_is_its_steps(path: str, steps: list[str | int]) -> None:
    assert parse(path) == steps


@pytest.mark.parametrize("path", ["", ".", "$.", "a.", "a..b", "[0]a", "a[", "a[x]", "a[-1]", "a]"])
def test_what_is_no_path_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        parse(path)


VALUES: list[tuple[Any, str, str | None]] = [
    ({"a": "x"}, "a", "x"),
    ({"a": 1.5}, "a", "1.5"),
    ({"a": 0}, "a", "0"),
    ({"a": False}, "a", None),
    (["x", "y"], "[1]", "y"),
    (["x"], "[1]", None),
    ({"0": "x"}, "[0]", None),
    (["x"], "a", None),
    ('  {"a": "x"}', "a", "x"),
    ('{"a": "x"', "a", None),
    ('{"a": "{\\"b\\": 1}"}', "a", '{"b": 1}'),
    ("[" * 100_000, "[0]", None),
    (None, "a", None),
]


@pytest.mark.parametrize(("value", "path", "found"), VALUES)
def test_what_stands_at_a_path(value: Any, path: str, found: str | None) -> None:
    assert scalar_at(value, parse(path)) == found


def test_a_match_tells_its_place_in_characters() -> None:
    assert Pattern("x(y?)z").search("éé xyz") == Match(3, 6, "y")
    assert Pattern("x(y)?z").search("xz") == Match(0, 2, None)
    assert Pattern("z").search("x") is None
    assert Pattern("(").search("(") is None


def test_a_hostile_pattern_takes_no_longer_than_its_text() -> None:
    assert Pattern("(a+)+$").search("a" * 200_000 + "!") is None


SHOWN = {
    "all of a short text": ("a needle", 2, 8, "a needle"),
    "both sides cut": ("x" * 500 + "needle" + "y" * 500, 500, 506, "…" + "x" * 57 + "needle" + "y" * 57 + "…"),
    "a hit longer than an excerpt": ("n" * 500, 0, 500, "n" * EXCERPT + "…"),
    "at the end": ("x" * 500 + "n", 500, 501, "…" + "x" * 59 + "n"),
}


@pytest.mark.parametrize(("text", "start", "end", "shown"), SHOWN.values(), ids=list(SHOWN))
def test_an_excerpt_shows_what_stands_around(text: str, start: int, end: int, shown: str) -> None:
    assert excerpt(text, start, end) == shown


def test_a_needle_knows_its_place_where_lowering_keeps_the_length() -> None:
    assert Needle("ABC").place("xxAbC") == (2, 5)
    assert Needle("ABC", case_sensitive=True).place("abcABC") == (3, 6)
    assert Needle("abc").place("ABCx") == (0, 3)
    assert Needle("abc").place("İabc") == (0, 0)  # The lowered text is longer.
    assert Needle("x").place("abc") == (0, 0)


def test_many_names_are_counted() -> None:
    assert listed(["a", "b", "c"], 3) == "a, b, c"
    assert listed(["a", "b", "c"], 2) == "a, b, … (1 more)"


PIECES = (
    "Bearer ", "bEAReR ", "abcdefgh12", "sk-", "pk_", "rk-", "ghp_", "ghs-", "xoxb-", "glpat-", "AKIA", "ASIA",
    "eyJabcdefgh", ".", "@", "a", "x.com", "4", "1 ", "-", "1111", "é", "\n", " ",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=10).map("".join))
def test_no_secret_is_overlooked_and_nothing_else_is_masked(text: str) -> None:
    shown = masked(text)
    assert (shown != text) == (_SECRETS.search(text) is not None)
    assert shown.count("…(masked)") == len(list(_SECRETS.finditer(text)))


UNMASKED = ("order ORD-123456", "2026-11-29T10:00:00Z", "call 555-0100", "task-sk", "12345678901", "")


@pytest.mark.parametrize("text", UNMASKED)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


TOKENS = (
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    '"a"',
    '"\\u00e9\\n"',
    "1",
    "-0.5e+3",
    "01",
    "true",
    "null",
    "nul",
    " ",
    "\n",
    "'",
)


@given(st.lists(st.sampled_from(TOKENS), max_size=10).map("".join))
def test_a_text_is_json_where_the_standard_library_reads_it(text: str) -> None:
    try:
        json.loads(text)
    except ValueError:
        assert fault(text) is not None
    else:
        assert fault(text) is None


def test_expected_calls_are_read_in_the_usual_forms() -> None:
    told = [Expected("find", {"id": 7})]
    for name in ("name", "tool", "tool_name", "function"):
        for args in ("args", "arguments", "kwargs", "parameters", "input"):
            assert reference_of([{name: "find", args: {"id": 7}}]) == Reference(told)
    assert reference_of([{"function": {"name": "find", "arguments": '{"id": 7}'}}]) == Reference(told)
    assert reference_of('[{"name": "find", "args": {"id": 7}}]') == reference_of({"name": "find", "args": {"id": 7}})
    assert (
        reference_of("find") == reference_of(["find"]) == reference_of(("find",)) == Reference([Expected("find", None)])
    )
    assert reference_of(None) is None
    assert reference_of([]) == Reference([])


UNREAD: list[tuple[Any, str]] = [
    ("[{", "it is text that is no JSON"),
    (["find", 7], "entry 2 is neither a mapping nor a tool's name"),
    ([""], "entry 1 is neither a mapping nor a tool's name"),
    ([{"name": "", "args": {}}], "entry 1 names no tool"),
    ([{"name": "find", "args": "{"}], "entry 1 has arguments that are no JSON"),
    ([{"name": "find", "args": [1]}], "entry 1 has arguments that are no mapping"),
    ([{"name": "find", "args": "[1]"}], "entry 1 has arguments that are no mapping"),
]


@pytest.mark.parametrize(("reference", "told"), UNREAD)
def test_why_expected_calls_cannot_be_read(reference: Any, told: str) -> None:
    assert reference_of(reference) == Reference([], told)


def test_phrases_end_where_the_longest_ends_and_may_be_taken_back() -> None:
    asked = Phrases(("go", "yes", "yes, do it"), ("not", "not at all"))
    assert asked.end_in("yes, do  it now") == 11
    assert asked.end_in("oh YES") == 6
    assert asked.end_in("not at all yes, but go") == 22
    assert asked.end_in("not yes, nor go") == 15
    assert asked.end_in("eyes, ego, goes") == -1
    assert Phrases(("yes",)).end_in("not yes") == 7


NESTED = {
    "as deep as may be": ("[" * 200 + "]" * 200, None),
    "and wider": ("[" + "[], " * 200 + "[" * 199 + "]" * 199 + "]", None),
    "wide alone": ('[{"a": 1}' + ', {"a": 1}' * 300 + "]", None),
    "deeper": ("[" * 201 + "]" * 201, "it is nested deeper than 200 levels"),
    "deeper in objects": ('{"a":' * 201 + "1" + "}" * 201, "it is nested deeper than 200 levels"),
    "deeper behind what is closed": ("[{}, " + "[" * 200 + "]" * 200 + "]", "it is nested deeper than 200 levels"),
    "brackets in a text": ('["' + "[" * 300 + '"]', None),
    "and a quote in it": ('["\\"' + "[" * 300 + '"]', None),
}


@pytest.mark.parametrize(("text", "told"), NESTED.values(), ids=list(NESTED))
def test_json_may_be_nested_two_hundred_deep(text: str, told: str | None) -> None:
    assert fault(text) == told


def test_why_a_text_is_no_json() -> None:
    assert fault("\ufeff1") == "it begins with a byte order mark (U+FEFF)"
    assert fault(" \n ") == "it is empty"
    assert fault(" ```json\n1\n```") == "it is a code fence"
    assert fault("[1,\n x]") == "expecting value at line 2, column 2"
    assert fault("[-Infinity]") == "-Infinity is no JSON value"
    assert fault("[" + "1" * 5_000 + ", 1e400]") is None


def test_a_code_fence_is_taken_off() -> None:
    assert unfenced("```json\n[1]\n```") == "[1]"
    assert unfenced(" ```[1]``` ") == "[1]"
    assert unfenced("```\n[1]") == "[1]"
    assert unfenced(" [1] ") == " [1] "


def test_hostile_json_takes_no_longer_than_its_length() -> None:
    assert fault("[" * 300 + '"' + '\\"' * 500_000) is not None


DIGITS = ("555", "123", "4567", "1", "+1", "(", ")", "-", ".", " ", "x", "é", "9")


@given(st.lists(st.sampled_from(DIGITS), max_size=14).map("".join))
def test_telephone_numbers_are_found_as_by_looking_around(text: str) -> None:
    form = r"(?<![0-9])(?:\+?1[-.\s]?)?\(?[0-9]{3}\)?[-.\s]?[0-9]{3}[-.\s]?[0-9]{4}(?![0-9])"
    ends = [len(text[: match.end()].encode()) for match in re.finditer(form, text)]
    assert found(text, ["PHONE"]) == ({"PHONE": ends} if ends else {})


CARDS = {
    "13 digits": ("4222222222222", True),
    "12": ("422222222222", False),
    "19 digits": ("6304000000000000000", True),
    "20": ("63040000000000000000", False),
    "nines count": ("4999 9999 9999 9996", True),
    "in groups": ("3782-822463-10005", True),
    "a wrong digit": ("4999 9999 9999 9997", False),
}


@pytest.mark.parametrize(("text", "is_one"), CARDS.values(), ids=list(CARDS))
def test_a_card_number_has_13_to_19_digits_and_the_right_one_at_its_end(text: str, is_one: bool) -> None:
    assert found(text, ["CREDIT_CARD"]) == ({"CREDIT_CARD": [len(text)]} if is_one else {})


def test_what_two_texts_have_in_common_is_the_longest_list_there_is() -> None:
    def longest(one: str, other: str) -> int:
        if not one or not other:
            return 0
        if one[0] == other[0]:
            return 1 + longest(one[1:], other[1:])
        return max(longest(one[1:], other), longest(one, other[1:]))

    texts = ["".join(letters) for length in range(6) for letters in product("ab", repeat=length)]
    for one, other in product(texts, texts):
        assert in_common(one, other) == longest(one, other)


def test_durations() -> None:
    assert [milliseconds(text) for text in ("5ms", "30s", "15m", "24h", "7 d")] == [
        5,
        30_000,
        900_000,
        86_400_000,
        604_800_000,
    ]
    for text in ("", "5", "s", "-5s", "1.5h", "5 weeks", 5, None):
        with pytest.raises(ValueError, match="is no duration; write"):
            milliseconds(text)


def test_arguments_are_an_object_where_they_can_be_read_as_one() -> None:
    sent: list[tuple[dict[str, Any], Any]] = [
        ({"args": {"a": 1}}, {"a": 1}),
        ({"args": ' {"a": 1}'}, {"a": 1}),
        ({"args": '{"a": '}, '{"a": '),
        ({"args": "[1]"}, "[1]"),
        ({"args": '{"a":' * 100_000}, '{"a":' * 100_000),
        ({"args_raw": '{"a": 1}'}, {"a": 1}),
        ({"args": {}, "args_raw": '{"a": 1}'}, {}),
        ({"args": None}, None),
        ({}, UNSENT),
    ]
    for body, value in sent:
        (call,) = run().adds(ToolCall, name="t", **body)
        assert isinstance(call, ToolCall)
        assert arguments(call) == value


HELD: dict[str, tuple[Any, Any, bool]] = {
    "a part of an object": ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
    "an object that lacks it": ({"a": {}}, {"a": {"b": None}}, False),
    "a list whole": ([{"a": 1, "b": 2}], [{"a": "1"}], True),
    "a list in another order": ([1, 2], [2, 1], False),
    "a number and its text": ("12.0", 12, True),
    "a long number": (2512292042121000000, "2512292042121000001", False),
    "a float and its text": (0.1, "0.1", True),
    "two texts": ("12", "12.0", False),
    "true and 1": (1, True, False),
    "true and its text": ("true", True, False),
    "null": (None, None, True),
    "null and nothing": ("", None, False),
    "a text that is no number": ("twelve", 12, False),
    "a text of many digits": ("1" * 5_000, 1, False),
    "four hundred digits": ("0" * 399 + "1", 1, True),
    "one more": ("0" * 400 + "1", 1, False),
    "an underscore is no digit": ("1_0", 10, False),
    "a longer list": ([1, 2], [1], False),
    "an object and a number": (100, {"v": 100}, False),
}


@pytest.mark.parametrize(("value", "asked", "held"), HELD.values(), ids=list(HELD))
def test_a_value_holds_what_is_asked(value: Any, asked: Any, held: bool) -> None:
    assert holds(value, asked) is held


KEEPS: dict[str, tuple[Any, Any, bool]] = {
    "any": ({}, None, True),
    "always": (True, None, True),
    "never": (False, None, False),
    "null": ({"type": "null"}, None, True),
    "0 is not null": ({"type": "null"}, 0, False),
    "half a number is no integer": ({"type": "integer"}, 2.5, False),
    "but a number": ({"type": "number"}, 2.5, True),
    "true is a boolean": ({"type": "boolean"}, True, True),
    "an object is no list": ({"type": "array"}, {}, False),
    "a list is one": ({"type": "array"}, [], True),
    "a text": ({"type": "string"}, "", True),
    "an object": ({"type": "object"}, {}, True),
    "a name that is asked for": ({"required": ["a", "b"]}, {"a": 1}, False),
    "names that are there": ({"required": ["a", "b"]}, {"a": 1, "b": None}, True),
    "a property": ({"properties": {"a": {"type": "null"}}}, {"a": 1}, False),
    "the second property": ({"properties": {"b": {"type": "null"}}}, {"a": 1, "b": 1}, False),
    "a property is no other": ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1}, True),
    "others of a kind": ({"additionalProperties": {"type": "null"}}, {"b": 1}, False),
    "one of a list": ({"enum": [1, [1, 2], {"a": 1}]}, [1, 2], True),
    "more than one of a list": ({"enum": [[1, 2]]}, [1, 2, 3], False),
    "a list in another order": ({"const": [1, 2]}, [2, 1], False),
    "another name": ({"const": {"a": 1}}, {"b": 1}, False),
    "another value": ({"const": {"a": 1}}, {"a": 2}, False),
    "the shortest text": ({"minLength": 2}, "ab", True),
    "a shorter one": ({"minLength": 2}, "a", False),
    "a longer one": ({"maxLength": 2}, "abc", False),
    "the shortest list": ({"minItems": 1}, [1], True),
    "a shorter list": ({"minItems": 1}, [], False),
    "the longest list": ({"maxItems": 1}, [1], True),
    "the lowest number": ({"minimum": 5}, 5, True),
    "the highest number": ({"maximum": 5}, 5, True),
    "above it": ({"maximum": 5}, 5.1, False),
    "true has no size": ({"minimum": 5}, True, True),
    "a pattern is for texts": ({"pattern": "x"}, 5, True),
    "a pattern that is not there": ({"pattern": "^x"}, "ax", False),
    "notes ask nothing": ({"title": "t", "$comment": "c", "default": 1, "type": "null"}, None, True),
    "a whole float is an integer": ({"type": "integer"}, 2.0, True),
    "true is no integer": ({"type": ["integer", "null"]}, True, False),
    "true is not 1": ({"enum": [1, "x"]}, True, False),
    "1.0 is 1": ({"const": {"a": [1]}}, {"a": [1.0]}, True),
    "items": ({"items": {"type": "string"}, "minItems": 1}, ["a", 1], False),
    "too many": ({"maxItems": 1}, [1, 2], False),
    "others": ({"properties": {"a": {}}, "additionalProperties": False}, {"a": 1, "b": 2}, False),
    "a length in characters": ({"maxLength": 2}, "éé", True),
    "a limit is for numbers": ({"minimum": 5}, "4", True),
    "below it": ({"minimum": 5}, 4.9, False),
    "a pattern is searched for": ({"pattern": "[0-9]$"}, "lot 7", True),
}


@pytest.mark.parametrize(("schema", "value", "kept"), KEEPS.values(), ids=list(KEEPS))
def test_a_value_keeps_to_a_schema(schema: Any, value: Any, kept: bool) -> None:
    assert list(schema_faults(schema)) == []
    assert JsonSchema(schema).fits(value) is kept


def test_a_schema_says_all_that_is_wrong_with_it() -> None:
    schema = {
        "type": "text",
        "required": "a",
        "items": {"pattern": "(?=a)"},
        "minItems": -1,
        "$ref": "#/x",
        "title": "t",
    }
    told = list(schema_faults(schema))
    assert len(told) == 5
    assert any("look-around" in line for line in told)
    assert next(schema_faults({"enum": [], "properties": [], "maximum": "1"})).startswith("enum is []")


WRONG: list[tuple[Any, str]] = [
    (["x"], "['x'] is no schema, which is a mapping"),
    ({"title": "t", "anyOf": []}, "anyOf is not supported"),
    ({"type": "text"}, "type is 'text', which should be of null, boolean, object, array, number, integer, string"),
    ({"type": []}, "type is [], which should be of null, boolean, object, array, number, integer, string"),
    ({"minLength": -1}, "minLength is -1, which should be a whole number from 0 on"),
    ({"maxItems": 1.0}, "maxItems is 1.0, which should be a whole number from 0 on"),
    ({"minimum": True}, "minimum is True, which should be a number"),
    ({"properties": ["a"]}, "properties is ['a'], which should be a mapping from names to schemas"),
    ({"required": "a"}, "required is 'a', which should be a list of names"),
    ({"required": [1]}, "required is [1], which should be a list of names"),
    ({"enum": []}, "enum is [], which should be a list of values"),
    ({"enum": "a"}, "enum is 'a', which should be a list of values"),
    ({"pattern": 1}, "pattern is 1, which should be text"),
    ({"pattern": "("}, "pattern is not valid: missing ): ("),
    ({"properties": {"a": {"not": {}}}}, "not is not supported"),
    ({"additionalProperties": {"not": {}}}, "not is not supported"),
    ({"items": {"items": {"not": {}}}}, "not is not supported"),
]


@pytest.mark.parametrize(("schema", "told"), WRONG)
def test_what_a_schema_should_say_instead_is_told(schema: Any, told: str) -> None:
    assert list(schema_faults(schema)) == [told]


@pytest.mark.parametrize("keyword", ["items", "additionalProperties", "properties"])
def test_a_schema_may_be_nested_fifty_deep(keyword: str) -> None:
    schema: Any = {"type": "null"}
    for _ in range(50):
        schema = {keyword: {"a": schema} if keyword == "properties" else schema}
    assert list(schema_faults(schema)) == []
    assert list(schema_faults({"items": schema})) == ["is nested deeper than 50 levels"]


def test_counts_may_be_nothing() -> None:
    assert not [*schema_faults({"minLength": 0, "maxLength": 0, "minItems": 0, "required": [], "minimum": -1.5})]


@given(st.text(max_size=60), st.text(max_size=60))
def test_likeness_lies_between_0_and_1_and_a_text_is_like_itself(one: str, other: str) -> None:
    assert 0.0 <= Chrf(one).of(other) <= 1.0000001
    assert Chrf(one).of(one) == pytest.approx(1.0 if one.strip() else 0.0)


CHRF = {
    ("gate four", "gate for"): 0.63906,
    ("gate 4", "Gate 4"): 0.54333,
    ("abcdef", "abc"): 0.43726,  # pieces of four letters and more count for nothing: one of the texts has none
    ("ab", "abcdefgh"): 0.55,
    ("abcdef", "xyz"): 0.0,
    ("", "abc"): 0.0,
    ("abc", " "): 0.0,
}
"""Worked out apart from the code, by the definition: pieces of 1 to 6 letters, recall weighing twice."""


@pytest.mark.parametrize(("target", "text"), CHRF)
def test_likeness_by_the_definition(target: str, text: str) -> None:
    assert Chrf(target).of(text) == pytest.approx(CHRF[target, text], abs=1e-5)


FORMS = {
    "word": ("word",),
    "007": ("7",),
    "0": ("0",),
    "12.50": ("12.5",),
    "1.000": ("1000", "1"),  # a thousand, or one
    "1,234,567": ("1234567",),
    "1.234,50": ("1234.5",),
    "1,234.50": ("1234.5",),
    "1.2.3": ("1.2.3",),
    "12.34.567": ("12.34.567",),
    "0.000": ("0",),
}


@pytest.mark.parametrize("word", FORMS)
def test_a_number_is_read_in_every_form_that_it_may_have(word: str) -> None:
    assert forms(word) == FORMS[word]


def test_a_text_means_the_same_however_long_it_is() -> None:
    words = ["order", "A-1234567", "12.50", "x" * 60]
    assert codes_of([" ".join(words)]) == codes_of(words)
    assert codes_of(["order 12"], values=True) == codes_of(["12"])
    assert codes_of(words).keys() >= set(asked_codes("x" * 60))
    assert set(asked_codes("ord")).isdisjoint(codes_of(words))


def test_a_name_of_any_length_fits_its_pattern() -> None:
    for name in ("pay.x", "pay." + "x" * 10_000):
        assert fits(name, "pay.*")
        assert fits(name, "*x")
        assert not fits(name, "pay")
        assert not fits(name, "*y")


def test_a_long_value_is_shown_up_to_its_sixtieth_letter() -> None:
    assert shown_value("x" * 58) == '"' + "x" * 58 + '"'
    assert shown_value("x" * 59) == '"' + "x" * 58 + "…"


def test_half_of_a_surrogate_pair_is_no_pattern_and_no_obstacle() -> None:
    assert Pattern("a\ud83d").error == "the pattern holds half of a surrogate pair"
    assert Pattern("a").search("\ud83d a") is not None
    one, other = run().calls("pay\ud83d").calls("pay\ud83e")
    assert isinstance(one, ToolCall)
    assert isinstance(other, ToolCall)
    assert call_digest(one) != call_digest(other)
    assert found("\ud83d jo@example.com", ["EMAIL"]) == {"EMAIL": [18]}
