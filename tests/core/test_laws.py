"""Every law can fail, and every grader and the session keep all of them over named runs."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest

from stream_graders import laws
from stream_graders.catalogue import catalogue
from stream_graders.events import Event, Message, ToolCall
from stream_graders.grading import Grader, RunFacts, Seen
from stream_graders.laws import LAWS, SESSION_LAWS, Law, LawError, SessionLaw
from stream_graders.session import At, Effect, Ledger, Session
from stream_graders.suites import Check, Completion, Fleet, Judging, Suite, When
from stream_graders.testing import Record, journal, run, suite_of
from stream_graders.verdicts import Finding, Outcome, Reason
from tests.core.stories import GRADERS, STORIES, STORIES_OF, long_story

# -- graders that break a law ------------------------------------------------------------------------------------------


@dataclass
class Keeper(Grader):
    """Keeps every law: was the word said? The graders below inherit from it and break one."""

    order_free = True

    word: str = "lot"
    words: list[str] = field(default_factory=list)

    hits: list[str] = field(default_factory=list, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def update(self, seen: Seen) -> None:
        if not self.hits and seen.is_assistant and self.word in seen.lower:
            self.hits.append("hit")
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.hits:
            return Finding(Outcome.PASS, Reason.FOUND, sound=True)
        return Finding(Outcome.FAIL, Reason.NOT_FOUND, cut=True)


class CountsQuestions(Keeper):
    def finding(self, run: RunFacts) -> Finding:
        self.hits.append("asked")
        return Finding(Outcome.PASS, Reason.FOUND, sound=True)


class WritesIntoEvents(Keeper):
    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def update(self, seen: Seen) -> None:
        assert isinstance(seen.event, ToolCall)
        seen.event.args["seen"] = True


class WritesIntoSettings(Keeper):
    def update(self, seen: Seen) -> None:
        self.words.append(seen.text)


class KeepsStateBesideItsFields(Keeper):
    heard = 0

    def update(self, seen: Seen) -> None:
        self.heard = self.heard + 1

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS, Reason.FOUND, f"{self.heard} messages", sound=True)


class KeepsWhatJsonChanges(Keeper):
    def update(self, seen: Seen) -> None:
        self.hits.append((seen.text,))  # type: ignore[arg-type]  # on purpose: JSON gives a list back

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS, Reason.FOUND, repr(self.hits), sound=True)


class SharesItsState(Keeper):
    shared: ClassVar[list[str]] = []

    def update(self, seen: Seen) -> None:
        self.shared.append("heard")

    def snapshot(self) -> list[Any]:
        return [False, list(self.shared)]

    def restore(self, values: list[Any]) -> None:
        self.shared[:] = values[1]


class RemembersTheTranscript(Keeper):
    def update(self, seen: Seen) -> None:
        self.hits.append(seen.text)


class HidesItsWeight(RemembersTheTranscript):
    grows = True


class UnsettlesTheSettled(Keeper):
    def update(self, seen: Seen) -> None:
        self.hits.append(seen.text)
        self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS, Reason.FOUND, str(len(self.hits)), sound=True)


class SettlesOnTheUnsound(Keeper):
    def update(self, seen: Seen) -> None:
        self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS, Reason.FOUND)


class GivesAReasonOfItsOwn(Keeper):
    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS, "because", sound=True)  # type: ignore[arg-type]  # on purpose


class QuotesAtLength(Keeper):
    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS, Reason.FOUND, points=(run_point("x" * 1_000),), sound=True)


class SharesItsLists(Keeper):
    def fresh(self) -> Self:
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        return new


class MindsTheOrder(Keeper):
    def update(self, seen: Seen) -> None:
        self.hits[:] = [seen.text]

    def finding(self, run: RunFacts) -> Finding:
        found = any(self.word in text.lower() for text in self.hits)
        return Finding(Outcome.PASS if found else Outcome.FAIL, Reason.FOUND, cut=True)


class CountsRepetitions(Keeper):
    def update(self, seen: Seen) -> None:
        self.hits.append("heard")

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS if len(self.hits) > 4 else Outcome.FAIL, Reason.FOUND, cut=True)


class TakesSilenceForAnAnswer(Keeper):
    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.FAIL if self.hits else Outcome.PASS, Reason.FOUND, sound=True)


class DoesNotSayWhatItNeeds(Keeper):
    def needs(self) -> frozenset[str]:
        return frozenset()

    def finding(self, run: RunFacts) -> Finding:
        return Finding(Outcome.PASS if self.hits else Outcome.FAIL, Reason.FOUND)


class TurnsAwayWhatIsLate(Keeper):
    def update(self, seen: Seen) -> None:
        if not seen.late:
            super().update(seen)


def run_point(text: str) -> Any:
    return next(Seen(event, 0, 0).point("content", text) for event in run().says("x"))


BREAKERS: list[tuple[Law, type[Keeper]]] = [
    (laws.asking_changes_nothing, CountsQuestions),
    (laws.events_are_left_alone, WritesIntoEvents),
    (laws.events_are_left_alone, WritesIntoSettings),
    (laws.a_move_through_json_does_not_show, KeepsStateBesideItsFields),
    (laws.a_move_through_json_does_not_show, KeepsWhatJsonChanges),
    (laws.snapshots_stand_still, SharesItsState),
    (laws.state_stays_small, RemembersTheTranscript),
    (laws.state_stays_small, HidesItsWeight),
    (laws.settled_is_settled, UnsettlesTheSettled),
    (laws.settled_is_settled, SettlesOnTheUnsound),
    (laws.an_end_brings_a_verdict, GivesAReasonOfItsOwn),
    (laws.an_end_brings_a_verdict, QuotesAtLength),
    (laws.fresh_forgets, SharesItsLists),
    (laws.order_free_means_any_order, MindsTheOrder),
    (laws.order_free_means_any_order, CountsRepetitions),
    (laws.unknown_is_never_a_verdict, TakesSilenceForAnAnswer),
    (laws.unknown_is_never_a_verdict, DoesNotSayWhatItNeeds),
    (laws.incomplete_is_never_a_wrong_verdict, TakesSilenceForAnAnswer),
    (laws.late_events_mend_what_they_can, TurnsAwayWhatIsLate),
]

TELLING = list(
    run()
    .starts()
    .asks("which?")
    .says("one moment")
    .calls("lots.find", {"kind": "Q"})
    .returns("Q7")
    .says("it is lot Q7 " + "x" * 20_000)
    .says("anything else?")
    .ends()
)


@pytest.mark.parametrize(("law", "breaker"), BREAKERS, ids=[f"{law.__name__}-{b.__name__}" for law, b in BREAKERS])
def test_a_grader_that_breaks_a_law_is_told(law: Law, breaker: type[Keeper]) -> None:
    SharesItsState.shared.clear()
    with pytest.raises(LawError):
        law(breaker(), TELLING)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_the_grader_that_the_others_inherit_from_keeps_it(law: Law) -> None:
    law(Keeper(), TELLING)


def test_every_law_of_graders_has_a_grader_that_breaks_it() -> None:
    assert {law for law, _ in BREAKERS} == set(LAWS)


# -- graders of the catalogue ------------------------------------------------------------------------------------------

CASES = [*STORIES.values(), long_story(3)]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("grader", GRADERS.values(), ids=list(GRADERS))
def test_a_grader_keeps_the_law(law: Law, grader: Grader) -> None:
    for events in [*CASES, *STORIES_OF[type(grader)].values()]:
        law(grader, events)


def test_every_grader_of_the_catalogue_is_held_to_the_laws() -> None:
    assert {type(grader) for grader in GRADERS.values()} == set(catalogue().values())


@pytest.mark.parametrize("grader", GRADERS.values(), ids=list(GRADERS))
def test_state_stays_small_in_a_long_run_with_long_ids(grader: Grader) -> None:
    story = long_story(300, id="e" * 400)
    laws.state_stays_small(grader, story)


# -- sessions that break a law -----------------------------------------------------------------------------------------


class GradesRepetitions(Session):
    """Takes what comes again for something new."""

    def feed(self, event: Event, at: At) -> list[Effect]:
        known = event.seq is not None and event.seq < self.order.expected(event.producer)
        return super().feed(laws._changed(event, seq=None, id=f"{event.id}@{at.offset}") if known else event, at)


class GradesAsItComes(Session):
    """Does not look at the producers' numbers."""

    def feed(self, event: Event, at: At) -> list[Effect]:
        return super().feed(laws._changed(event, seq=None), at)


