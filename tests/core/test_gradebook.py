"""What a check says of a run: early, at the end of a turn or of the run, and never more than it may (design 4.2, 5.6, 6)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from stream_graders.entries import EVIDENCE
from stream_graders.events import UNSENT, Agent, Custom, Event, Message, ToolCall, to_json
from stream_graders.gradebook import STATE_BYTES
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.agentlasso.tool_order import ToolOrder
from stream_graders.graders.datarobot.tool_grounding import ToolGrounding
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.grading import Grader, RunFacts, Seen
from stream_graders.suites import About, Check, Suite, When
from stream_graders.testing import Story, graded, run, suite_of
from stream_graders.verdicts import Finding, Outcome, Point, Reason
from tests.core.life import MINUTE, SECOND, Life

SAYS = TranscriptContains("done")
KEEPS = TranscriptNotContains("guarantee")
REFUNDS = ToolCalled("refund")


# -- early -----------------------------------------------------------------------------------------------------------------

EARLY = {
    "a fail, by default": (Check("c", KEEPS, "minor"), "guarantee", ["early fail 0", "final fail 1"]),
    "a pass is not said early by default": (Check("c", SAYS, "minor"), "done", ["final pass 1"]),
    "a pass where it is asked for": (
        Check("c", SAYS, "minor", early="always"),
        "done",
        ["early pass 0", "final pass 1"],
    ),
    "nothing where it is not wanted": (Check("c", KEEPS, "minor", early="never"), "guarantee", ["final fail 1"]),
}


@pytest.mark.parametrize(("check", "text", "said"), EARLY.values(), ids=list(EARLY))
def test_what_is_said_early(check: Check, text: str, said: list[str]) -> None:
    life = Life(suite_of(check)).feed(run().starts().says(text).says(text).ends())
    assert [f"{v.state} {v.outcome} {v.revision}" for v in life.verdicts] == said
    assert {v.decided_by.seq for v in life.verdicts if v.decided_by} == {1}
    assert len({v.id for v in life.verdicts}) == len(said)


def test_an_early_and_a_final_verdict_say_the_same() -> None:
    early, final = Life(suite_of(Check("c", KEEPS, "minor"))).feed(run().starts().says("guarantee").ends()).verdicts
    assert (early.outcome, early.reason, early.evidence, early.points, early.decided_by) == (
        final.outcome,
        final.reason,
        final.evidence,
        final.points,
        final.decided_by,
    )


# -- when ------------------------------------------------------------------------------------------------------------------

WHENS = {
    "called": (When(called="refund"), run().starts().calls("refund").says("done")),
    "called, by pattern": (When(called="ref*"), run().starts().calls("refund").says("done")),
    "said": (When(said="DONE"), run().starts().says("done")),
    "status": (When(status=("limit", "error")), run().starts().says("done")),
    "labels": (When(labels={"prompt": "v7"}), run().starts(labels={"prompt": "v7", "x": "y"}).says("done")),
    "all of several": (When(called="refund", said="done"), run().starts().says("done").calls("refund")),
}
NOT = {
    "called": (When(called="refund"), "the condition did not come true: called refund"),
    "said": (When(said="bye"), "the condition did not come true: said bye"),
    "status": (When(status=("ok", "limit")), "the condition did not come true: status ok, limit"),
    "labels": (When(labels={"prompt": "v8"}), "the condition did not come true: labels prompt: v8"),
    "one of several": (When(called="refund", said="done"), "the condition did not come true: called refund, said done"),
}


@pytest.mark.parametrize(("when", "story"), WHENS.values(), ids=list(WHENS))
def test_a_check_applies_when(when: When, story: Story) -> None:
    assert graded(Check("c", SAYS, "critical", when=when), [*story.ends(status="error")]).outcome == "pass"


@pytest.mark.parametrize(("when", "evidence"), NOT.values(), ids=list(NOT))
def test_a_check_that_does_not_apply_is_skipped(when: When, evidence: str) -> None:
    story = run().starts(labels={"prompt": "v7"}).says("done").ends(status="error")
    verdict = graded(Check("c", SAYS, "critical", when=when), story)
    assert (verdict.outcome, verdict.reason, verdict.evidence) == ("skipped", "not_applicable", evidence)
    assert verdict.score is None


UNKNOWN = {
    "the calls are not reported": (When(called="refund"), run().says("done"), "record_unknown"),
    "a message was not sent": (When(said="bye"), run().starts().says("done").says(UNSENT), "content_missing"),
    "a message was cut": (When(said="bye"), run().starts().says("done, by", flags=("truncated",)), "truncated"),
}


@pytest.mark.parametrize(("when", "story", "reason"), UNKNOWN.values(), ids=list(UNKNOWN))
def test_a_condition_of_which_nothing_is_known_is_no_skip(when: When, story: Story, reason: str) -> None:
    verdict = graded(Check("c", SAYS, "critical", when=when), story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", reason)


@pytest.mark.parametrize(
    ("when", "lost"), [(When(called="refund"), 2), (When(said="bye"), 2), (When(labels={"prompt": "v7"}), 0)]
)
def test_in_an_incomplete_run_a_condition_may_have_come_true(when: When, lost: int) -> None:
    events = list(run().starts(labels={"prompt": "v8"}).says("done").says("x").ends())
    verdict = graded(Check("c", SAYS, "critical", when=when), [event for event in events if event.seq != lost])
    assert (verdict.outcome, verdict.reason) == ("not_graded", "incomplete")


def test_in_a_run_that_fell_silent_the_status_is_not_known() -> None:
    life = Life(suite_of(Check("c", SAYS, "critical", when=When(status=("ok",))))).feed(run().starts().says("done"))
    assert life.later(15 * MINUTE).outcomes() == {"c": "not_graded (incomplete)"}


def test_labels_that_are_known_not_to_fit_skip_even_an_incomplete_run() -> None:
    events = list(run().starts(labels={"prompt": "v8"}).says("done").says("x").ends())
    check = Check("c", SAYS, "critical", when=When(labels={"prompt": "v7"}))
    assert graded(check, [event for event in events if event.seq != 2]).outcome == "skipped"


def test_no_early_verdict_before_its_condition_is_true() -> None:
    check = Check("c", KEEPS, "minor", when=When(called="refund"))
    life = Life(suite_of(check)).feed(run().starts().says("guarantee"))
    assert life.verdicts == []
    life.feed(list(run().starts().says("x").calls("refund"))[2])
    assert [(v.state, v.decided_by and v.decided_by.seq) for v in life.verdicts] == [("early", 1)]


def chain(outcome: tuple[str, ...] = ("pass",)) -> Suite:
    return suite_of(
        Check("first", REFUNDS, "minor"), Check("then", SAYS, "critical", when=When(check="first", outcome=outcome))
    )


def test_the_outcome_of_another_check_is_a_condition() -> None:
    story = run().starts().calls("refund").says("done").ends()
    assert Life(chain()).feed(story).outcomes()["then"] == "pass (found)"
    assert Life(chain(("fail", "skipped"))).feed(story).outcomes()["then"] == "skipped (not_applicable)"


def test_of_a_check_without_a_verdict_nothing_follows() -> None:
    story = run().says("done").ends()
    assert Life(chain()).feed(story).outcomes()["then"] == "not_graded (record_unknown)"
    assert Life(chain(("not_graded",))).feed(story).outcomes()["then"] == "pass (found)"


def test_of_a_check_that_is_gone_nothing_follows() -> None:
    check = Check("c", SAYS, "critical", when=When(check="no such"))
    assert graded(check, run().starts().says("done").ends()).outcome == "skipped"


# -- turns -----------------------------------------------------------------------------------------------------------------


def in_turn(grader: Grader, turn: int, **more: Any) -> Check:
    return Check("c", grader, "critical", turn=turn, **more)


def test_a_turn_is_final_when_the_next_user_message_comes() -> None:
    life = Life(suite_of(in_turn(SAYS, 0))).feed(run().starts().asks("a").says("done"))
    assert life.verdicts == []
    life.feed(list(run().starts().asks("a").says("done").asks("b"))[3])
    assert [(v.state, v.turn, v.outcome) for v in life.verdicts] == [("final", 0, "pass")]
    life.feed(run().ends(seq=4, id="end", last_seq=4))
    assert len(life.verdicts) == 1
    assert life.run.checks[0].outcome == "pass"


def test_or_when_it_says_so() -> None:
    life = Life(suite_of(in_turn(KEEPS, 0))).feed(
        run().starts().asks("a").says("b").ends_turn().says("guarantee").ends()
    )
    assert [(v.outcome, v.decided_by and v.decided_by.seq) for v in life.verdicts] == [("pass", 3)]


EMPTY = {
    "what would pass fails": (KEEPS, "fail", "no_messages"),
    "a forbidden call": (ToolNotCalled("drop"), "fail", "turn_missing"),
    "what fails fails as it does": (SAYS, "fail", "not_found"),
    "skipped stays skipped": (ToolGrounding(None), "skipped", "no_canary"),
}


@pytest.mark.parametrize(("grader", "outcome", "reason"), EMPTY.values(), ids=list(EMPTY))
def test_on_an_empty_turn_nothing_passes(grader: Grader, outcome: str, reason: str) -> None:
    verdict = graded(in_turn(grader, 7), run().starts().asks("a").says("done").ends())
    assert (verdict.outcome, verdict.reason) == (outcome, reason)


def test_turn_0_is_a_turn() -> None:  # R8
    assert graded(in_turn(SAYS, 0), run().starts().asks("a").asks("b").says("done").ends()).outcome == "fail"


def test_turns_that_are_sent_are_taken_as_they_are() -> None:
    story = run().starts(turn=0).asks("a", turn=0).says("x", turn=5).ends(turn=5)
    assert graded(in_turn(TranscriptContains("x"), 5), story).outcome == "pass"
    assert graded(in_turn(ToolNotCalled("x"), 3), story).reason == "turn_missing"


def test_a_turn_whose_condition_is_not_decided_waits_for_the_end_of_the_run() -> None:
    story = list(run().starts().asks("a").says("done").asks("b").calls("refund").ends())
    for when in (When(called="refund"), When(status=("ok",)), When(check="other")):
        suite = suite_of(Check("other", KEEPS, "minor"), in_turn(SAYS, 0, when=when))
        life = Life(suite).feed(story[:-1])
        assert life.verdicts == []
        assert life.feed(story[-1]).outcomes()["c"] == "pass (found)"


def test_a_turn_counted_across_a_gap_may_be_another() -> None:
    events = list(run().starts().asks("a").asks("lost").says("guarantee").says("done").ends())
    rest = [event for event in events if event.seq != 2]
    for grader in (SAYS, KEEPS):  # Both rest on what was seen, but perhaps in turn 1.
        assert graded(in_turn(grader, 0), rest).reason == "incomplete"
        assert graded(grader, rest).outcome in ("pass", "fail")


def test_a_turn_that_was_sent_with_the_event_is_certain() -> None:
    story = run().starts(turn=0).asks("a", turn=0).asks("lost", turn=1).says("done", turn=1).ends(turn=1)
    assert graded(in_turn(SAYS, 1), [event for event in story if event.seq != 2]).outcome == "pass"


def test_a_turn_that_ends_while_another_producer_has_a_gap_waits() -> None:
    tools = run(producer="p2").calls("find", id="t0", seq=0).calls("drop", id="t1", seq=1).calls("x", id="t2", seq=2)
    first, lost, held = tools
    life = Life(suite_of(in_turn(ToolNotCalled("drop"), 0)))
    life.feed(run().starts().asks("a"), first, held, list(run().starts().asks("a").asks("b"))[2])
    assert life.verdicts == []
    life.feed(lost, run().ends(seq=3, id="end", last_seq=3))
    assert life.verdict.state == "final"


# -- a grader that fails -----------------------------------------------------------------------------------------------------


@dataclass
class Faulty(Grader):
    """Raises where it is told to."""

    where: str = "update"

    grows = True
    count: int = field(default=0, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def update(self, seen: Seen) -> None:
        self.count += 1
        if self.where == "update" and self.count == 2:
            raise ZeroDivisionError("x" * 10_000)

    def size(self) -> int:
        if self.where == "size":
            raise ZeroDivisionError("x")
        return 0

    def finding(self, run: RunFacts) -> Finding:
        if self.where == "finding":
            raise ZeroDivisionError("x")
        return Finding(Outcome.PASS, Reason.FOUND, sound=True)


@pytest.mark.parametrize("where", ["update", "finding", "size"])
def test_a_grader_that_raises_is_the_error_of_its_check_alone(where: str) -> None:
    suite = suite_of(Check("faulty", Faulty(where), "minor"), Check("says", SAYS, "critical"))
    life = Life(suite).feed(run().starts().says("a").says("b"))
    life.moves().feed(run().says("done", seq=3, id="m3"))
    life.feed(run().ends(seq=4, id="end", last_seq=4))
    assert life.outcomes() == {"faulty": "error (grader_raised)", "says": "pass (found)"}
    faulty = life.verdicts[0]
    assert faulty.evidence.startswith("ZeroDivisionError: x")
    assert faulty.score is None
    assert (life.run.outcome, life.run.degraded, life.run.partially_graded) == ("pass", True, True)
    assert len(life.session.snapshot()) < 8 * 1024


def test_a_critical_check_in_error_leaves_the_run_without_an_outcome() -> None:
    life = Life(suite_of(Check("faulty", Faulty("finding"), "critical"))).feed(run().starts().ends())
    assert (life.run.outcome, life.run.reason) == ("not_graded", "unverified")


# -- state -------------------------------------------------------------------------------------------------------------------


def greedy(name: str, pattern: str) -> Check:
    return Check(name, AssistantContainsToolOutput(["find"], pattern), "critical")


def test_over_64_kb_the_largest_check_gives_up_and_the_others_go_on() -> None:
    suite = suite_of(greedy("large", "A.*"), greedy("small", "B.*"), Check("says", SAYS, "minor"))
    life = Life(suite).feed(run().starts())
    n = 1
    while not life.session.books[0].entries[0].gave_up:
        assert n < 2_000
        life.feed(run().calls("find", seq=n, id=f"c{n}").returns(f"A{n:05d}", seq=n + 1, id=f"{'r' * 400}{n}"))
        n += 2
        life.moves()
    life.feed(run().returns("B7", name="find", seq=n, id="b").says("B7, done", seq=n + 1, id="m"))
    life.feed(run().ends(seq=n + 2, id="end", last_seq=n + 2))
    assert life.outcomes() == {
        "large": "not_graded (state_limit)",
        "small": "pass (echoed)",
        "says": "pass (found)",
    }
    assert len(life.session.snapshot()) < 16 * 1024  # What it remembered is gone.


def test_the_limit_is_that_of_all_checks_together() -> None:
    suite = suite_of(*(greedy(f"c{n}", f"(?:{n}|A).*") for n in range(4)))
    life = Life(suite).feed(run().starts())
    for n in range(1, 400, 2):
        life.feed(run().calls("find", seq=n, id=f"c{n}").returns(f"A{n:05d}", seq=n + 1, id=f"{'r' * 200}{n}"))
        assert sum(entry.grader.size() for entry in life.session.books[0].entries) <= STATE_BYTES
    assert [entry.gave_up for entry in life.session.books[0].entries].count(True) in (1, 2, 3)


def test_a_check_that_was_decided_before_keeps_its_verdict() -> None:
    suite = suite_of(greedy("decided", "A00001"), greedy("large", "A.*"))
    life = Life(suite).feed(run().starts().calls("find").returns("A00001").says("A00001"))
    for n in range(4, 700, 2):
        life.feed(run().calls("find", seq=n, id=f"c{n}").returns(f"A{n:05d}", seq=n + 1, id=f"{'r' * 400}{n}"))
    life.feed(run().ends(seq=700, id="end", last_seq=700))
    assert life.outcomes()["decided"] == "pass (echoed)"


# -- who hears of it -----------------------------------------------------------------------------------------------------------

NOTIFY = Suite(
    "s", (Check("keeps", KEEPS, "critical", "page"), Check("quiet", KEEPS, "critical")), about=About("payments")
)


def test_the_first_fail_is_told_once() -> None:
    life = Life(NOTIFY).feed(run().starts().says("guarantee").says("guarantee").ends())
    (violation,) = life.violations
    assert (violation.resolved, violation.verdict.state, violation.verdict.check) == (False, "early", "keeps")
    assert violation.verdict == life.verdicts[0]
    assert violation.id != violation.verdict.id


def test_a_pass_tells_nobody() -> None:
    assert Life(NOTIFY).feed(run().starts().says("fine").ends()).violations == []


def test_an_amendment_that_takes_a_fail_back_is_told_too() -> None:
    suite = Suite("s", (Check("calls", REFUNDS, "critical", "ticket"),))
    life = Life(suite).feed(run().starts().says("x").ends())
    life.feed(run().calls("refund", seq=3, id="late"))
    assert [(v.resolved, v.verdict.outcome) for v in life.violations] == [(False, "fail"), (True, "pass")]
    assert len({violation.id for violation in life.violations}) == 2
    life.moves().feed(run().says("more", seq=4, id="more"))
    assert len(life.violations) == 2


def test_where_only_fails_are_published_the_rest_is_counted() -> None:
    suite = suite_of(Check("says", SAYS, "minor"), Check("keeps", KEEPS, "critical"), publish="fails")
    life = Life(suite).feed(run().starts().says("guarantee done").ends())
    assert [(v.check, v.state) for v in life.verdicts] == [("keeps", "early"), ("keeps", "final")]
    assert [(line.check, line.outcome) for line in life.run.checks] == [("says", "pass"), ("keeps", "fail")]


def test_what_takes_a_published_fail_back_is_published() -> None:
    suite = suite_of(Check("calls", REFUNDS, "critical"), publish="fails")
    life = Life(suite).feed(run().starts().says("x").ends(), run().calls("refund", seq=3, id="late"))
    assert [(v.state, v.outcome) for v in life.verdicts] == [("final", "fail"), ("amended", "pass")]


# -- evidence ------------------------------------------------------------------------------------------------------------------

SECRETS = {
    "a card": "card 4111 1111 1111 1111 of",
    "an address": "write to jo.doe@mail.example.com please",
    "a key": "sk-EXAMPLEabcdef1234567890",
    "a bearer": "Authorization: Bearer abcdefghijklmnop",
    "a token": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.sig_nature",
}


@pytest.mark.parametrize("secret", SECRETS.values(), ids=list(SECRETS))
def test_excerpts_hide_what_should_not_travel(secret: str) -> None:
    grader = AssistantContainsToolOutput(["find"], r"(?s)<(.*)>")
    story = run().starts().calls("find").returns(f"<{secret}>").says(f"see {secret}").ends()
    shown = graded(grader, story)
    assert shown.outcome == "pass"
    middle = secret[len(secret) // 2 : len(secret) // 2 + 6]
    assert middle not in str(to_json(shown))
    assert "…(masked)" in shown.evidence
    assert secret in graded(grader, story, evidence="full").evidence
    bare = graded(grader, story, evidence="none")
    assert (bare.evidence, [point.excerpt for point in bare.points]) == ("", [None, None])
    assert [point.seq for point in bare.points] == [2, 3]


def test_an_order_number_is_no_secret() -> None:
    story = run().starts().calls("find").returns("ORD-123456").says("ORD-123456").ends()
    assert "ORD-123456" in graded(AssistantContainsToolOutput(["find"], "ORD-.*"), story).evidence


def test_evidence_is_cut_at_1000_characters_and_says_so() -> None:
    canary = "c" * 5_000
    verdict = graded(ToolGrounding(canary), run().starts().says("none").ends())
    assert re.fullmatch(r"tool data missing: c{981}… \(5019 characters\)", verdict.evidence)
    assert len(verdict.evidence) < EVIDENCE + 30


@dataclass
class Verbose(Grader):
    """Says far too much."""

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def update(self, seen: Seen) -> None:
        raise NotImplementedError

    def finding(self, run: RunFacts) -> Finding:
        points = tuple(Point("e" * 512, n, "p", "x" * 100) for n in range(50))
        return Finding(Outcome.FAIL, Reason.FOUND, "\x00" * 500_000, points, sound=True)


def test_no_verdict_is_larger_than_a_topic_takes() -> None:
    long = "\x01" * 600
    story = run(environment=long, tenant=long, session_id=long).starts(
        labels={f"{n}{long}": long for n in range(200)}, model=long, agent=Agent("a" * 512, long, long)
    )
    for n in range(100):
        story.says("x", flags=(f"flag{n}",))
    life = Life(suite_of(*(Check(f"c{n}", Verbose(), "minor", "page") for n in range(10)))).feed(story.ends())
    records = [*life.verdicts, *life.runs, *life.violations]
    assert len(records) == 21
    assert max(len(to_json(record)) for record in records) < 256 * 1024
    assert all(len(verdict.points) == 3 for verdict in life.verdicts)


# -- edited suites ---------------------------------------------------------------------------------------------------------------

OLD = Suite("s", (Check("kept", SAYS, "critical"), Check("edited", KEEPS, "minor"), Check("removed", REFUNDS, "info")))
NEW = Suite(
    "s",
    (
        Check("kept", SAYS, "critical"),
        Check("edited", TranscriptNotContains("promise"), "minor"),
        Check("new", ToolOrder(["x"]), "critical"),
    ),
)


def test_a_run_under_an_edited_suite_goes_on_with_the_checks_that_are_as_they_were() -> None:
    life = Life(OLD).feed(run().starts().asks("a")).moves(NEW)
    life.feed(run().says("done", seq=2, id="m"), run().ends(seq=3, id="end", last_seq=3))
    assert life.outcomes() == {
        "kept": "pass (found)",
        "edited": "not_graded (suite_changed)",
        "removed": "not_graded (suite_changed)",
    }
    assert life.run.flags == ("suite_changed",)
    assert [line.check for line in life.run.checks] == ["kept", "edited", "removed"]
    by_name = {verdict.check: verdict for verdict in life.verdicts}
    assert by_name["removed"].check_version == OLD.checks[2].version
    assert by_name["kept"].suite_version == OLD.version


def test_a_check_that_comes_back_as_it_was_does_not_come_back_into_the_run() -> None:
    life = Life(OLD).feed(run().starts()).moves(NEW).feed(run().says("done", seq=1, id="m")).moves(OLD)
    life.feed(run().ends(seq=2, id="end", last_seq=2))
    assert life.outcomes()["edited"] == "not_graded (suite_changed)"
    by_name = {verdict.check: verdict for verdict in life.verdicts}
    assert (by_name["removed"].grader, by_name["removed"].severity) == ("", "critical")


def test_a_verdict_that_is_out_stays_when_its_check_is_edited() -> None:
    life = Life(OLD).feed(run().starts().says("done").ends()).moves(NEW)
    before = len(life.verdicts)
    life.feed(run().says("more", seq=3, id="more"))
    assert len(life.verdicts) == before


def test_a_suite_that_is_gone_leaves_its_runs_without_a_verdict() -> None:
    life = Life(OLD).feed(run().starts()).moves(Suite("another", NEW.checks))
    life.feed(run().says("done", seq=1, id="m"), run().ends(seq=2, id="end", last_seq=2))
    assert set(life.outcomes().values()) == {"not_graded (suite_changed)"}
    assert life.run.suite == "s"


def test_editing_one_check_leaves_the_identity_of_the_others_alone() -> None:
    assert OLD.checks[0].version == NEW.checks[0].version
    assert OLD.checks[1].version != NEW.checks[1].version
    assert OLD.version != NEW.version


VERSIONS = {
    "settings": Check("c", TranscriptContains("x", case_sensitive=True), "minor"),
    "when": Check("c", TranscriptContains("x"), "minor", when=When(called="y")),
    "turn": Check("c", TranscriptContains("x"), "minor", turn=0),
    "grader": Check("c", TranscriptNotContains("x"), "minor"),
}


@pytest.mark.parametrize("other", VERSIONS.values(), ids=list(VERSIONS))
def test_a_check_version_changes_with_its_meaning(other: Check) -> None:
    assert other.version != Check("c", TranscriptContains("x"), "minor").version


def test_and_with_nothing_else() -> None:
    plain = Check("c", TranscriptContains("x"), "minor")
    assert (
        Check("d", TranscriptContains("x", False, negate=False), "critical", "page", early="never").version
        == plain.version
    )


# -- the run's verdict -----------------------------------------------------------------------------------------------------------


def test_a_suite_whose_checks_all_skip_gives_a_run_outside_every_rate() -> None:
    life = Life(suite_of(Check("c", SAYS, "critical", when=When(called="x")))).feed(run().starts().ends())
    assert (life.run.outcome, life.run.reason, life.run.score) == ("skipped", "nothing_applied", None)


def test_info_checks_count_nowhere() -> None:
    suite = suite_of(Check("info", SAYS, "info"), Check("keeps", KEEPS, "critical"))
    life = Life(suite).feed(run().starts().says("fine").ends())
    assert (life.run.outcome, life.run.reason, life.run.score) == ("pass", "all_passed", 1.0)
    assert life.run.counts == {"pass": 1, "fail": 1, "skipped": 0, "error": 0, "not_graded": 0}


def test_a_minor_fail_lowers_the_score_and_no_more() -> None:
    suite = suite_of(Check("says", SAYS, "minor"), Check("keeps", KEEPS, "critical"))
    life = Life(suite).feed(run().starts().says("fine").ends())
    assert (life.run.outcome, life.run.reason, life.run.score) == ("pass", "critical_passed", 0.5)


def test_the_run_verdict_tells_its_times_and_counts() -> None:
    life = Life(suite_of(SAYS)).feed(run().starts().asks("a").adds(Custom).says("done").asks("b").ends(status="limit"))
    assert (life.run.first_event_at, life.run.last_event_at) == ("2026-09-21T14:13:20.000Z", "2026-09-21T14:13:25.000Z")
    assert (life.run.events, life.run.turns, life.run.status) == (5, 2, "limit")


def test_verdicts_of_one_life_never_share_an_id() -> None:
    life = Life((NOTIFY, OLD)).feed(run().starts().says("guarantee").ends()).later(MINUTE)
    life.feed(run().calls("refund", seq=3, id="late")).later(SECOND)
    ids = [v.id for v in life.verdicts] + [v.id for v in life.runs] + [v.id for v in life.violations]
    assert len(ids) == len(set(ids))


NOT_GRADED = {
    "events are missing; so far: 'guarantee' NOT found in transcript": (KEEPS, "no 1"),
    "content was not sent; so far: 'guarantee' NOT found in transcript": (KEEPS, "unsent"),
    "a text was cut; so far: 'guarantee' NOT found in transcript": (KEEPS, "cut"),
    "no tool-call record is known; so far: refund was never called. The agent called no tools.": (REFUNDS, "no 0"),
}


@pytest.mark.parametrize(("evidence", "grader", "how"), [(text, *case) for text, case in NOT_GRADED.items()])
def test_a_check_that_is_not_graded_says_why_and_what_it_knows(evidence: str, grader: Grader, how: str) -> None:
    stories: dict[str, Iterable[Event]] = {
        "no 1": [event for event in run().starts().asks("lost").says("fine").ends() if event.seq != 1],
        "unsent": run().starts().says(UNSENT).ends(),
        "cut": run().starts().says("fine", flags=("truncated",)).ends(),
        "no 0": run().asks("x").ends(),
    }
    assert graded(grader, stories[how]).evidence == evidence
