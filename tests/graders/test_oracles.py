"""Event by event a check says what its oracle says of the whole run (R39, R169; properties P1, P3 and P4)."""

from collections.abc import Collection, Sequence

import pytest
from hypothesis import given, settings

from stream_graders.events import Event
from stream_graders.suites import Check, TurnWord, When
from stream_graders.testing import fed, run_verdicts_of, session_of, suite_of, verdicts_of
from stream_graders.verdicts import Verdict
from tests.core.runs import runs
from tests.core.stories import GRADERS, STORIES
from tests.graders.oracles import FAMILIES, ORACLES, expected, expected_turns, folded

CHECKS = [
    *(Check(name, grader, "critical") for name, grader in GRADERS.items()),
    *(
        Check(f"{name} in turn {turn}", GRADERS[name], "minor", turn=turn, early="always")
        for name, turn in (
            ("contains", 0),
            ("not contains", 1),
            ("not contains", 2),
            ("grounding of one value", 0),
            ("grounding of one value", 1),
            ("echo by pattern", 1),
            ("order", 0),
            ("called", 1),
            ("not called", 0),
            ("not called", 3),
            ("precedes", 1),
            ("grounding without a canary", 1),
        )
    ),
    Check("when called", GRADERS["contains"], "critical", when=When(called="payments.refund")),
    Check("when said", GRADERS["not called"], "critical", when=When(said="lot q7")),
    Check("when ok", GRADERS["grounding of one value"], "critical", when=When(status=("ok",))),
    Check("when in error", GRADERS["called"], "critical", when=When(status=("error", "limit"))),
    Check("when labelled", GRADERS["order"], "critical", when=When(labels={"prompt": "v7"})),
]
SUITE = suite_of(*CHECKS)
TURNS: tuple[TurnWord, ...] = ("each", "all", "any", "last")
TURNED = [
    Check(f"{name} in {turn} turn", GRADERS[name], "minor", turn=turn, early="always")
    for name in ("contains", "not contains", "called", "order", "echo by pattern", "grounding of one value", "precedes")
    for turn in TURNS
]
TURN_SUITE = suite_of(*TURNED)


def finals(events: Sequence[Event]) -> dict[str, Verdict]:
    session = session_of(SUITE, events[0].run_id)
    effects = [*fed(session, events, step=0), *session.finish()]
    return {verdict.check: verdict for verdict in verdicts_of(effects) if verdict.state != "early"}


def compare(events: Sequence[Event], kinds: Collection[type] = ORACLES) -> None:
    verdicts = finals(events)
    for check in (check for check in CHECKS if type(check.grader) in kinds):
        verdict = verdicts[check.name]
        outcome, evidence = expected(check, events)
        assert verdict.outcome == outcome, (check.name, verdict.evidence, evidence)
        if outcome == "not_graded":
            assert verdict.reason == evidence, check.name
        else:
            assert verdict.evidence.startswith(evidence), check.name


def compare_turns(events: Sequence[Event]) -> None:
    session = session_of(TURN_SUITE, events[0].run_id)
    effects = [*fed(session, events, step=0), *session.finish()]
    told: dict[str, list[Verdict]] = {}
    for verdict in verdicts_of(effects):
        if verdict.state != "early":
            told.setdefault(verdict.check, []).append(verdict)
    lines = {line.check: line for line in run_verdicts_of(effects)[-1].checks}
    for check in TURNED:
        found, last = expected_turns(check, events), told[check.name][-1]
        if check.turn == "each":
            assert {v.turn: v.outcome for v in told[check.name]} == {n: of for n, (of, _) in found.items()}, check.name
            assert lines[check.name].outcome == folded("all", found)[0], check.name
            continue
        outcome, evidence = folded(check.turn, found) if check.turn in ("all", "any") else list(found.values())[-1]
        assert (last.outcome, lines[check.name].outcome) == (outcome, outcome), (check.name, last.evidence)
        if outcome == "not_graded":
            assert last.reason == evidence, check.name
        else:
            # Of a turn that is over the beginning of the evidence is remembered.
            assert last.evidence[:200].startswith(evidence[:200]), check.name


def test_every_grader_has_an_oracle() -> None:
    assert {type(grader) for grader in GRADERS.values()} == set(ORACLES)


NEEDED_BESIDES = {
    "calls with results": {"results"},
    "repeated results": {"results"},
    "called with success": {"results"},
    "called with an error": {"results"},
    "bad end by reason": {"messages"},
    "no reply but a hand-off": {"tools"},
    "budget of calls": {"tools"},
    "budget of steps": {"tools"},
}
"""What a grader needs because of its settings, beside what any of its kind does."""


@pytest.mark.parametrize("name", GRADERS)
def test_a_grader_needs_what_its_oracle_needs(name: str) -> None:
    assert GRADERS[name].needs() == ORACLES[type(GRADERS[name])].needs | NEEDED_BESIDES.get(name, set())


def test_the_named_runs_are_graded_as_the_oracles_say() -> None:
    for events in STORIES.values():
        compare(events)
    # An oracle knows the words of its own family's stories and of the random runs, and not those of the others.
    for family in FAMILIES:
        for told in family.STORIES.values():
            compare(list(told), family.ORACLES)


@settings(max_examples=300, deadline=None)
@given(runs(may_lack_numbers=True))
def test_random_runs_are_graded_as_the_oracles_say(events: list[Event]) -> None:
    compare(events)


@settings(max_examples=300, deadline=None)
@given(runs(may_lack_numbers=True))
def test_random_runs_are_graded_turn_by_turn_as_the_oracles_say(events: list[Event]) -> None:
    compare_turns(events)
