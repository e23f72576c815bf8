"""`trajectory.write_without_lookup`, `unseen_argument` and `ungrounded_reply`: where values come from."""

from typing import Any

import pytest

from stream_graders.events import UNSENT, Message
from stream_graders.graders.trajectory._hearing import WORDS
from stream_graders.graders.trajectory.ungrounded_reply import UngroundedReply
from stream_graders.graders.trajectory.unseen_argument import UnseenArgument
from stream_graders.graders.trajectory.write_without_lookup import WriteWithoutLookup
from stream_graders.laws import LawError, state_stays_small
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, holds

LOOKUP = WriteWithoutLookup(["cancel"], ["find"])


def found(result: Any = None, args: Any = None, **body: Any) -> Story:
    return run().starts().calls("find", args).returns({"id": "ORD-17"} if result is None else result, **body)


LOOKED = "whatever a write named was in an earlier lookup"
NOT_LOOKED = 'cancel: order_id "ORD-17" was in no earlier lookup'
LOOKUPS = {
    "it was in the result": Case(found().calls("cancel", {"order_id": "ORD-17"}).ends(), "pass", LOOKED),
    "it was in the arguments": Case(
        found({"total": 5}, {"order": "ord 17"}).calls("cancel", {"order_id": "ORD-17"}).ends(), "pass", LOOKED
    ),
    "it was a field's name": Case(found({"ORD-17": {}}).calls("cancel", {"order_id": "ORD-17"}).ends(), "pass", LOOKED),
    "it was in JSON text, behind a line break": Case(
        found('{"note": "see\\nORD-17"}').calls("cancel", {"order_id": "ORD-17"}).ends(), "pass", LOOKED
    ),
    "it was a number": Case(found({"id": 17}).calls("cancel", {"id": "17"}).ends(), "pass", LOOKED),
    "it was another": Case(found({"id": "ORD-71"}).calls("cancel", {"order_id": "ORD-17"}).ends(), "fail", NOT_LOOKED),
    "it was looked up too late": Case(
        run().starts().calls("cancel", {"order_id": "ORD-17"}).calls("find").returns({"id": "ORD-17"}).ends(),
        "fail",
        NOT_LOOKED,
    ),
    "the lookup has no result yet": Case(
        run().starts().calls("find", {"id": "ORD-17"}).calls("cancel", {"order_id": "ORD-17"}).ends(), "fail", NOT_LOOKED
    ),
    "the lookup failed": Case(
        found("Error: no ORD-17", {"id": "ORD-17"}).calls("cancel", {"order_id": "ORD-17"}).ends(), "fail", NOT_LOOKED
    ),
    "another tool had it": Case(
        run().starts().calls("x").returns({"id": "ORD-17"}).calls("cancel", {"order_id": "ORD-17"}).ends(),
        "fail",
        NOT_LOOKED,
    ),
    "one of several, deep inside": Case(
        found({"a": 1, "b": 2}).calls("cancel", {"lines": [{"item_ids": [1, 2, 3]}]}).ends(),
        "fail",
        'cancel: lines[0].item_ids "3" was in no earlier lookup',
    ),
    "other arguments do not count": Case(
        found().calls("cancel", {"note": "X-99"}).ends(), "skipped", "no write named anything"
    ),
    "no write": Case(found().ends(), "skipped", "no write named anything"),
    "an empty run": Case(run().starts().ends(), "skipped", "no write named anything"),
}  # fmt: skip


@pytest.mark.parametrize("case", LOOKUPS.values(), ids=list(LOOKUPS))
def test_a_write_names_what_was_looked_up(case: Case) -> None:
    holds(LOOKUP, case)


def test_the_arguments_that_name_things_can_be_named() -> None:
    story = found().calls("cancel", {"sku": "S-1", "id": "?"}).ends()
    assert graded(WriteWithoutLookup(["cancel"], ["find"], ["sku"]), story).outcome == "fail"
    assert graded(WriteWithoutLookup(["cancel"], ["find"], ["x*"]), story).outcome == "skipped"


