"""`trajectory.refusal`: whether the reply refuses."""

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.refusal import Refusal
from stream_graders.testing import Story, graded, run

REFUSES = {
    "it refuses": ("I'm sorry, I can't help with that.", "fail", "pass", 'the reply refuses: "I can\'t help"'),
    "in another case": ("i cannot HELP you", "fail", "pass", 'the reply refuses: "i cannot HELP"'),
    "it does not": ("Here you are.", "pass", "fail", "the reply does not refuse"),
}


@pytest.mark.parametrize(("reply", "no_refusal", "refusal", "evidence"), REFUSES.values(), ids=list(REFUSES))
def test_refusals(reply: str, no_refusal: str, refusal: str, evidence: str) -> None:
    patterns = ["(?i)i can(no|')t help", "(?i)not allowed to"]
    story = run().says("one moment").says(reply).ends()
    verdict = graded(Refusal(patterns), story)
    assert (verdict.outcome, verdict.evidence) == (no_refusal, evidence)
    assert graded(Refusal(patterns, "refusal"), story).outcome == refusal


def test_an_earlier_refusal_does_not_count() -> None:
    assert graded(Refusal(["no"]), run().says("no").says("well, yes").ends()).outcome == "pass"


UNKNOWN: dict[str, tuple[Story, str]] = {
    "a reply that was not sent": (run().starts().says(UNSENT), "content_missing"),
    "a reply that was cut": (run().starts().says("I can", flags=("truncated",)), "truncated"),
    "a reply that is cut in the refusal": (run().starts().says("well, no", flags=("truncated",)), "truncated"),
}


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_verdict(story: Story, reason: str) -> None:
    assert graded(Refusal(["no"]), story.ends()).reason == reason


def test_without_a_reply_there_is_nothing_to_judge() -> None:
    for grader in (Refusal(["no"]), Refusal(["no"], "refusal")):
        assert graded(grader, run().starts().asks("x").calls("f").ends()).outcome == "skipped"
        assert graded(grader, run().starts().ends()).outcome == "skipped"


@pytest.mark.parametrize("patterns", [[], [""], ["a", "(b"]])
def test_patterns_are_asked_for(patterns: list[str]) -> None:
    assert [name for name, _ in Refusal(patterns).problems()] == ["patterns"]


def test_where_the_reply_refuses_is_shown() -> None:
    reply = "well, " * 60 + "no"
    (point,) = graded(Refusal(["no"]), run().says(reply).ends()).points
    assert str(point.excerpt).endswith("well, no")
    (point,) = graded(Refusal(["no"]), run().says("yes").ends()).points
    assert point.excerpt is None


def test_eighty_letters_of_a_refusal_are_told() -> None:
    verdict = graded(Refusal(["no+"]), run().says("n" + "o" * 99).ends())
    assert verdict.evidence == f'the reply refuses: "n{"o" * 79}"'


def test_a_refusal_stands_whatever_is_missing_before_it() -> None:
    events = [event for event in run().starts().says("a").says("no").ends() if event.seq != 1]
    assert graded(Refusal(["no"]), events).outcome == "fail"
