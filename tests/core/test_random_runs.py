"""The laws over random runs and journals: duplicates, losses, disorder, long pauses, late and repeated starts."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_graders.events import OPENERS, Event
from stream_graders.folding import Combination
from stream_graders.gradebook import Publish
from stream_graders.laws import AGES, LAWS, SESSION_LAWS, leaves_a_trace, local_disorder_is_mended
from stream_graders.session import At, Session
from stream_graders.suites import Check, Completion, Fleet, Select, Suite, When
from stream_graders.testing import Record, journal, session_of
from stream_graders.trajectory import HELD_MS
from stream_graders.verdicts import Verdict
from tests.core.runs import built, journals, runs
from tests.core.stories import GRADERS
from tests.graders.test_oracles import CHECKS

CHAINED = [
    Check("after a pass", GRADERS["order"], "minor", when=When(check="contains")),
    Check("after a fail", GRADERS["not contains"], "info", "ticket", When(check="called", outcome=("fail",))),
    Check("a turn when called", GRADERS["contains"], "critical", "page", When(called="payments.refund"), turn=0),
    Check("each turn", GRADERS["contains"], "minor", "ticket", turn="each"),
    Check(
        "each turn when called", GRADERS["not contains"], "critical", "page", When(called="orders.find"), turn="each"
    ),
    Check("all turns", GRADERS["not contains"], "critical", "page", turn="all"),
    Check("any turn", GRADERS["called"], "minor", turn="any", early="always"),
    Check("the last turn", GRADERS["order"], "minor", turn="last"),
    Check("made of turns", Combination("any", ("each turn", "all turns")), "critical", "ticket"),
    Check("opposite of any turn", Combination("not", ("any turn",)), "minor", when=When(check="each turn")),
    Check("the agent's own", GRADERS["contains"], "minor", depth="own"),
    Check("a turn when ok", GRADERS["not called"], "critical", "page", When(status=("ok",)), turn=1),
]
SOON = Completion(idle_user=20_000, idle_agent=10_000, idle_tool=90_000, amend_window=60_000, remember=300_000)
FLEET = Fleet(
    (
        Suite("all", tuple(CHECKS[::4] + CHAINED), select=Select(agent=("agent-*",)), completion=SOON),
        Suite("labelled", (CHECKS[0], CHECKS[-1]), select=Select(labels={"prompt": "v7"}), publish="fails"),
        Suite("someone else's", (CHECKS[0],), select=Select(agent=("other",))),
    )
)
OF_RECORD = {check.name for check in CHECKS if check.grader.of_record}
WHOLE = Suite("whole", tuple(replace(check, early="always") for check in CHECKS + CHAINED))


@settings(max_examples=80, deadline=None)
@given(journals())
def test_a_session_keeps_its_laws_whatever_the_journal_holds(records: list[Record]) -> None:
    for law in SESSION_LAWS:
        if law is not local_disorder_is_mended:
            law(FLEET, records, Session)


@settings(max_examples=100, deadline=None)
@given(runs())
def test_disorder_within_the_buffer_does_not_show(events: list[Event]) -> None:
    local_disorder_is_mended(FLEET, journal(events, step=400), Session)


@settings(max_examples=100, deadline=None)
@given(runs(longest=12), st.sampled_from(list(GRADERS)))
def test_graders_keep_their_laws_over_random_runs(events: list[Event], name: str) -> None:
    for law in LAWS:
        law(GRADERS[name], events)


def said(events: Sequence[Event], late: Sequence[Event] = ()) -> dict[str, list[str]]:
    """All that each check says, early, at last and amended; what is late comes after the gaps were given up."""
    session = session_of(WHOLE, "r")
    records = journal(events, step=200)
    effects = [effect for event, at in records for effect in session.feed(event, at)]
    since = (records[-1][1].time if records else 0) + 2 * HELD_MS
    effects += session.advance(since)
    for n, event in enumerate(late):
        effects += session.feed(event, At(since + n, session.offset + 1, 300))
    effects += session.advance(since + AGES)
    told: dict[str, list[str]] = {}
    several = len({event.producer for event in events}) > 1
    for effect in effects:
        if isinstance(effect, Publish) and isinstance(effect.record, Verdict):
            if several and effect.record.state == "early":
                continue  # Whether another producer's event is missing may show only later.
            verdict = effect.record
            one = f"{verdict.check} {verdict.turn}" if verdict.check.startswith("each") else verdict.check
            told.setdefault(one, []).append(str(verdict.outcome))
    return told


@settings(max_examples=400, deadline=None)
@example(
    built(102518916, [64, 448, 655], ends=True, ids_repeat=False), [0], [], False
)  # A turn that fails for certain, behind one that may.
@example(
    built(0, [283, 0, 0, 0, 0, 498, 0, 493, 363], ends=True, ids_repeat=False), [8], [], False
)  # A turn whose condition comes true by a call of the next, if the user message between them is lost.
@given(
    runs(may_lack_an_end=True, ids_repeat=False),  # Of two calls with one id, the loss of one gives its result away.
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), max_size=4),
    st.booleans(),
)
def test_what_is_lost_or_late_never_brings_a_wrong_verdict(
    events: list[Event], losses: list[int], returns: list[int], turned: bool
) -> None:
    """What is said of an incomplete run, early too, is what is said of the whole, or ``not_graded`` (design 5.3, D8)."""
    lost = [event for n, event in enumerate(events) if n in {loss % len(events) for loss in losses}]
    rest = [event for event in events if event not in lost]
    # A loss that leaves no trace nobody can know of; nor is there a run where nothing is left to open it.
    if not rest or not leaves_a_trace(lost, rest) or not any(isinstance(event, OPENERS) for event in rest):
        return
    whole = {check: outcomes[-1] for check, outcomes in said(events).items()}
    # Whoever judges the record is to say that something is missing.
    whole = {check: outcome for check, outcome in whole.items() if check not in OF_RECORD}
    several = len({event.producer for event in events}) > 1
    if several:
        # A turn ends at the first event of the next, whoever sends it: what is lost of another producer shows later.
        whole = {check: outcome for check, outcome in whole.items() if " turn" not in check}
    late = [lost[n] for n in returns if n < len(lost)]
    parts = [said(rest)]
    # Among several producers the order of arrival is the order of the run: a late one makes it another run.
    if not several and leaves_a_trace([event for event in lost if event not in late], [*rest, *late]):
        parts.append(said(rest, late[::-1] if turned else late))
    for part in parts:
        wrong = {
            check: (whole[check], outcomes)
            for check, outcomes in part.items()
            if check in whole and not {whole[check], "not_graded"} >= set(outcomes)
        }
        assert not wrong