BOOK = UnseenArgument(["book"])
GIVEN = "somebody gave every value that was written"
VALUES = {
    "the user said it": Case(run().starts().asks("for Jo SMITH").calls("book", {"name": "Jo Smith"}).ends(), "pass", GIVEN),
    "a tool returned it": Case(
        run().starts().calls("x").returns({"price": 1200}).calls("book", {"price": "1,200.00"}).ends(), "pass", GIVEN
    ),
    "the system said it": Case(
        run().starts().adds(Message, role="system", content="code Q1234")
        .calls("book", {"code": "q1234"}).ends(), "pass", GIVEN
    ),
    "the run's input said it": Case(run().starts(input="for Smith").calls("book", {"name": "Smith"}).ends(), "pass", GIVEN),
    "only the agent said it": Case(
        run().starts().says("For Smith?").asks("yes").calls("book", {"name": "Smith"}).ends(),
        "fail",
        'book: argument name "Smith" was said by nobody: smith',
    ),
    "nobody said it": Case(
        run().starts().asks("for Jo").calls("book", {"to": [{"name": "Jo Smyth"}]}).ends(),
        "fail",
        'book: argument to[0].name "Jo Smyth" was said by nobody: smyth',
    ),
    "short values, true and null": Case(
        run().starts().calls("book", {"a": "abc", "b": True, "c": None, "d": 999}).ends(), "pass", GIVEN
    ),
    "prose of its own": Case(
        run().starts().calls("book", {"note": "the user wants to fly somewhere warm"}).ends(), "pass", GIVEN
    ),
    "another tool": Case(run().starts().calls("look", {"name": "Smith"}).ends(), "skipped", "nothing was written"),
    "an empty run": Case(run().starts().ends(), "skipped", "nothing was written"),
}  # fmt: skip


@pytest.mark.parametrize("case", VALUES.values(), ids=list(VALUES))
def test_a_write_holds_what_somebody_gave(case: Case) -> None:
    holds(BOOK, case)


def test_arguments_and_values_can_be_left_out() -> None:
    story = run().starts().calls("book", {"cabin": "economy", "name": "Smith"}).ends()
    assert graded(UnseenArgument(["book"], exempt=["na*"], known=["Economy"]), story).outcome == "pass"
    assert graded(UnseenArgument(["book"], exempt=["cabin"]), story).outcome == "fail"


REPLIES = {
    "said by a tool": ("It is $1,200.00 for HAT-156.", {"total": 1200, "flight": "hat156 HAT 156"}, "pass"),
    "an id of another": ("Order ORD-99 is on its way.", {"id": "ORD-98"}, "fail"),
    "another amount": ("That is 85.50.", {"total": 58.5}, "fail"),
    "zeros that say nothing": ("That is 58.50.", {"total": 58.5}, "pass"),
    "a decimal comma": ("Das sind 1.258,50.", {"total": 1258.5}, "pass"),
    "the end of a card's number": ("Charged to the card ending in 4486.", {"card": "credit_card_44214486"}, "pass"),
    "small numbers": ("1. Flight\n2. Hotel, May 20th, 3 nights", {}, "skipped"),
    "a number above them": ("32 nights", {}, "fail"),
    "words only": ("It is on its way.", {"id": "ORD-98"}, "skipped"),
    "a list of numbers": ("60 of 58", [58, 60], "pass"),
}


@pytest.mark.parametrize(("reply", "result", "outcome"), REPLIES.values(), ids=list(REPLIES))
def test_a_reply_names_what_was_said(reply: str, result: Any, outcome: str) -> None:
    story = run().starts().asks("well?").calls("find").returns(result).says(reply).ends()
    assert graded(UngroundedReply(), story).outcome == outcome


def test_the_last_reply_counts_and_only_what_came_before_it() -> None:
    story = run().starts().says("It is 4711.").calls("x").returns(4712).says("It is 4712.").ends()
    assert graded(UngroundedReply(), story).outcome == "pass"
    late = run().starts().says("It is 4711.").calls("x").returns(4711).ends()
    assert graded(UngroundedReply(), late).outcome == "fail"
    assert (
        graded(UngroundedReply(), run().starts().says("hello").calls("x").returns(47).ends(output="47")).outcome
        == "pass"
    )
    assert graded(UngroundedReply(), run().starts().calls("x").ends()).outcome == "skipped"


def test_evidence_shows_the_value_in_its_place() -> None:
    verdict = graded(UngroundedReply(), run().starts().says("Order A-4711 and B-4712.").ends())
    assert verdict.evidence == "the reply names what nothing in the run said: 4711, 4712"
    assert verdict.points[0].excerpt == "Order A-4711 and B-4712."


WRITE = {"order_id": "ORD-17"}
UNKNOWN = {
    "a lookup that was not sent": (LOOKUP, found(UNSENT).calls("cancel", WRITE), "content_missing"),
    "a lookup that was cut": (LOOKUP, found("ORD", flags=("truncated",)).calls("cancel", WRITE), "content_missing"),
    "a result of nobody knows what": (LOOKUP, run().starts().returns("x", name=None).calls("cancel", WRITE), "content_missing"),
    "broken arguments": (LOOKUP, found().calls("cancel", '{"order_id": "ORD-1'), "content_missing"),
    "arguments that are a list": (LOOKUP, found().calls("cancel", ["ORD-17"]), "content_missing"),
    "arguments that were not sent": (LOOKUP, found().calls("cancel", UNSENT), "content_missing"),
    "too many words": (LOOKUP, found(list(range(3_000, 3_001 + WORDS))).calls("cancel", WRITE), "state_limit"),
    "a message that was not sent": (BOOK, run().starts().asks(UNSENT).calls("book", {"name": "Smith"}), "content_missing"),
    "a message that was cut": (
        BOOK, run().starts().asks("for Smi", flags=("truncated",)).calls("book", {"name": "Smith"}), "content_missing"
    ),
    "broken arguments of a value": (BOOK, run().starts().calls("book", '{"name": "Smi'), "content_missing"),
    "a result that was not sent": (UngroundedReply(), found(UNSENT).says("It is 4711."), "content_missing"),
    "no record": (LOOKUP, run().asks("x"), "record_unknown"),
}  # fmt: skip


