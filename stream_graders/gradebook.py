"""One suite on one run: what its checks have seen, found and said.

A grader says what holds of the events it was shown; here that is weighed against what may be missing, and becomes a
verdict with a revision. Nothing here knows Kafka, time or files.
"""

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from .answers import ASKS, Asked
from .asking import Ask, answered, drawn, hanging, request_of
from .entries import Decided, Entry, Gone, decided_by, fault, gone
from .events import Event, Expected, Message, RunEnd, ToolCall, TurnEnd, at_place
from .folding import Combination
from .grading import RunFacts, Seen
from .matching.tools import fits
from .questions import AskingGrader, Inquiry
from .records import Stage, score_of, verdict_of
from .scoring.composite import by_mean
from .scoring.severity import by_severity
from .scoring.standing import Standing
from .scoring.weighted import by_weight
from .suites import Check, Suite
from .verdicts import (
    GRADED,
    CheckOutcome,
    Finding,
    Outcome,
    Reason,
    RunVerdict,
    State,
    Verdict,
    Violation,
    finding_with,
    identify,
)
from .weighing import Said, Standpoint, applies, not_applied, weigh

STATE_BYTES = 64 * 1024
"""What the growing graders of a run may remember together; beyond it the largest gives up."""


@dataclass(frozen=True, slots=True)
class Publish:
    """An effect: send this record. ``offset`` is the journal offset of the record that decided it, where one did."""

    record: Verdict | RunVerdict | Violation
    offset: int | None = None


