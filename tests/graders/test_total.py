"""`trajectory.total`: what an argument adds up to."""

from typing import Any

import pytest

from stream_graders.events import UNSENT
from stream_graders.graders.trajectory.total import CURRENCIES, Total
from stream_graders.testing import Story, graded, run
from tests.graders.cases import Case, deciding, early, holds


def paid(*amounts: Any) -> Story:
    story = run().starts()
    for amount in amounts:
        story.calls("pay", {"amount": amount})
    return story


CASES = {
    "within": Case(paid(60, 40).ends(), "pass", "pay: amount adds up to 100"),
    "beyond": Case(paid(60, 40.5).ends(), "fail", "pay: amount adds up to 100.5, at most 100 allowed"),
    "as text": Case(paid("60.50", "39.50").ends(), "pass", "pay: amount adds up to 100"),
    "tenths": Case(paid(*[0.1] * 10).ends(), "pass", "pay: amount adds up to 1"),
    "other tools do not count": Case(
        paid(60).calls("look", {"amount": 900}).ends(), "pass", "pay: amount adds up to 60"
    ),
    "failed calls do": Case(
        paid(60).returns("no", is_error=True).calls("pay", {"amount": 50}).ends(),
        "fail",
        "pay: amount adds up to 110, at most 100 allowed",
    ),
    "it may exceed the limit at no time": Case(
        paid(150, -100).ends(), "fail", "pay: amount adds up to 150, at most 100 allowed"
    ),
    "below zero": Case(paid(-5).ends(), "pass", "pay: amount adds up to -5"),
    "no call": Case(run().starts().calls("look").ends(), "skipped", "pay was never called"),
    "an empty run": Case(run().starts().ends(), "skipped", "pay was never called"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_verdict(case: Case) -> None:
    holds(Total("pay", "amount", max=100), case)


def test_the_call_that_exceeds_it_decides() -> None:
    assert deciding(Total("pay", "amount", max=100), paid(60, 41, 1)) == 2


def test_a_minimum_is_judged_at_the_end() -> None:
    grader = Total("pay", "amount", min=50)
    assert graded(grader, paid(20, 30).ends()).outcome == "pass"
    assert graded(grader, paid(20).ends()).evidence == "pay: amount adds up to 20, at least 50 wanted"
    assert early(grader, paid(20)) is None


def test_entries_of_a_list_are_added_up() -> None:
    story = run().starts().calls("pay", {"parts": [{"n": 60}, {"n": 50}]}).ends()
    assert (
        graded(Total("pay", "parts.n", max=100), story).evidence == "pay: parts.n adds up to 110, at most 100 allowed"
    )


def test_each_currency_is_added_up_by_itself() -> None:
    grader = Total("pay", "amount", max=100, currency="currency")
    story = run().starts()
    for amount, currency in ((60, "EUR"), (70, "USD"), (30, "EUR")):
        story.calls("pay", {"amount": amount, "currency": currency})
    assert graded(grader, [*story, *run().ends(id="e", seq=None)]).evidence == (
        "pay: amount adds up to 90 EUR, pay: amount adds up to 70 USD"
    )
    story.calls("pay", {"amount": 31, "currency": "USD"})
    assert graded(grader, story.ends()).evidence == "pay: amount adds up to 101 USD, at most 100 allowed"


UNKNOWN = {
    "no number": (paid(60, "many"), "not_measured"),
    "no amount": (run().starts().calls("pay", {}), "not_measured"),
    "true": (paid(True), "not_measured"),
    "arguments that break off": (run().starts().calls("pay", '{"amount": 6'), "not_measured"),
    "arguments that are a list": (run().starts().calls("pay", [60]), "not_measured"),
    "arguments that were not sent": (run().starts().calls("pay", UNSENT), "content_missing"),
    "too much, but an amount before is not known": (paid("many", 200), "not_measured"),
    "no record": (run().asks("x"), "record_unknown"),
}


@pytest.mark.parametrize(("story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_what_is_not_known_is_no_verdict(story: Story, reason: str) -> None:
    verdict = graded(Total("pay", "amount", max=100), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


def test_too_many_currencies() -> None:
    story = run().starts()
    for n in range(CURRENCIES + 1):
        story.calls("pay", {"amount": 1, "currency": f"C{n}"})
    verdict = graded(Total("pay", "amount", max=100, currency="currency"), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "state_limit")


def test_a_gap_may_hide_an_amount() -> None:
    assert (
        graded(Total("pay", "amount", max=100), [e for e in paid(5, 200).ends() if e.seq != 1]).outcome == "not_graded"
    )
    assert graded(Total("pay", "amount", max=100), [e for e in paid(200, 5, 5).ends() if e.seq != 2]).outcome == "fail"


@pytest.mark.parametrize(
    ("grader", "setting"),
    [
        (Total("", "a", max=1), "tool"),
        (Total("x", "", max=1), "argument"),
        (Total("x", "a"), "max"),
        (Total("x", "a", max=1, min=2), "min"),
        (Total("x", "a", max=1, currency="["), "currency"),
    ],
)
def test_settings_that_cannot_work_are_refused(grader: Total, setting: str) -> None:
    assert [name for name, _ in grader.problems()] == [setting]


def test_the_amount_that_is_too_much_is_shown() -> None:
    story = run().starts().calls("pay", {"n": [{"amount": 5}]}).calls("pay", {"n": [{"amount": 6}]}).ends()
    verdict = graded(Total("pay", "$.n[0].amount", max=10), story)
    assert [(point.seq, point.path) for point in verdict.points] == [(2, "args.n[0].amount")]


def test_every_call_without_its_arguments_is_counted() -> None:
    story = run().starts().calls("pay", UNSENT).calls("pay", UNSENT).calls("pay", {"n": 1}).ends()
    verdict = graded(Total("pay", "n", max=10), story)
    assert verdict.reason == "content_missing"
    assert verdict.evidence.startswith("the n of 2 call(s) is not known as a number; so far: ")
