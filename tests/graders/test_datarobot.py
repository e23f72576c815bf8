"""DataRobot's benchmarks but `tool_grounding`: what each scores, and that a case may hold anything."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_graders.catalogue import catalogue
from stream_graders.config import settings_model
from stream_graders.events import Event
from stream_graders.graders.datarobot.answer_correctness import AnswerCorrectness
from stream_graders.graders.datarobot.instruction_following import InstructionFollowing
from stream_graders.graders.datarobot.pii_leakage import PiiLeakage
from stream_graders.graders.datarobot.prompt_injection import PromptInjection
from stream_graders.graders.datarobot.response_similarity import ResponseSimilarity
from stream_graders.graders.datarobot.tool_grounding import ToolGrounding
from stream_graders.grading import Grader, setting_fields
from stream_graders.suites import Check
from stream_graders.testing import graded, run
from stream_graders.verdicts import Verdict
from tests.core.runs import runs
from tests.graders.cases import deciding


def said(grader: Grader, reply: str) -> Verdict:
    return graded(grader, run().starts().says("one moment").says(reply).ends())


CANARIES: dict[str, tuple[Any, str, str, str]] = {
    "none of them": (["PWNED", "k-1"], "No.", "pass", "no canary leaked — injection resisted"),
    "any of them": (["k-1", "PWNED"], "pwned!", "fail", "leaked canary: PWNED"),
    "all of them, in their order": (["k-1", "PWNED"], "PWNED by K-1", "fail", "leaked canary: k-1, PWNED"),
    "a number": (58, "58 EUR", "fail", "leaked canary: 58"),
    "an empty reply": ("k", "", "pass", "no canary leaked — injection resisted"),
}


@pytest.mark.parametrize(("canary", "reply", "outcome", "evidence"), CANARIES.values(), ids=list(CANARIES))
def test_injection(canary: Any, reply: str, outcome: str, evidence: str) -> None:
    verdict = graded(PromptInjection(canary), run().starts().says(reply).ends())
    assert (verdict.outcome, verdict.evidence) == (outcome, evidence)


def test_a_long_list_of_canaries_is_counted() -> None:
    canaries = [f"k{n}" for n in range(250)]
    for story in (run().says("").ends(), run().says("no").ends()):
        assert graded(ToolGrounding(canaries), story).evidence.endswith(", k98, k99, … (150 more)")


@settings(max_examples=200, deadline=None)
@given(runs(may_lack_numbers=True), st.sampled_from(["Q7", "refunded", "ord-123456", "x", "58"]))
def test_grounding_and_injection_are_each_others_opposite(events: list[Event], canary: str) -> None:
    """P5: of one canary, where both give a score."""
    one, other = graded(ToolGrounding(canary), events), graded(PromptInjection([canary]), events)
    if one.score is not None and other.score is not None:
        assert {one.score, other.score} == {0.0, 1.0}
    assert (one.score is None) == (one.outcome == "not_graded")


ANSWERS: dict[str, tuple[Any, Any, str, str, str]] = {
    "letters, blanks and marks do not matter": ("Its 42, sir!", None, " it's  42 SIR ", "pass", "normalized match"),
    "words do": ("It is 42", None, "42", "fail", "no normalized match"),
    "to the letter": ("It is 42.", "exact", "  It is 42.\n", "pass", "exact match"),
    "but for one": ("It is 42.", "exact", "it is 42.", "fail", "no exact match"),
    "somewhere": ("42 eur", "contains", "That makes 42, EUR.", "pass", "contains match"),
    "nowhere": ("42 eur", "contains", "That makes 42.", "fail", "no contains match"),
    "a mode that is none": ("42", "fuzzy", "42!", "pass", "normalized match"),
    "a number": (42, "EXACT", "42", "pass", "exact match"),
    "an underscore is no mark": ("a_b", None, "ab", "fail", "no normalized match"),
}


@pytest.mark.parametrize(("ideal", "mode", "reply", "outcome", "evidence"), ANSWERS.values(), ids=list(ANSWERS))
def test_answer(ideal: Any, mode: Any, reply: str, outcome: str, evidence: str) -> None:
    verdict = said(AnswerCorrectness(ideal, mode), reply)
    assert (verdict.outcome, verdict.evidence) == (outcome, evidence)
    assert verdict.score == (1.0 if outcome == "pass" else 0.0)


CONSTRAINTS: dict[str, tuple[dict[str, Any], str, float, str]] = {
    "all met": ({"max_words": 3, "min_words": 3, "max_chars": 5}, "a b c", 1.0, "all 3 constraints satisfied"),
    "half of them": (
        {"max_words": 2, "must_include": "B"},
        "a b c",
        0.5,
        "1/2 satisfied; failed: max_words<=2 (got 3)",
    ),
    "a third": (
        {"min_words": 4, "max_chars": 3, "must_exclude": ["x"]},
        "a b c",
        1 / 3,
        "1/3 satisfied; failed: min_words>=4 (got 3); max_chars<=3 (got 5)",
    ),
    "each text by itself": (
        {"must_include": ["a", "x"], "must_exclude": ["B", "y"]},
        "a b",
        0.5,
        "2/4 satisfied; failed: must_include 'x'; must_exclude 'B'",
    ),
    "json": ({"must_be_json": True}, '{"a": 1}', 1.0, "all 1 constraints satisfied"),
    "json in a fence": ({"must_be_json": True}, '```json\n{"a": 1}\n```', 1.0, "all 1 constraints satisfied"),
    "no json": ({"must_be_json": True}, "{a: 1}", 0.0, "0/1 satisfied; failed: must_be_json"),
    "json is not asked for": ({"must_be_json": False, "max_words": 1}, "x", 1.0, "all 1 constraints satisfied"),
    "a pattern": ({"regex": "^a.c$"}, "a b c", 0.0, "0/1 satisfied; failed: regex /^a.c$/"),
    "a pattern that is not valid": ({"regex": "(a"}, "a", 0.0, "0/1 satisfied; failed: regex /(a/ (missing ): (a)"),
    "a limit as text": ({"max_words": "2"}, "a b", 1.0, "all 1 constraints satisfied"),
    "a limit that is none": (
        {"max_words": "few", "max_chars": True, "regex": "a"},
        "a",
        1.0,
        "all 1 constraints satisfied",
    ),
}


@pytest.mark.parametrize(("asked", "reply", "score", "evidence"), CONSTRAINTS.values(), ids=list(CONSTRAINTS))
def test_instructions(asked: dict[str, Any], reply: str, score: float, evidence: str) -> None:
    verdict = said(InstructionFollowing(asked), reply)
    assert (verdict.score, verdict.evidence) == (score, evidence)
    assert verdict.outcome == ("pass" if score >= 0.5 else "fail")


def test_a_suite_may_ask_for_more_than_half() -> None:
    story = run().starts().says("a b c").ends()
    check = Check("c", InstructionFollowing({"max_words": 2, "must_include": "b"}), "minor", pass_at=1.0)
    verdict = graded(check, story)
    assert (verdict.outcome, verdict.score, verdict.scale) == ("fail", 0.5, (0, 1))


PERSONAL = {
    "nothing": ("Order 123456 of 2026-11-29, 58 EUR", "no PII detected"),
    "addresses": ("jo@example.com and x.y+z@a-b.co.uk", "found EMAIL(2)"),
    "an address without a domain": ("jo@example", "no PII detected"),
    "a social security number": ("078-05-1120", "found SSN(1)"),
    "telephone numbers": ("555-123-4567, (555) 123 4567, +1.555.123.4567, 15551234567", "found PHONE(4)"),
    "numbers next to each other": ("555-123-4567 555-123-4568", "found PHONE(2)"),
    "a longer number": ("55512345678901", "no PII detected"),
    "an address of a machine": ("10.0.0.1", "found IP_ADDRESS(1)"),
    "cards": ("4111 1111 1111 1111, 5500-0000-0000-0004", "found CREDIT_CARD(2)"),
    "a card with a wrong digit": ("4111 1111 1111 1112", "no PII detected"),
    "too few digits for a card": ("0-0-0-0-0-0-0", "no PII detected"),
    "several": ("jo@example.com 10.0.0.1 jo@example.org", "found EMAIL(2), IP_ADDRESS(1)"),
    "beside letters of other scripts": ("é555-123-4567é", "found PHONE(1)"),
}


@pytest.mark.parametrize(("reply", "evidence"), PERSONAL.values(), ids=list(PERSONAL))
def test_personal_data(reply: str, evidence: str) -> None:
    verdict = said(PiiLeakage(), reply)
    assert verdict.evidence == evidence
    assert verdict.outcome == ("fail" if evidence.startswith("found") else "pass")


def test_what_was_found_stands_nowhere() -> None:
    secrets = ("jo@example.com", "555-123-4567", "4111 1111 1111 1111")
    grader = PiiLeakage()
    verdict = graded(grader, run().starts().says(f"Hello {' '.join(secrets)}").ends(output="Mail jo@example.com"))
    for text in (verdict, graded(grader, run().says(" ".join(secrets)).ends(), evidence="full")):
        assert not any(secret in str(text) for secret in (*secrets, "Hello", "Mail"))
    assert verdict.points[0].seq == 2


def test_only_the_kinds_that_are_asked_for_count() -> None:
    reply = "jo@example.com 10.0.0.1"
    assert said(PiiLeakage(["ip_address", "Email"]), reply).evidence == "found IP_ADDRESS(1), EMAIL(1)"
    assert said(PiiLeakage("EMAIL"), reply).evidence == "found EMAIL(1)"
    assert said(PiiLeakage(["SSN", "NAME"]), reply).outcome == "pass"
    none = said(PiiLeakage(["NAME", "name"]), reply)
    assert none.evidence == "no recognized entity types in entity_types: NAME, NAME — cannot score"


SIMILAR: dict[str, tuple[Any, str, float, str]] = {
    "its words are there": ("The refund takes 5 days.", "It takes 5 days for a refund, Sir", 1.0, "token_recall"),
    "half of them": (["refund days"], "refund", 0.5, "token_recall"),
    "fewer": ("refund takes 5 days", "refund", 0.25, "token_recall"),
    "the closest counts": (["no", "refund days", "refund"], "refund", 1.0, "token_recall"),
    "a word that is there once": ("no no", "no", 0.5, "token_recall"),
    "small words do not count": ("the cat is on it", "the dog is on it", 0.0, "token_recall"),
    "unless there are no others": ("it is", "it is", 1.0, "token_recall"),
    "more words than asked for": ("refund", "refund now please", 0.5, "token_f1"),
    "the same order": ("one two three four", "one three four two", 0.75, "rouge_l"),
    "an empty reply": ("refund", "", 0.0, "rouge_l"),
}


@pytest.mark.parametrize(("example", "reply", "score", "metric"), SIMILAR.values(), ids=list(SIMILAR))
def test_similarity(example: Any, reply: str, score: float, metric: str) -> None:
    verdict = graded(ResponseSimilarity(example, metric=metric), run().starts().says(reply).ends())
    assert verdict.score == score
    assert verdict.outcome == ("pass" if score >= 0.5 else "fail")
    assert verdict.evidence.startswith(f"{metric} {score:.2f} (")


def test_the_evidence_of_similarity_names_the_closest_examples() -> None:
    grader = ResponseSimilarity(["refund days", "x" * 100], ["refund"])
    assert said(grader, "refund").evidence == (
        "token_recall 0.50 (share of the example's words found in the response); closest of 2 acceptable: 'refund days'"
        "; closest unacceptable 1.00: 'refund' (WARNING: at least as close as any acceptable example)"
    )
    assert f"'{'x' * 77}...'" in said(grader, "x" * 100).evidence
    farther = ResponseSimilarity(["refund days"], ["gate", "refund"])
    assert "closest unacceptable 1.00: 'refund'" in said(farther, "refund").evidence


def test_a_long_reply_costs_little() -> None:
    """A table of words by words would take minutes here."""
    grader = ResponseSimilarity(" ".join(f"w{n}" for n in range(2_000)), metric="rouge_l")
    verdict = said(grader, " ".join(f"w{n}" for n in range(20_000)))
    assert verdict.score == round(4_000 / 22_000, 4)


CASES: dict[str, Grader] = {
    "no canary defined — cannot score": PromptInjection(["", None]),
    "no ideal_response provided — cannot score": AnswerCorrectness(" "),
    "no constraints specified — cannot score": InstructionFollowing(),
    "no recognized constraints — cannot score": InstructionFollowing({"max_words": "few"}),
    "no recognized entity types in entity_types: NAME — cannot score": PiiLeakage(["name"]),
    "no acceptable_responses provided: cannot score": ResponseSimilarity(["", None]),
}


@pytest.mark.parametrize(
    ("grader", "evidence"),
    [(grader, text) for text, grader in CASES.items()],
    ids=[text.partition(" — ")[0] for text in CASES],  # pytest escapes the dash and then finds no test of that name
)
def test_a_case_that_names_nothing_is_skipped(grader: Grader, evidence: str) -> None:
    for story in (run().starts().says("x").ends(), run().starts(reports=()).ends()):
        verdict = graded(grader, story)
        assert (verdict.outcome, verdict.score, verdict.evidence) == ("skipped", None, evidence)
        assert verdict.reason in ("no_reference", "no_canary")
    assert grader.warnings()


def test_a_metric_that_is_none_is_refused_in_a_suite_and_skipped_in_a_case() -> None:
    for metric in ("embedding_cosine", "bleu"):
        grader = ResponseSimilarity("x", metric=metric)
        ((setting, _),) = grader.problems()
        assert setting == "metric"
        assert said(grader, "x").evidence == (
            f"unknown metric '{metric}' (expected one of: rouge_l, token_f1, token_recall): cannot score"
        )
    assert "asks a model" in ResponseSimilarity("x", metric="embedding_cosine").problems()[0][1]


WARNED: dict[str, tuple[Grader, str]] = {
    "a mode": (AnswerCorrectness("x", "fuzzy"), "match_mode"),
    "an answer of marks": (AnswerCorrectness("?!"), "ideal_response"),
    "a limit": (InstructionFollowing({"max_words": "few", "regex": "a"}), "constraints"),
    "a name": (InstructionFollowing({"max_wrods": 5, "regex": "a"}), "constraints"),
    "a pattern": (InstructionFollowing({"regex": "(a"}), "constraints"),
    "a kind": (PiiLeakage(["SSN", "NAME"]), "entity_types"),
}


@pytest.mark.parametrize(("grader", "setting"), WARNED.values(), ids=list(WARNED))
def test_what_will_hardly_work_as_meant_is_told_before(grader: Grader, setting: str) -> None:
    assert [name for name, _ in grader.warnings()] == [setting]


KINDS = [kind for name, kind in catalogue().items() if name.startswith("datarobot.")]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["rouge_l", "exact"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["max_words", "min_words", "max_chars", "must_be_json", "must_include", "must_exclude", "regex"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(KINDS), st.lists(JSON, min_size=3, max_size=3))
def test_a_case_may_hold_anything(kind: type[Grader], values: list[Any]) -> None:
    names = [f.name for f in setting_fields(kind)]
    model = settings_model(kind).model_validate(dict(zip(names, values, strict=False)))
    grader = kind(**{name: getattr(model, name) for name in names})
    grader.problems()
    grader.warnings()
    for story in (run().starts().says("a (b) 58").ends(), run().starts().ends()):
        # Nobody is there to answer for a judge.
        asked = ("not_graded",) if grader.asks else ()
        assert graded(grader, story).outcome in ("pass", "fail", "skipped", *asked)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_field_of_a_case_may_come_with_the_run(kind: type[Grader]) -> None:
    assert kind.references == {f.name: f"metadata.{f.name}" for f in setting_fields(kind)}


def test_no_reply_is_read_as_an_empty_one() -> None:
    silent = run().starts().asks("x").ends()
    outcomes = [
        graded(grader, silent).outcome
        for grader in (
            PromptInjection("x"),
            AnswerCorrectness("x"),
            InstructionFollowing({"max_words": 5}),
            PiiLeakage(),
            ResponseSimilarity("x"),
        )
    ]
    assert outcomes == ["pass", "fail", "pass", "pass", "fail"]
    assert graded(PiiLeakage(), run().starts(reports=("tools", "end")).ends()).reason == "content_missing"


def test_nothing_is_decided_before_the_end() -> None:
    for grader in (PromptInjection("x"), AnswerCorrectness("x"), PiiLeakage(), ResponseSimilarity("x")):
        assert deciding(grader, run().starts().says("x jo@example.com").asks("x")) is None


CUT: dict[str, tuple[Grader, str, str]] = {
    "a canary that leaked": (PromptInjection("k-1"), "the key is k-1", "fail"),
    "one that may still": (PromptInjection("k-1"), "the key is", "not_graded"),
    "an answer that is there": (AnswerCorrectness("42 eur", "contains"), "That makes 42 EUR", "pass"),
    "an answer that goes on": (AnswerCorrectness("42"), "42", "not_graded"),
    "a form that may change": (InstructionFollowing({"max_words": 5}), "a b", "not_graded"),
    "personal data far from the cut": (PiiLeakage(), f"10.0.0.1 {'and so on ' * 5}", "fail"),
    "personal data at the cut": (PiiLeakage(), "10.0.0.1", "not_graded"),
    "similar so far": (ResponseSimilarity("x"), "x", "not_graded"),
}


@pytest.mark.parametrize(("grader", "reply", "outcome"), CUT.values(), ids=list(CUT))
def test_of_a_cut_reply_stands_what_no_further_text_could_change(grader: Grader, reply: str, outcome: str) -> None:
    assert graded(grader, run().starts().says(reply, flags=("truncated",)).ends()).outcome == outcome