class Gradebook:
    """The checks of one suite on one run."""

    def __init__(self, suite: Suite, version: str, entries: list[Entry], barred: Reason | None = None) -> None:
        self.suite = suite
        self.version = version
        self.entries = entries
        self.barred = barred
        """Why nothing of this run is graded: nobody named the agent that the suite selects by, or it was shed."""
        self.revision = 0
        self.moved = False
        """An outcome is new since the last run verdict."""
        self.changed = any(isinstance(entry.grader, Gone) for entry in entries)
        self._readers = _readers(suite, entries)
        """By event type, the entries that still read it: one that is settled leaves."""
        self._growing = [entry for entry in entries if entry.grader.grows]
        self._share = STATE_BYTES // max(1, len(self._growing))
        self._turned = [entry for entry in entries if entry.check.turn is not None]
        self._asking = [entry for entry in entries if entry.grader.asks]
        self._hanging = hanging(entries) if self._asking else {}
        self._await()

    @classmethod
    def open(cls, suite: Suite, expected: Expected | None = None, barred: Reason | None = None) -> "Gradebook":
        """A book for a run that was just selected; ``expected`` are the references it brought along."""
        entries = [_entry(check, expected) for check in suite.checks]
        return cls(suite, suite.version, entries, barred)

    def take(self, seen: Seen, offset: int, see: "See") -> list[Publish]:
        """Show an event to the checks that read it; what could be said early, and of ended turns, is returned."""
        effects: list[Publish] = []
        if self.barred is not None:
            return effects
        if self._turned:
            effects += self._end_turns(seen, offset, see)
        settled: list[Entry] = []
        grown = False
        kind = type(seen.event)
        late, loose = seen.late, seen.loose
        for entry in self._readers.get(kind, ()):
            if entry.settled:
                continue
            entry.kept = None
            if entry.is_narrow and not self._is_for(entry, seen, see):
                continue
            grader = entry.grader
            if (late or loose) and not grader.order_free:
                if late:
                    continue
                entry.astray = True
            try:
                grader.update(seen)
                # While none exceeds its share, their sum cannot exceed the whole.
                if grader.grows and grader.size() > self._share:
                    grown = True
            except Exception as error:  # noqa: BLE001  (one grader's bug is one check's error; its neighbours go on)
                entry.raised = fault(error)
                entry.settled = True
            if grader.settled or entry.settled:
                entry.settled = True
                entry.decided = decided_by(seen.event, offset)
                settled.append(entry)
        if grown:
            self._bound()
        if settled:
            self._readers = {of: [e for e in readers if not e.settled] for of, readers in self._readers.items()}
        if (self._uncalled and kind is ToolCall) or (self._unsaid and kind is Message):
            settled += self._now_applies(seen, settled)
        for entry in settled:
            effects += self._say_early(entry, see)
        if self._turned and kind is TurnEnd and not seen.late:
            for entry in self._turned:
                if entry.turn == seen.turn and not entry.over:
                    entry.kept = None
                    effects += self._end_turn(entry, seen.event, offset, see)
        return effects

    def _is_for(self, entry: Entry, seen: Seen, see: "See") -> bool:
        """Is an event of the turn and the agents that a check is about?"""
        if seen.late and not entry.grader.order_free:
            return False
        if entry.turn is not None and not entry.belongs(seen):
            return False
        return not entry.check.is_partial or entry.concerns(seen.event, see().own)

    def lack(self, expected: Expected | None, reason: Reason) -> None:
        """The run brought references that cannot be used (None: any): the checks that read them have no verdict."""
        for entry in self.entries:
            places = entry.check.grader.references.values()
            if any(expected is None or at_place(expected, place) is not None for place in places):
                entry.kept = None
                entry.unfit = [reason, f"the reference that the run brought cannot be used: {reason.meaning}"]

    def conclude(self, at: Standpoint, decided: Decided | None) -> list[Publish | Ask]:
        """The run is complete, or an event or a judge's answer came after that: say, and ask, what is new."""
        effects: list[Publish | Ask] = []
        if not self._asking:
            for entry in self.entries:
                effects += self._conclude(entry, at, decided)
            return effects
        # Judges come after the others: whether one is asked may depend on what failed. What depends on them comes last.
        for entry in self.entries:
            if not entry.grader.asks and entry not in self._hanging:
                effects += self._conclude(entry, at, decided)
        for entry in self.entries:
            if entry.grader.asks:
                effects += self._ask(entry, at, decided)
            elif entry not in self._hanging:
                continue
            if not self._waits_for(entry):
                effects += self._conclude(entry, at, decided)
        return effects

    def _conclude(self, entry: Entry, at: Standpoint, decided: Decided | None) -> list[Publish]:
        ended = entry.over and not entry.gathers
        if entry.published is not None and (ended or isinstance(entry.grader, Gone)):
            return []  # An ended turn is not amended, nor is a verdict that an edited check gave before its edit.
        return self._say(entry, at, decided)

    # -- judges ------------------------------------------------------------------------------------------------------

    @property
    def waits(self) -> bool:
        """Is a judge to answer before the run verdict?"""
        return any(entry.is_out for entry in self._asking)

    @property
    def has_asked(self) -> bool:
        """Does its state know of a judge?"""
        asking = self.entries if self.changed else self._asking  # A check that is gone may have asked.
        return any(entry.asked is not None for entry in asking)

    @property
    def due(self) -> int | None:
        """The log time at which the first of the outstanding judges is late; None without one."""
        return min(
            (entry.asked.due for entry in self._asking if entry.is_out and entry.asked is not None), default=None
        )

    def answer(self, request: str, answer: Any, decided: Decided) -> bool:
        """Take a judge's answer to a request; False if nothing waits for it: the first one counts, also after its deadline."""
        for entry in self._asking:
            asked = entry.asked
            if asked is not None and asked.request == request and asked.standing in ("out", "late"):
                asked.standing, asked.answer = "answered", answer
                entry.decided, entry.kept = decided, None
                return True
        return False

    def give_up(self, due: int | None) -> None:
        """Wait no longer for judges whose deadline is at or before ``due``; for none, if the input has ended (None)."""
        for entry in self._asking:
            if entry.is_out and entry.asked is not None and (due is None or entry.asked.due <= due):
                entry.asked.standing = "absent" if due is None else "late"
                entry.kept = None

    def _waits_for(self, entry: Entry) -> bool:
        """Does it wait for a judge, its own or that of a check it depends on?"""
        if entry.grader.asks and entry.is_out:
            return True
        return any(self._waits_for(other) for other in self._hanging.get(entry, ()))

    def _ask(self, entry: Entry, at: Standpoint, decided: Decided | None) -> list[Publish | Ask]:
        """Ask a judge, where it has to be one and was not asked the same before."""
        if any(self._waits_for(other) for other in self._hanging.get(entry, ())):
            return []  # Whether it applies shows later.
        inquiry = self._inquiry(entry, at)
        asked = entry.asked
        if inquiry is None:
            if entry.is_out:
                entry.asked, entry.kept = None, None  # What it asked about is not so any more.
            return []
        if asked is not None and asked.standing == "sampled_out":
            return []
        if asked is None:
            failed = any(e.published is not None and e.published[0] is Outcome.FAIL for e in self.entries)
            entry.probability, is_drawn = drawn(entry.check, at, inquiry, failed=failed)
            if not is_drawn:
                entry.asked, entry.kept = Asked("", 0, 0, "sampled_out"), None
                return []
        times = 0 if asked is None else asked.times
        if asked is not None and asked.request == request_of(self.suite, entry, inquiry, at, times).id:
            return []
        entry.decided, entry.kept = None, None
        if times == ASKS:
            entry.asked = Asked("", 0, times, "spent")
            return []
        request = request_of(self.suite, entry, inquiry, at, times + 1)
        entry.asked = Asked(request.id, request.due, times + 1, "out")
        return [Ask(request, None if decided is None else decided[3])]

    def _inquiry(self, entry: Entry, at: Standpoint) -> Inquiry | None:
        """What a judge is to be shown; None where something can be said without one."""
        if self.barred is not None or isinstance(entry.grader, Gone):
            return None
        if entry.check.when is not None and not applies(entry, at, self._said_of):
            return None
        if entry.unfit is not None or entry.raised is not None or entry.gave_up:
            return None
        grader, facts = entry.grader, self._facts_of(entry, at)
        assert isinstance(grader, AskingGrader)
        try:
            return None if self._unasked(entry, facts) is not None else grader.inquiry(facts)
        except Exception as error:  # noqa: BLE001  (as in `take`)
            entry.raised, entry.kept = fault(error), None
            return None

    def readings(self, at: Standpoint) -> list[tuple[str, Finding, bool]]:
        """How each check stands: its name, what it would say if the run ended now, and whether that can change."""
        return [(entry.check.name, self._concluded(entry, at), entry.settled) for entry in self.entries]

    def run_verdict(self, at: Standpoint, facts: dict[str, Any]) -> Publish:
        """The suite's verdict on the run; ``facts`` are the run's counts and times."""
        self.revision += 1
        self.moved = False
        lines = tuple(self._line(entry, at) for entry in self.entries)
        stand = self._standing(lines)
        if self.barred is Reason.SHED:
            stand = Standing(Outcome.NOT_GRADED, Reason.SHED, None, degraded=False, partially_graded=True)
        counts = dict.fromkeys(map(str, Outcome), 0)
        for line in lines:
            counts[line.outcome] += 1
        record = RunVerdict(
            id=identify(at.segment, self.suite.name, self.version, "run", self.revision),
            run_id=at.run_id,
            opened_at=at.opened_at,
            suite=self.suite.name,
            suite_version=self.version,
            owner=self.suite.about.owner,
            state="final" if self.revision == 1 else "amended",
            revision=self.revision,
            outcome=stand.outcome,
            reason=stand.reason,
            score=stand.score,
            policy=self.suite.scoring.policy,
            checks=lines,
            counts=counts,
            degraded=stand.degraded,
            partially_graded=stand.partially_graded,
            ungraded_items=self.suite.ungraded_items,
            flags=self._flags(at),
            **facts,
            **at.fields,
        )
        return Publish(record)

    def _standing(self, lines: tuple[CheckOutcome, ...]) -> Standing:
        scoring = self.suite.scoring
        if scoring.policy == "weighted":
            return by_weight(lines, self.suite.weights, scoring.threshold)
        return by_mean(lines, scoring.threshold) if scoring.policy == "composite" else by_severity(lines)

    def snapshot(self) -> list[Any]:
        """The state as JSON values."""
        entries = [entry.snapshot() for entry in self.entries]
        kinds = [[e.grader.was, e.check.severity] if isinstance(e.grader, Gone) else 0 for e in self.entries]
        return [
            self.suite.name,
            self.version,
            self.revision,
            self.moved,
            False if self.barred is None else self.barred == Reason.AGENT_UNKNOWN or self.barred,
            entries,
            kinds if any(kinds) else 0,
        ]

    @classmethod
    def resume(cls, values: list[Any], loaded: Suite | None, expected: Expected | None = None) -> "Gradebook":
        """The book that gave this snapshot, with the checks that the loaded suite still has (design 5.6)."""
        name, version, revision, moved, why, kept, kinds = values
        barred = Reason.AGENT_UNKNOWN if why is True else Reason(why) if why else None
        suite = loaded or Suite(name, ())
        entries: list[Entry] = []
        for n, value in enumerate(kept):
            check = suite.by_key.get((value[0], value[1]))
            if check is None or value[2] is None:  # Once gone, its events are gone too: it does not come back.
                entry = gone(suite, value, kinds[n] if kinds else 0)
            else:
                entry = _entry(check, expected)
                entry.restore(value)
            entries.append(entry)
        book = cls(suite, version, entries, barred)
        book.revision, book.moved = revision, moved
        return book

    def _line(self, entry: Entry, at: Standpoint) -> CheckOutcome:
        check = entry.check
        outcome, reason, score = self._said(entry, at) or (Outcome.NOT_GRADED, Reason.INCOMPLETE, None)
        return CheckOutcome(check.name, check.version, check.severity, outcome, reason, score, check.grader.scale)

    def _flags(self, at: Standpoint) -> tuple[str, ...]:
        return tuple(sorted({*at.flags, "suite_changed"})) if self.changed else at.flags

    # -- while the run is open ---------------------------------------------------------------------------------------

    def _bound(self) -> None:
        for entry in self._growing:
            entry.kept = None
        sizes = [(entry.size(), n) for n, entry in enumerate(self._growing) if not entry.gave_up]
        while sum(size for size, _ in sizes) > STATE_BYTES:
            largest = max(sizes)
            sizes.remove(largest)
            entry = self._growing[largest[1]]
            entry.gave_up = True
            if not entry.settled:
                entry.grader = entry.check.grader.fresh()
                entry.settled = True

    def _await(self) -> None:
        """Which checks wait for a call, or for words, before they apply."""
        waiting = [(entry, entry.check.when) for entry in self.entries if entry.check.when is not None]
        self._uncalled = [(e, when.called) for e, when in waiting if when.called is not None and not e.called]
        self._unsaid = [
            (e, when.said.casefold()) for e, when in waiting if when.said is not None and e.said is not True
        ]

    def _now_applies(self, seen: Seen, settled: list[Entry]) -> list[Entry]:
        """The settled checks whose condition this event makes true."""
        event, met = seen.event, []
        if type(event) is ToolCall:
            for entry, called in self._uncalled:
                if fits(event.name, called):
                    entry.called, entry.kept = True, None
                    met.append(entry)
        elif self._unsaid and seen.is_assistant:
            folded = seen.text.casefold()
            for entry, said in self._unsaid:
                entry.kept = None
                if said in folded:
                    entry.said = True
                    met.append(entry)
                else:
                    entry.said = entry.said or ("cut" if seen.truncated else False)
        if met:
            self._await()
            for entry in met:
                # A user message that is missing may have begun another turn before this event, and that one's condition is true.
                entry.astray = entry.astray or (entry.turns is not None and seen.gap and event.turn is None)
        return [entry for entry in met if entry.settled and entry not in settled]

    def _say_early(self, entry: Entry, see: "See") -> list[Publish]:
        check = entry.check
        if entry.revision >= 0 or check.early == "never" or entry.over or check.turn == "last":
            return []  # Which turn is the last one is not known before the end.
        at = see()
        if check.when is not None and not applies(entry, at, self._said_of):
            return []
        finding = self._found(entry, at)
        if finding.outcome is not Outcome.FAIL and not (finding.outcome is Outcome.PASS and check.early == "always"):
            return []
        if not finding.sound:
            return []  # Something may be missing that is not given up yet; what is said early must stay true.
        entry.revision, entry.kept = 0, None
        verdict = self._verdict(entry, finding, at, Stage("early", 0, score_of(finding, check), entry.decided))
        offset = None if entry.decided is None else entry.decided[3]
        return [Publish(verdict, offset), *self._violation(entry, verdict, offset)]

    def _end_turns(self, seen: Seen, offset: int, see: "See") -> list[Publish]:
        effects: list[Publish] = []
        for entry in self._turned:
            turn = entry.turn
            assert turn is not None
            entry.kept = None
            if seen.turn == turn:
                entry.in_turn += not seen.late and not entry.over
            elif entry.turns is not None:
                # The run's end belongs to no turn, so it begins none.
                if seen.turn > turn and not seen.late and not entry.turns.decided and type(seen.event) is not RunEnd:
                    effects += self._next_turn(entry, seen, offset, see)
            elif seen.turn > turn and not entry.over and entry.in_turn and not seen.late:
                effects += self._end_turn(entry, seen.event, offset, see)
        return effects

    def _end_turn(self, entry: Entry, event: Event, offset: int, see: "See") -> list[Publish]:
        at = see()
        entry.over = True
        if entry.turns is not None:
            entry.astray = entry.astray or at.waits
            if entry.check.turn != "each":
                return []
        elif at.waits or (entry.check.when is not None and not applies(entry, at, self._said_of)):
            return []  # What it waits for may still come; it is said when the run is complete.
        return self._say(entry, at, decided_by(event, offset))

    def _next_turn(self, entry: Entry, seen: Seen, offset: int, see: "See") -> list[Publish]:
        """Put down what became of a turn, and look at the next one."""
        effects: list[Publish] = []
        settles = False
        if entry.in_turn:
            turns, check = entry.turns, entry.check
            assert turns is not None
            assert entry.turn is not None
            if not entry.over:
                effects += self._end_turn(entry, seen.event, offset, see)
            if check.turn == "each" and entry.published is not None:
                outcome, reason, _, score, _ = entry.published  # What was said is what counts, whatever is known since.
                found = Finding(outcome, reason, score=score)
            else:
                found = self._of_turn(entry, see())
                score = score_of(found, check)
            if check.turn != "last":
                turns.note(entry.turn, found, score)
            settles = found.sound and check.turn == {Outcome.FAIL: "all", Outcome.PASS: "any"}.get(found.outcome)
        decided = entry.decided or decided_by(seen.event, offset)
        entry.begin_turn(seen.turn)
        self._readers = _readers(self.suite, self.entries)
        self._await()
        if settles:
            assert entry.turns is not None
            entry.turns.decided = entry.settled = True
            entry.decided = decided
            effects += self._say_early(entry, see)
        return effects

    # -- outcomes ----------------------------------------------------------------------------------------------------

    def _say(self, entry: Entry, at: Standpoint, ending: Decided | None) -> list[Publish]:
        """Publish the check's outcome if it is new."""
        finding = self._concluded(entry, at)
        score = score_of(finding, entry.check)
        said = [finding.outcome, finding.reason, _mark(finding.evidence), score]
        if entry.published is not None and entry.published[:4] == said:
            return []
        entry.revision, entry.kept = max(entry.revision, 0) + 1, None
        decided = entry.decided or ending
        offset = None if decided is None else decided[3]
        state: State = "final" if entry.revision == 1 else "amended"
        verdict = self._verdict(entry, finding, at, Stage(state, entry.revision, score, decided))
        # A shed run is to cost as little as it may: its run verdict names each check.
        sent = (self.suite.publish == "all" and self.barred is not Reason.SHED) or finding.outcome is Outcome.FAIL
        sent = sent or (entry.published is not None and entry.published[4])
        entry.published = [*said, sent]
        self.moved = True
        return [*([Publish(verdict, offset)] if sent else []), *self._violation(entry, verdict, offset)]

    def _violation(self, entry: Entry, verdict: Verdict, offset: int | None) -> list[Publish]:
        """The first fail of a check that somebody wants to hear of, and the record that takes it back."""
        failed = verdict.outcome is Outcome.FAIL
        if entry.check.notify == "none" or entry.violation not in (("none",) if failed else ("told",)):
            return []
        entry.violation = "told" if failed else "resolved"
        record = Violation(id=identify(verdict.id, "violation"), resolved=not failed, verdict=verdict)
        return [Publish(record, offset)]

    def _concluded(self, entry: Entry, at: Standpoint) -> Finding:
        if self.barred is not None:
            return Finding(Outcome.NOT_GRADED, self.barred, _BARRED[self.barred], sound=True)
        return self._found(entry, at) if entry.gathers else self._of_turn(entry, at)

    def _found(self, entry: Entry, at: Standpoint) -> Finding:
        """What the check says: of a run or a turn what its grader found; of all turns together what that comes to."""
        if not entry.gathers:
            return self._weighed(entry, at)
        folded, lowest = self._gathered(entry, at, self._of_turn(entry, at))
        is_graded = entry.check.turn == "all" and folded.outcome in GRADED
        return finding_with(folded, score=lowest) if is_graded else folded

    def _gathered(self, entry: Entry, at: Standpoint, found: Finding) -> tuple[Finding, float | None]:
        """All turns together, with what was found of the present one; a turn that may be missing may be another."""
        how, turns = entry.check.turn, entry.turns
        assert turns is not None
        assert entry.turn is not None
        folded, score = turns.folded("any" if how == "any" else "all", entry.turn, found, score_of(found, entry.check))
        missing_input = self.suite.missing_input
        weighed = weigh(folded, frozenset(), at.ordered, missing_input)
        if weighed.outcome is not folded.outcome:
            certain = turns.for_certain(folded.outcome, entry.turn, found)
            weighed = weighed if certain is None else certain
        return weighed, score

    def _of_turn(self, entry: Entry, at: Standpoint) -> Finding:
        """What was found of a run or turn that is over."""
        if entry.check.when is not None and not applies(entry, at, self._said_of):
            return not_applied(entry, at, self._said_of)
        return self._weighed(entry, at)

    def _weighed(self, entry: Entry, at: Standpoint) -> Finding:
        """What the grader found, after asking whether what is missing could change it."""
        check = entry.check
        if isinstance(check.grader, Combination):
            return check.grader.combined([self._part(name, at) for name in check.grader.checks])
        if entry.unfit is not None:
            reason, text = entry.unfit
            outcome = Outcome.ERROR if reason == Reason.GRADER_RAISED else Outcome.NOT_GRADED
            return Finding(outcome, Reason(reason), text, sound=True)
        if entry.raised is not None:
            return Finding(Outcome.ERROR, Reason.GRADER_RAISED, entry.raised, sound=True)
        if entry.gave_up and not entry.grader.settled:
            text = f"the checks of this run would have to remember more than {STATE_BYTES // 1024} kB"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text, sound=True)
        facts, turn = self._facts_of(entry, at), entry.turn
        try:
            finding = self._asked_of(entry, facts) if entry.grader.asks else entry.grader.finding(facts)
        except Exception as error:  # noqa: BLE001  (as in `take`)
            entry.raised, entry.kept = fault(error), None
            return Finding(Outcome.ERROR, Reason.GRADER_RAISED, entry.raised, sound=True)
        # Behind a gap, or what a silent end hides, there may be another turn, and that would be the last.
        hidden = check.turn == "last" and (facts.lost or facts.tail_unknown)
        if (entry.astray or hidden) and finding.sound:
            finding = finding_with(finding, sound=False)
        pass_at = check.pass_at
        if pass_at is not None and finding.score is not None and finding.outcome in GRADED:
            finding = finding_with(finding, outcome=Outcome.PASS if finding.score >= pass_at else Outcome.FAIL)
        if turn is not None and not entry.in_turn and finding.outcome is Outcome.PASS:
            finding = Finding(Outcome.FAIL, Reason.TURN_MISSING, f"turn {turn} has no events", cut=finding.cut)
        return weigh(finding, check.needs, facts, check.missing_input or self.suite.missing_input)

    def _facts_of(self, entry: Entry, at: Standpoint) -> RunFacts:
        """The facts that count for a check."""
        if entry.turn is None:
            return at.facts(entry.grader)
        # Which turn an event fills that comes late is not known: for turns a gap stays a gap.
        return RunFacts(**{**vars(at.ordered), "tail_unknown": at.ordered.tail_unknown and not entry.over})

    def _asked_of(self, entry: Entry, facts: RunFacts) -> Finding:
        """What a grader finds that asks a judge: without one where that is possible, else what the judge said."""
        found = self._unasked(entry, facts)
        return finding_with(answered(entry), points=entry.grader.finding(facts).points) if found is None else found

    def _unasked(self, entry: Entry, facts: RunFacts) -> Finding | None:
        """What can be said without a judge; None where one has to be asked."""
        found, turn = entry.grader.finding(facts), entry.turn
        if found.reason not in _UNASKED:
            return found
        if turn is not None and not entry.in_turn:
            return Finding(Outcome.FAIL, Reason.TURN_MISSING, f"turn {turn} has no events", cut=found.cut)
        if entry.astray:
            found = finding_with(found, sound=False)
        missing_input = entry.check.missing_input or self.suite.missing_input
        weighed = weigh(finding_with(found, outcome=Outcome.PASS), entry.check.needs, facts, missing_input)
        if weighed.outcome is not Outcome.PASS:
            return weighed
        return found if found.reason is Reason.NOTHING_TO_JUDGE else None

    def _said_of(self, name: str, at: Standpoint) -> Said | None:
        """What a check came to, by its name, once it has an outcome."""
        entry = next((entry for entry in self.entries if entry.check.name == name), None)
        return None if entry is None else self._said(entry, at)

    def _said(self, entry: Entry, at: Standpoint) -> Said | None:
        """What a check came to, once it has an outcome; one with a verdict on each turn, with all of them together."""
        if entry.published is None:
            return None
        outcome, reason, _, score, _ = entry.published
        if entry.check.turn != "each" or isinstance(entry.grader, Gone):
            return Said(outcome, reason, score)
        folded, score = self._gathered(entry, at, Finding(outcome, reason, score=score))
        return Said(folded.outcome, folded.reason, score if folded.outcome in GRADED else None)

    def _part(self, name: str, at: Standpoint) -> tuple[Outcome, Reason]:
        said = self._said_of(name, at)
        return (Outcome.NOT_GRADED, Reason.INCOMPLETE) if said is None else said[:2]

    def _verdict(self, entry: Entry, finding: Finding, at: Standpoint, stage: Stage) -> Verdict:
        return verdict_of(self.suite, self.version, entry, finding, at, self._flags(at), stage)


