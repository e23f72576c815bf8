"""`trajectory.match`: the calls of a run and the expected ones."""

from typing import Any, get_args, get_type_hints

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.match import CALLS, ENTRIES, Match
from stream_graders.suites import Check
from stream_graders.testing import Story, graded, run

MODES = get_args(get_type_hints(Match)["mode"])


def called(tools: str) -> Story:
    """Calls by name; names joined by ``+`` are made in one step."""
    story = run().starts()
    for step, together in enumerate(tools.split()):
        for tool in together.split("+"):
            story.calls(tool, step=step)
    return story


TABLE = {
    # expected, called: strict, in_order, any_order, subset, superset
    ("a b", "a b"): "PPPPP",
    ("a b", "b a"): "FFPPP",
    ("a b", "a x b"): "FPFFP",
    ("a b", "b x a"): "FFFFP",
    ("a b", "a"): "FFFPF",
    ("a b", "a a b"): "FPFFP",
    ("a a b", "a b"): "FFFPF",
    ("a a", "a a"): "PPPPP",
    ("a b a", "a b a"): "PPPPP",
    ("a b a", "a a b"): "FFPPP",
    ("a b", "x"): "FFFFF",
    ("a b", "b+a"): "PPPPP",
    ("a b c", "b+a c"): "PPPPP",
    ("a b c", "c+a b"): "FFPPP",
    ("a b c", "b a+c"): "FFPPP",
    ("a b", "x+b+a x"): "FPFFP",
    ("a b", ""): "FFFsF",
    ("", ""): "PsPPs",
    ("", "a"): "FsFFs",
}
OUTCOMES = {"P": "pass", "F": "fail", "s": "skipped"}


@pytest.mark.parametrize(("expected", "made"), list(TABLE), ids=[f"{e or '-'}, {m or '-'}" for e, m in TABLE])
def test_modes(expected: str, made: str) -> None:
    told = {mode: graded(Match(expected.split(), mode), called(made).ends()).outcome for mode in MODES}
    assert told == dict(zip(MODES, (OUTCOMES[letter] for letter in TABLE[expected, made]), strict=True))


SCORES = {
    ("a b", "a b"): 1.0,
    ("a b", "a"): 2 / 3,
    ("a b", "a x x"): 0.4,
    ("a a", "a"): 2 / 3,
    ("a", "a a"): 2 / 3,
    ("a b", ""): 0.0,
    ("", ""): 1.0,
    ("", "a"): 0.0,
}


@pytest.mark.parametrize(("expected", "made"), list(SCORES))
def test_the_score_is_f1(expected: str, made: str) -> None:
    assert graded(Match(expected.split(), "any_order"), called(made).ends()).score == pytest.approx(
        SCORES[expected, made]
    )


def test_a_mark_to_pass_at_takes_the_place_of_the_mode() -> None:
    grader = Match(["a", "b", "c"], "strict")
    assert graded(Check("c", grader, "minor", pass_at=0.5), called("a x b").ends()).outcome == "pass"
    assert graded(Check("c", grader, "minor", pass_at=0.7), called("a x b").ends()).outcome == "fail"


def test_calls_are_paired_so_that_the_most_are_served() -> None:
    expected = ["pay", {"name": "pay", "args": {"n": 1}}]
    story = run().starts().calls("pay", {"n": 1}).calls("pay", {"n": 2}).ends()
    assert graded(Match(expected, "any_order"), story).score == 1.0
    assert graded(Match(expected[::-1], "any_order"), story).score == 1.0


GOT = {"order": "A", "amount": 58, "lines": [{"sku": "S", "n": 1}], "to": {"name": "Jo", "zip": "012"}}
ARGUMENTS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "equal": ({}, GOT, "pass"),
    "numbers as text": ({}, {**GOT, "amount": "58.0"}, "pass"),
    "a part of them": ({}, {"order": "A"}, "pass"),
    "a part of an object": ({}, {"to": {"name": "Jo"}}, "pass"),
    "a part of them, exactly": ({"arguments": "exact"}, {"order": "A"}, "fail"),
    "another number": ({}, {"amount": 59}, "fail"),
    "another number within reach": ({"tolerance": 1}, {"amount": 59}, "pass"),
    "a text that is no number": ({}, {"to": {"zip": 12}}, "fail"),
    "a list is whole": ({}, {"lines": []}, "fail"),
    "a list with a part of an object": ({}, {"lines": [{"sku": "S"}]}, "pass"),
    "true is not 1": ({}, {"lines": [{"n": True}]}, "fail"),
    "null is only null": ({}, {"gone": None}, "fail"),
    "a name that does not count": ({"ignored": ["amount"]}, {"amount": 1, "order": "A"}, "pass"),
    "a name that does not count, deep": ({"ignored": ["n"], "arguments": "exact"}, {**GOT, "lines": [{"sku": "S"}]}, "pass"),
    "a text that fits": ({"patterns": {"order": "^[A-Z]$"}}, {"order": "?"}, "pass"),
    "a text that does not": ({"patterns": {"order": "^[0-9]$"}}, {"order": "A"}, "fail"),
    "whatever it is": ({"arguments": "ignore"}, {"amount": 1}, "pass"),
}  # fmt: skip


@pytest.mark.parametrize(("settings", "args", "outcome"), ARGUMENTS.values(), ids=list(ARGUMENTS))
def test_arguments(settings: dict[str, Any], args: dict[str, Any], outcome: str) -> None:
    grader = Match([{"name": "pay", "args": args}], "strict", **settings)
    assert graded(grader, run().starts().calls("pay", GOT).ends()).outcome == outcome


