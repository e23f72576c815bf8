"""Checks that look at turns: one verdict each, or one on all of them (design 6, "turn")."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from stream_graders.events import Event, Message
from stream_graders.folding import Turns
from stream_graders.gradebook import Publish
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.grading import Grader, RunFacts, Seen
from stream_graders.session import At, Effect
from stream_graders.suites import HOUR, Check, When
from stream_graders.testing import Story, fed, graded, run, run_verdicts_of, session_of, suite_of, verdicts_of
from stream_graders.trajectory import HELD_MS
from stream_graders.verdicts import Finding, Outcome, Reason, Verdict, Violation

POLITE = TranscriptContains("please")
CALM = TranscriptNotContains("hurry")


def talk(*replies: str) -> Story:
    """A run of one turn a reply."""
    story = run().starts()
    for n, reply in enumerate(replies):
        story.asks(f"question {n}").says(reply)
    return story


def check(grader: Any = POLITE, turn: Any = "each", **more: Any) -> Check:
    return Check("check", grader, "critical", turn=turn, **more)


def effects_of(check: Check, events: Iterable[Event]) -> list[Effect]:
    session = session_of(suite_of(check))
    return [*fed(session, events), *session.finish()]


def finals(check: Check, events: Iterable[Event]) -> list[Verdict]:
    return [verdict for verdict in verdicts_of(effects_of(check, events)) if verdict.state == "final"]


# -- each ----------------------------------------------------------------------------------------------------------------


def test_each_turn_gets_a_verdict_when_it_ends() -> None:
    session = session_of(suite_of(check()))
    told: list[tuple[int | None, int | None, str]] = []
    for event in talk("please wait", "no", "please").ends():
        effects = fed(session, [event], since=1_000 + (event.seq or 0))
        told += [(event.seq, v.turn, v.outcome) for v in verdicts_of(effects) if v.state == "final"]
    assert told == [(3, 0, "pass"), (5, 1, "fail"), (7, 2, "pass")]


def test_each_turn_has_ids_of_its_own_and_its_deciding_event() -> None:
    verdicts = finals(check(), talk("please", "no", "no").ends())
    assert len({verdict.id for verdict in verdicts}) == 3
    assert [verdict.decided_by and verdict.decided_by.seq for verdict in verdicts] == [2, 5, 7]


def test_the_end_of_a_turn_that_is_sent_ends_it() -> None:
    told = verdicts_of(fed(session_of(suite_of(check())), run().starts().asks("a").says("please").ends_turn()))
    assert [(verdict.turn, verdict.outcome, verdict.state) for verdict in told] == [(0, "pass", "final")]


def test_turns_are_those_that_events_name() -> None:
    story = (
        run().starts(turn=2).asks("a", turn=2).says("please", turn=2).asks("b", turn=5).says("no", turn=5).ends(turn=5)
    )
    assert [(verdict.turn, verdict.outcome) for verdict in finals(check(), story)] == [(2, "pass"), (5, "fail")]


def test_an_early_fail_is_said_in_its_turn() -> None:
    told = verdicts_of(fed(session_of(suite_of(check(CALM))), talk("hurry", "hurry").says("and hurry")))
    assert [(verdict.turn, verdict.state) for verdict in told] == [(0, "early"), (0, "final"), (1, "early")]


def test_the_runs_line_is_that_of_all_turns() -> None:
    for replies, outcome, reason in (
        (("please", "please"), "pass", "found"),
        (("please", "no", "please"), "fail", "not_found"),
        (("no", "please"), "fail", "not_found"),
    ):
        (record,) = run_verdicts_of(effects_of(check(), talk(*replies).ends()))
        assert [(line.outcome, line.reason) for line in record.checks] == [(outcome, reason)]
        assert record.outcome == outcome


def test_a_condition_holds_in_its_own_turn() -> None:
    story = run().starts().asks("a").calls("find").says("please").asks("b").says("no").ends()
    verdicts = finals(check(when=When(called="find")), story)
    assert [(verdict.turn, verdict.outcome) for verdict in verdicts] == [(0, "pass"), (1, "skipped")]
    (record,) = run_verdicts_of(effects_of(check(when=When(called="find")), story))
    assert record.checks[0].outcome == "pass"


def test_somebody_is_told_of_one_turn_and_that_stands() -> None:
    effects = effects_of(check(CALM, notify="page"), talk("fine", "hurry", "hurry", "fine").ends())
    told = [e.record for e in effects if isinstance(e, Publish) and isinstance(e.record, Violation)]
    assert [(violation.verdict.turn, violation.resolved) for violation in told] == [(1, False)]


def test_an_ended_turn_is_not_amended() -> None:
    events = list(talk("no", "please").ends())
    late = events.pop(2)  # Without it turn 0 has no reply.
    session = session_of(suite_of(check(CALM)))
    effects = fed(session, events)
    effects += session.advance(1_000_000 + HELD_MS)
    effects += session.feed(late, At(2_000_000, 100, 300))
    assert [(verdict.turn, verdict.revision) for verdict in verdicts_of(effects)] == [(0, 1), (1, 1)]


def test_what_may_hide_a_turn_leaves_the_run_without_a_verdict() -> None:
    events = list(talk("please", "please", "please").ends())
    (record,) = run_verdicts_of(effects_of(check(), [*events[:3], *events[5:]]))
    assert record.checks[0].outcome == "not_graded"


def test_after_many_turns_what_is_remembered_stays_small() -> None:
    session = session_of(suite_of(check(), check(turn="all", early="never"), check(turn="last")))
    sizes = []
    for n, event in enumerate(talk(*(("please", "no")[n % 7 == 6] for n in range(600)))):
        session.feed(event, At(1_000, n, 300))
        sizes.append(len(session.snapshot()))
    assert sizes[-1] - sizes[len(sizes) // 2] < 50
    (record,) = run_verdicts_of(session.finish())
    assert [line.outcome for line in record.checks] == ["fail", "fail", "pass"]


# -- all, any, last ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turn", "replies", "outcome", "evidence"),
    [
        ("all", ("please", "please"), "pass", "turn 0: 'please' found in transcript"),
        ("all", ("please", "no", "please", "no"), "fail", "turn 1: 'please' NOT found in transcript"),
        ("all", ("please", "no"), "fail", "turn 1: 'please' NOT found in transcript"),
        ("any", ("no", "no"), "fail", "turn 0: 'please' NOT found in transcript"),
        ("any", ("no", "please", "no"), "pass", "turn 1: 'please' found in transcript"),
        ("last", ("no", "please"), "pass", "'please' found in transcript"),
        ("last", ("please", "no"), "fail", "'please' NOT found in transcript"),
        (0, ("please", "no"), "pass", "'please' found in transcript"),
    ],
)
def test_one_verdict_on_the_turns(turn: Any, replies: tuple[str, ...], outcome: str, evidence: str) -> None:
    (verdict,) = finals(check(turn=turn), talk(*replies).ends())
    assert (verdict.outcome, verdict.evidence) == (outcome, evidence)
    assert verdict.turn == {"last": len(replies) - 1, 0: 0}.get(turn)


def test_a_turn_that_fails_is_told_early_and_the_rest_is_not_read() -> None:
    told = verdicts_of(effects_of(check(CALM, "all"), talk("fine", "hurry", "fine", "hurry").ends()))
    assert [(verdict.state, verdict.outcome, verdict.evidence[:7]) for verdict in told] == [
        ("early", "fail", "turn 1:"),
        ("final", "fail", "turn 1:"),
    ]
    assert [verdict.decided_by and verdict.decided_by.seq for verdict in told] == [4, 4]


def test_what_only_the_end_of_a_turn_shows_is_told_at_its_end() -> None:
    told = verdicts_of(effects_of(check(turn="all", early="always"), talk("no", "please").ends()))
    assert [verdict.state for verdict in told] == ["final"]  # That a text is missing may still be a loss.
    told = verdicts_of(effects_of(check(turn="any", early="always"), talk("please", "no").ends()))
    assert [(verdict.state, verdict.outcome) for verdict in told] == [("early", "pass"), ("final", "pass")]


@dataclass
class Words(Grader):
    """Scores a turn by its words, up to five; passes from two."""

    scale = (0, 5)

    words: int = field(default=0, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def update(self, seen: Seen) -> None:
        self.words = min(5, self.words + len(seen.text.split()) * seen.is_assistant)

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS if self.words >= 2 else Outcome.FAIL, Reason.FOUND, "", score=float(self.words))


def test_all_turns_together_score_as_the_lowest() -> None:
    (verdict,) = finals(check(Words(), "all"), talk("one two three four", "one two").ends())
    assert (verdict.outcome, verdict.score) == ("pass", 2.0)
    (record,) = run_verdicts_of(effects_of(check(Words()), talk("one two three four", "one two").ends()))
    assert record.checks[0].score == 2.0


def test_a_turn_that_decided_is_not_mixed_with_turns_that_are_not_read() -> None:
    class Calm(Words):
        """Settles on a fail at the first message of one word."""

        def update(self, seen: Seen) -> None:
            super().update(seen)
            self.settled = seen.is_assistant and self.words == 1

        def finding(self, run: RunFacts) -> Finding:
            found = super().finding(run)
            return Finding(found.outcome, found.reason, "", sound=self.settled, score=found.score)

    told = verdicts_of(effects_of(check(Calm(), "all"), talk("one two", "one", "one two").ends()))
    assert [(verdict.state, verdict.outcome, verdict.score) for verdict in told] == [
        ("early", "fail", 1.0),
        ("final", "fail", 1.0),
    ]


def test_a_turn_that_fails_for_certain_stands_before_one_that_may_have_passed() -> None:
    # In the first turn the agent says nothing, and what is missing at the run's end may be its reply.
    story = run().starts().asks("well?").asks("are you there?").says("hurry up")
    session = session_of(suite_of(check(CALM, "all")))
    effects = fed(session, story)
    effects += session.advance(session.now + 24 * HOUR)
    told = [(v.state, v.outcome, v.evidence) for v in verdicts_of(effects)]
    assert told == [("final", "fail", "turn 1: 'hurry' found in transcript")]
    # Of a whole run the first turn that fails is told.
    [whole] = finals(check(CALM, "all"), run().starts().asks("well?").asks("are you there?").says("hurry up").ends())
    assert (whole.outcome, whole.evidence) == ("fail", "turn 0: no assistant messages in transcript to check")


def test_the_last_turn_says_nothing_early() -> None:
    told = verdicts_of(effects_of(check(CALM, "last"), talk("hurry", "fine").ends()))
    assert [(verdict.state, verdict.outcome) for verdict in told] == [("final", "pass")]


@pytest.mark.parametrize("turn", ["each", "all", "any", "last"])
def test_a_run_without_a_turn_passes_nothing(turn: Any) -> None:
    (verdict,) = finals(check(CALM, turn), run().ends())
    assert (verdict.outcome, verdict.reason) == ("fail", "no_messages")
    (verdict,) = finals(check(ToolNotCalled("x"), turn), run().starts(turn=3).ends(turn=3))
    assert verdict.outcome == "pass"


@pytest.mark.parametrize("turn", ["all", "any", "last"])  # With `each` the file reader refuses it.
def test_a_condition_on_the_runs_end_is_one_on_the_whole(turn: Any) -> None:
    when = When(status=("error",))
    assert graded(check(turn=turn, when=when), talk("please").ends(status="error")).outcome == "pass"
    assert graded(check(turn=turn, when=when), talk("please").ends()).outcome == "skipped"


def test_skipped_turns_decide_only_where_there_is_nothing_else() -> None:
    turns = Turns()
    turns.note(0, Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK), None)
    skipped = Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK)
    assert turns.folded("all", 1, skipped, None)[0].outcome is Outcome.SKIPPED
    turns.note(1, Finding(Outcome.PASS, Reason.FOUND), 1.0)
    assert turns.folded("all", 2, skipped, None)[0].outcome is Outcome.PASS
    assert turns.folded("any", 2, Finding(Outcome.NOT_GRADED, Reason.TRUNCATED), None)[0].outcome is Outcome.PASS
    assert turns.folded("all", 2, Finding(Outcome.NOT_GRADED, Reason.TRUNCATED), None)[0].outcome is Outcome.NOT_GRADED


def test_a_tool_must_be_called_in_each_turn() -> None:
    story = run().starts().asks("a").calls("find").returns(1).says("x").asks("b").says("y").ends()
    assert [verdict.outcome for verdict in finals(check(ToolCalled("find")), story)] == ["pass", "fail"]