_UNASKED = (Reason.NO_JUDGE, Reason.NO_PROBE, Reason.NOTHING_TO_JUDGE)
"""What a grader that asks says of a run before it is known whether its record is whole."""

_BARRED = {
    Reason.AGENT_UNKNOWN: "no event named the agent, and the suite selects by it",
    Reason.SHED: "the worker was behind when the run began, and the suite leaves such runs out",
}


class See:
    """Asks the session for its standpoint, at most once: most events need none.

    One an event. Kept by the session, which it refers to, it would keep the memory of a run that nobody needs any more until
    the garbage is collected.
    """

    __slots__ = ("_at", "_make")

    def __init__(self, make: Any) -> None:
        self._make = make
        self._at: Standpoint | None = None

    def __call__(self) -> Standpoint:
        if self._at is None:
            self._at = self._make()
        return self._at


def _readers(suite: Suite, entries: list[Entry]) -> dict[type[Event], list[Entry]]:
    if len(entries) == len(suite.checks) and all(e.check is c for e, c in zip(entries, suite.checks, strict=True)):
        return {kind: [entries[n] for n in places] for kind, places in suite.readers.items()}
    kinds = {kind for entry in entries for kind in entry.check.wants}
    return {kind: [e for e in entries if kind in e.check.wants] for kind in kinds}


def _entry(check: Check, expected: Expected | None) -> Entry:
    """A check on a run, with the references that the run brought along in place of the suite's."""
    bare = check.grader
    if expected is None or not bare.references:
        return Entry(check, bare)
    brought = {
        setting: value for setting, place in bare.references.items() if (value := at_place(expected, place)) is not None
    }
    if not brought:
        return Entry(check, bare)
    try:
        return Entry(check, type(bare)(**{**bare.settings(), **brought}))
    except Exception as error:  # noqa: BLE001  (a run may bring anything: it is that check's error)
        entry = Entry(check, bare)
        entry.unfit = [Reason.GRADER_RAISED, f"a reference that the run brought: {fault(error)}"]
        return entry


@lru_cache(maxsize=4_096)  # As with `masked`.
def _mark(evidence: str) -> str:
    """Tells one evidence from another, at a length that state can bear."""
    return blake2b(evidence.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