class ForgetsOnTheWay(Session):
    """Leaves something behind when it moves."""

    @classmethod
    def resume(cls, fleet: Fleet, run_id: str, data: bytes, ledger: Ledger) -> "Session":
        session = super().resume(fleet, run_id, data, ledger)
        session.tools_seen = False
        return session


class CountsAcrossRuns(Session):
    """Says something that is not a function of the journal."""

    numbers = count()

    def _figures(self) -> dict[str, Any]:
        return {**super()._figures(), "turns": next(self.numbers)}


class ReadsTheClock(Session):
    """Reckons from when it was called, not from the deadline that passed."""

    def advance(self, now: int) -> list[Effect]:
        self.now = max(self.now, now)
        return super().advance(now)


class ReadsAgain(Session):
    """Has no watermark."""

    def feed(self, event: Event, at: At) -> list[Effect]:
        self.offset = min(self.offset, at.offset - 1)
        return super().feed(event, at)


class CountsTwice(Session):
    """Counts an event that it holds back when it comes, and again when it is graded."""

    def feed(self, event: Event, at: At) -> list[Effect]:
        held = self._held()
        effects = super().feed(event, at)
        self.ledger.graded += max(0, held - self._held())
        return effects


class DropsWhatItHolds(Session):
    """Forgets held events with the run."""

    def _give_up_gaps(self, effects: list[Effect]) -> bool:
        return False