EVIDENCE = {
    "another value": (
        Match([{"name": "pay", "args": {"to": {"name": "Al"}}}]),
        run().starts().calls("x").calls("pay", GOT),
        'pay (expected call 1): argument to.name: expected "Al", got "Jo" in call 2; precision 0.00, recall 0.00',
    ),
    "a missing value": (
        Match([{"name": "pay", "args": {"to": {"city": "Al"}}}]),
        run().starts().calls("pay", GOT),
        'pay (expected call 1): argument to.city: expected "Al", got nothing in call 1; precision 0.00, recall 0.00',
    ),
    "a pattern": (
        Match([{"name": "pay", "args": {"order": ""}}], patterns={"order": "^[0-9]"}),
        run().starts().calls("pay", GOT),
        'pay (expected call 1): argument order: expected what "^[0-9]" finds, got "A" in call 1; precision 0.00, recall 0.00',
    ),
    "never called": (
        Match(["x", "pay"]), called("x"), "pay (expected call 2) was never called; precision 1.00, recall 0.50"
    ),
    "too few": (
        Match(["x", "x"]), called("x"), "x (expected call 2) was made 1 time(s), too few; precision 1.00, recall 0.50"
    ),
    "another tool": (
        Match(["x"], "any_order"), called("x y"), "y (call 2) is not expected; precision 0.50, recall 1.00"
    ),
    "too many": (
        Match(["x"], "any_order"), called("x x"), "x (call 2) is expected less often; precision 0.50, recall 1.00"
    ),
    "the order": (
        Match(["x", "y"], "in_order"), called("y x"), "y (expected call 2) was made, but not in its place; precision 1.00, recall 1.00"
    ),
    "the order, strictly": (
        Match(["x", "y"], "strict"), called("y x"), "x (expected call 1) was made, but not in its place; precision 1.00, recall 1.00"
    ),
    "nothing is missing": (
        Match(["x"]), called("x y"), "1 of 1 expected calls were made; precision 0.50, recall 1.00"
    ),
    "arguments that break off": (
        Match([{"name": "pay", "args": {"order": "A"}}]), run().starts().calls("pay", '{"order": "A'),
        "pay (expected call 1): its arguments are no JSON object: they end or break off in the middle in call 1; precision 0.00, recall 0.00",
    ),
    "arguments that are a list": (
        Match([{"name": "pay", "args": {"order": "A"}}]), run().starts().calls("pay", ["A"]),
        "pay (expected call 1): its arguments are a list, not an object in call 1; precision 0.00, recall 0.00",
    ),
    "a result without its call": (
        Match(["x"]), run().starts().returns("ok", name="x"), "x (expected call 1) was never called; precision 0.00, recall 0.00"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("grader", "story", "evidence"), EVIDENCE.values(), ids=list(EVIDENCE))
def test_evidence_names_the_first_difference(grader: Match, story: Story, evidence: str) -> None:
    assert graded(grader, story.ends()).evidence == evidence


def test_evidence_points_at_the_call() -> None:
    verdict = graded(Match([{"name": "a", "args": {"n": 1}}]), called("x a").ends())
    assert [(point.seq, point.path) for point in verdict.points] == [(2, "args")]


UNKNOWN = {
    "arguments that were not sent": (run().starts().calls("pay", UNSENT), "content_missing"),
    "arguments that were cut": (run().starts().calls("pay", {"n": 1}, flags=("truncated",)), "content_missing"),
    "no record": (run().asks("x"), "record_unknown"),
    "an open run": (run().starts().ends(last_seq=9), "incomplete"),
}


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_verdict(story: Story, reason: str) -> None:
    events = list(story if reason == "incomplete" else story.ends())
    verdict = graded(Match([{"name": "pay", "args": {"n": 1}}]), events)
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_names_alone_need_no_arguments() -> None:
    assert graded(Match([{"name": "pay", "args": {"n": 1}}], arguments="ignore"), run().starts().calls("pay", UNSENT).ends()).outcome == "pass"  # fmt: skip


def test_more_calls_than_can_be_remembered() -> None:
    verdict = graded(Match(["a"]), called(" ".join("a" * (CALLS + 1))).ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "state_limit")


REFERENCES: dict[str, tuple[Any, str, str]] = {
    "none": (None, "skipped", "no_reference"),
    "an entry without a tool": ([{"args": {}}], "not_graded", "bad_reference"),
    "a number": (7, "not_graded", "bad_reference"),
    "too many": (["a"] * (ENTRIES + 1), "not_graded", "state_limit"),
    "JSON text": ('["a"]', "pass", "matched"),
    "a tool's name": ("a", "pass", "matched"),
}


@pytest.mark.parametrize(("expected", "outcome", "reason"), REFERENCES.values(), ids=list(REFERENCES))
def test_whatever_is_expected_raises_nothing(expected: Any, outcome: str, reason: str) -> None:
    verdict = graded(Match(expected), called("a").ends())
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("grader", "setting"),
    [
        (Match([{}]), "expected"),
        (Match(["a"] * 61), "expected"),
        (Match(["a"], tolerance=-1), "tolerance"),
        (Match(["a"], patterns={"x": "("}), "patterns"),
    ],
)
def test_settings_that_cannot_work_are_refused(grader: Match, setting: str) -> None:
    assert [name for name, _ in grader.problems()] == [setting]