@pytest.mark.parametrize(("grader", "story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_verdict(grader: Any, story: Story, reason: str) -> None:
    verdict = graded(grader, story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_a_gap_may_hide_who_said_it() -> None:
    story = found().calls("cancel", {"order_id": "ORD-71"}).says("ORD-71 is cancelled, 4711.").ends()
    events = [event for event in story if event.seq not in (1, 2)]
    assert graded(LOOKUP, events).outcome == "not_graded"
    assert graded(UnseenArgument(["cancel"], min_length=1), events).outcome == "not_graded"
    assert graded(UngroundedReply(), events).outcome == "not_graded"


def test_a_value_at_a_cut_is_no_value() -> None:
    story = found().says("It is ORD-17 for 47", flags=("truncated",)).ends()
    assert graded(UngroundedReply(), story).reason == "truncated"


def test_a_word_at_a_cut_was_not_said() -> None:
    story = run().starts().asks("for Jo Smith", flags=("truncated",)).calls("book", {"name": "Smith"}).ends()
    assert graded(BOOK, story).outcome == "not_graded"
    story = run().starts().asks("for Smith and", flags=("truncated",)).calls("book", {"name": "Smith"}).ends()
    assert graded(BOOK, story).outcome == "pass"


def test_two_runs_do_not_hear_each_other() -> None:
    one, other = BOOK.fresh(), BOOK.fresh()
    assert isinstance(one, UnseenArgument)
    assert isinstance(other, UnseenArgument)
    one.hear("smith")
    assert (one.is_heard("smith"), other.is_heard("smith")) == (True, False)
    other.restore(one.snapshot())
    one.hear("jones")
    assert (other.is_heard("smith"), other.is_heard("jones")) == (True, False)


DECIDING = {
    "lookup": (LOOKUP, found().calls("cancel", WRITE).calls("cancel", {"id": "ORD-9"}).says("x"), 4),
    "value": (BOOK, run().starts().asks("x").calls("book", {"name": "Smith"}).says("x"), 2),
}


@pytest.mark.parametrize(("grader", "story", "seq"), DECIDING.values(), ids=list(DECIDING))
def test_the_write_decides(grader: Any, story: Story, seq: int) -> None:
    assert deciding(grader, story) == seq


def test_many_words_take_little_room() -> None:
    story = run().starts()
    for n in range(WORDS // 4):
        story.asks(f"word{n} {n}0{n} other{n}x").calls("find", {"id": n}).returns([f"more{n}"] * 9)
    state_stays_small(UnseenArgument(["cancel"]), list(story.ends()))
    with pytest.raises(LawError):
        state_stays_small(_Transcript(["cancel"]), list(story))


class _Transcript(UnseenArgument):
    def size(self) -> int:
        return 0


@pytest.mark.parametrize(
    ("grader", "setting"),
    [
        (WriteWithoutLookup([], ["a"]), "writes"),
        (WriteWithoutLookup(["a"], [""]), "lookups"),
        (WriteWithoutLookup(["a"], ["b"], []), "arguments"),
        (WriteWithoutLookup(["a"], ["b"], error_pattern="("), "error_pattern"),
        (UnseenArgument([]), "writes"),
        (UnseenArgument(["a"], min_length=0), "min_length"),
    ],
)
def test_settings_that_cannot_work_are_refused(grader: Any, setting: str) -> None:
    assert [name for name, _ in grader.problems()] == [setting]


def test_what_was_not_reported_may_have_said_it() -> None:
    story = run().starts(reports=("messages", "end")).asks("hm").says("It is ORD-123456.").ends()
    assert graded(UngroundedReply(), story).outcome == "not_graded"
    story = run().starts(reports=("messages", "tools", "results", "end")).asks("hm").says("It is ORD-123456.").ends()
    assert graded(UngroundedReply(), story).outcome == "fail"
    assert UngroundedReply().needs() == {"messages", "results"}


def test_words_of_one_and_two_letters_are_too_short_to_be_traced() -> None:
    for value, outcome in (("ab", "pass"), ("abc", "fail")):
        story = run().starts().asks("hello there").calls("pay", {"order": f"hello {value}"}).ends()
        assert graded(UnseenArgument(["pay"]), story).outcome == outcome, value