class EndsTwice(Session):
    """Says each final verdict twice."""

    def _complete(self, reason: str, effects: list[Effect]) -> None:
        super()._complete(reason, effects)
        for book in self.books:
            for entry in book.entries:
                entry.revision, entry.published = 0, None
        super()._complete(reason, effects)


class TellsTheRunOtherwise(Session):
    """Gives a run verdict that does not know the last amendment."""

    def _complete(self, reason: str, effects: list[Effect]) -> None:
        for book in self.books:
            for entry in book.entries:
                entry.published = ["pass", "found", "", 1.0, True]
        super()._complete(reason, effects)
        for book in self.books:
            for entry in book.entries:
                entry.published = ["skipped", "found", "", None, True]
            effects.append(book.run_verdict(self._standpoint(), self._figures()))


SESSION_BREAKERS: list[tuple[SessionLaw, type[Session]]] = [
    (laws.twice_is_once, GradesRepetitions),
    (laws.local_disorder_is_mended, GradesAsItComes),
    (laws.a_session_moves_unseen, ForgetsOnTheWay),
    (laws.equal_ids_have_equal_bytes, CountsAcrossRuns),
    (laws.cuts_do_not_show, ReadsTheClock),
    (laws.a_replay_says_nothing, ReadsAgain),
    (laws.the_ledger_adds_up, CountsTwice),
    (laws.the_ledger_adds_up, DropsWhatItHolds),
    (laws.every_check_ends_once, EndsTwice),
    (laws.every_check_ends_once, TellsTheRunOtherwise),
]

SOON = Completion(amend_window=60_000, remember=300_000)
SUITE = suite_of(
    *(Check(f"{n}", grader, "critical", judge=Judging(deadline=1_000)) for n, grader in enumerate(GRADERS.values())),
    Check("in turn 0", GRADERS["contains"], "minor", turn=0, early="always"),
    Check("in turn 1", GRADERS["not contains"], "critical", turn=1),
    Check("when refunded", GRADERS["contains"], "critical", "page", When(called="payments.refund")),
    Check("in each turn", GRADERS["contains"], "minor", "ticket", turn="each"),
    Check("in all turns", GRADERS["not contains"], "critical", "page", turn="all"),
    Check("in any turn", GRADERS["called"], "minor", turn="any"),
    Check("in the last turn", GRADERS["order"], "minor", turn="last"),
    Check("when contained", GRADERS["not called"], "info", "ticket", When(check="in turn 0")),
    completion=SOON,
)
FLEET = Fleet((SUITE, Suite("other", (Check("called", GRADERS["called"], "minor"),), completion=SOON)))


def _gapped() -> list[Record]:
    """A run with a gap at its end that is never filled, and what comes after."""
    records = journal([*STORIES["an order is found and refunded"], *run().says("late", seq=14, id="late-14")])
    event, at = records[-1]
    return [*records[:-1], (event, at._replace(time=records[-2][1].time + 55_000))]


def _repeated() -> list[Record]:
    return journal([event for event in STORIES["an order is found and refunded"] for _ in range(2)])


def _parted() -> list[Record]:
    """A run whose fourth event comes last, after the others were held back for it."""
    told = STORIES["an order is found and refunded"]
    return journal([*told[:3], *told[4:], told[3]])


JOURNALS: dict[str, Sequence[Record]] = {
    **{name: journal(events) for name, events in STORIES.items()},
    "a gap that nothing fills": _gapped(),
    "everything twice": _repeated(),
    "one event comes last": _parted(),
    "a number far ahead": journal([*run().starts().says("lot Q7"), *run().says("58", seq=20_000, id="far").ends()]),
    "an hour between events": journal(STORIES["an order is found and refunded"], step=3_600_000),
    "all at once": journal(STORIES["an order is found and refunded"], step=0),
}


@pytest.mark.parametrize(
    ("law", "breaker"), SESSION_BREAKERS, ids=[f"{x.__name__}-{b.__name__}" for x, b in SESSION_BREAKERS]
)
def test_a_session_that_breaks_a_law_is_told(law: SessionLaw, breaker: type[Session]) -> None:
    broken = []
    for records in JOURNALS.values():
        try:
            law(FLEET, records, breaker)
        except LawError as told:
            broken.append(str(told))
    assert broken


@pytest.mark.parametrize("law", SESSION_LAWS, ids=lambda law: law.__name__)
@pytest.mark.parametrize("records", JOURNALS.values(), ids=list(JOURNALS))
def test_the_session_keeps_the_law(law: SessionLaw, records: Sequence[Record]) -> None:
    law(FLEET, records, Session)


def test_every_law_of_sessions_has_a_session_that_breaks_it() -> None:
    assert {law for law, _ in SESSION_BREAKERS} == set(SESSION_LAWS)


_DIGEST = """
from hashlib import sha256
from stream_graders.events import to_json
from stream_graders.session import Bury
from tests.core.test_laws import FLEET, JOURNALS, Ledger, Session

digest = sha256()
for records in JOURNALS.values():
    session = Session(FLEET, records[0][0].run_id, Ledger())
    for event, at in records:
        for effect in session.feed(event, at):
            digest.update(effect.reason.encode() if isinstance(effect, Bury) else to_json(effect.record))
        digest.update(session.snapshot())
print(digest.hexdigest())
"""


def test_nothing_depends_on_how_a_process_hashes() -> None:
    """State moves between processes, and each salts its hashes anew; no test within one process would notice."""
    root = Path(__file__).parents[2]
    told = [
        subprocess.run(
            [sys.executable, "-c", _DIGEST],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert told[0] == told[1]
    assert len(told[0].strip()) == 64
