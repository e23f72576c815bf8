"""One suite on one run: what its checks have seen, found and said.

A grader says what holds of the events it was shown; here that is weighed against what may be missing, and becomes a
verdict with a revision. Nothing here knows Kafka, time or files.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from .entries import EVIDENCE, Decided, Entry, Gone, decided_by, fault, gone
from .events import Event, Message, ToolCall, TurnEnd
from .grading import RunFacts, Seen
from .matching.redaction import masked
from .matching.tools import fits
from .scoring.severity import standing
from .suites import Check, Suite
from .verdicts import (
    CheckOutcome,
    Decider,
    Finding,
    Outcome,
    Point,
    Reason,
    RunVerdict,
    State,
    Verdict,
    Violation,
    finding_with,
    identify,
)
from .weighing import Standpoint, applies, not_applied, weigh

STATE_BYTES = 64 * 1024
"""What the growing graders of a run may remember together; beyond it the largest gives up."""


@dataclass(frozen=True, slots=True)
class Publish:
    """An effect: send this record. ``offset`` is the journal offset of the record that decided it, where one did."""

    record: Verdict | RunVerdict | Violation
    offset: int | None = None


class Gradebook:
    """The checks of one suite on one run."""

    def __init__(self, suite: Suite, version: str, entries: list[Entry], *, agent_unknown: bool = False) -> None:
        self.suite = suite
        self.version = version
        self.entries = entries
        self.agent_unknown = agent_unknown
        """Pinned although nobody named the agent that the suite selects by: nothing can be graded."""
        self.revision = 0
        self.moved = False
        """An outcome is new since the last run verdict."""
        self.changed = any(isinstance(entry.grader, Gone) for entry in entries)
        self._readers = _readers(suite, entries)
        """By event type, the entries that still read it: one that is settled leaves."""
        self._growing = [entry for entry in entries if entry.grader.grows]
        self._share = STATE_BYTES // max(1, len(self._growing))
        self._turned = [entry for entry in entries if entry.check.turn is not None]
        self._waiting = [entry for entry in entries if entry.check.when is not None]

    @classmethod
    def open(cls, suite: Suite, *, agent_unknown: bool = False) -> "Gradebook":
        """A book for a run that was just selected."""
        entries = [Entry(check, check.grader.fresh()) for check in suite.checks]
        return cls(suite, suite.version, entries, agent_unknown=agent_unknown)

    def take(self, seen: Seen, offset: int, see: "See") -> list[Publish]:
        """Show an event to the checks that read it; what could be said early, and of ended turns, is returned."""
        effects: list[Publish] = []
        if self.agent_unknown:
            return effects
        if self._turned:
            effects += self._end_turns(seen, offset, see)
        settled: list[Entry] = []
        grown = False
        kind = type(seen.event)
        late = seen.late
        for entry in self._readers.get(kind, ()):
            grader = entry.grader
            if (
                entry.settled
                or (late and not grader.order_free)
                or (entry.turn is not None and not entry.belongs(seen))
            ):
                continue
            if seen.loose and not grader.order_free:
                entry.astray = True
            try:
                grader.update(seen)
                # While none exceeds its share, their sum cannot exceed the whole.
                grown = grown or (grader.grows and grader.size() > self._share)
            except Exception as error:  # noqa: BLE001  (one grader's bug is one check's error; its neighbours go on)
                entry.raised = fault(error)
                entry.settled = True
            if entry.settled or grader.settled:
                entry.settled = True
                entry.decided = decided_by(seen.event, offset)
                settled.append(entry)
        if grown:
            self._bound()
        if settled:
            self._readers = {of: [e for e in readers if not e.settled] for of, readers in self._readers.items()}
        if self._waiting and (kind is ToolCall or kind is Message):
            settled += self._now_applies(seen, settled)
        for entry in settled:
            effects += self._say_early(entry, see)
        if self._turned and kind is TurnEnd and not seen.late:
            for entry in self._turned:
                if entry.check.turn == seen.turn and not entry.over:
                    effects += self._end_turn(entry, seen.event, offset, see)
        return effects

    def conclude(self, at: Standpoint, decided: Decided | None) -> list[Publish]:
        """The run is complete, or an event came after that: say what is new."""
        effects: list[Publish] = []
        for entry in self.entries:
            if entry.published is not None and (entry.over or isinstance(entry.grader, Gone)):
                continue  # An ended turn is not amended, nor is a verdict that an edited check gave before its edit.
            effects += self._say(entry, at, decided)
        return effects

    def run_verdict(self, at: Standpoint, facts: dict[str, Any]) -> Publish:
        """The suite's verdict on the run; ``facts`` are the run's counts and times."""
        self.revision += 1
        self.moved = False
        lines = tuple(self._line(entry) for entry in self.entries)
        stand = standing(lines)
        counts = dict.fromkeys(map(str, Outcome), 0)
        for line in lines:
            counts[line.outcome] += 1
        record = RunVerdict(
            id=identify(at.segment, self.suite.name, self.version, "run", self.revision),
            run_id=at.run_id,
            opened_at=at.opened_at,
            suite=self.suite.name,
            suite_version=self.version,
            owner=self.suite.owner,
            state="final" if self.revision == 1 else "amended",
            revision=self.revision,
            outcome=stand.outcome,
            reason=stand.reason,
            score=stand.score,
            policy=self.suite.scoring,
            checks=lines,
            counts=counts,
            degraded=stand.degraded,
            partially_graded=stand.partially_graded,
            flags=self._flags(at),
            **facts,
            **at.fields,
        )
        return Publish(record)

    def snapshot(self) -> list[Any]:
        """The state as JSON values."""
        entries = [entry.snapshot() for entry in self.entries]
        kinds = [[e.grader.was, e.check.severity] if isinstance(e.grader, Gone) else 0 for e in self.entries]
        return [
            self.suite.name,
            self.version,
            self.revision,
            self.moved,
            self.agent_unknown,
            entries,
            kinds if any(kinds) else 0,
        ]

    @classmethod
    def resume(cls, values: list[Any], loaded: Suite | None) -> "Gradebook":
        """The book that gave this snapshot, with the checks that the loaded suite still has (design 5.6)."""
        name, version, revision, moved, agent_unknown, kept, kinds = values
        suite = loaded or Suite(name, ())
        entries: list[Entry] = []
        for n, value in enumerate(kept):
            check = suite.by_key.get((value[0], value[1]))
            if check is None or value[2] is None:  # Once gone, its events are gone too: it does not come back.
                entry = gone(suite, value, kinds[n] if kinds else 0)
            else:
                entry = Entry(check, check.grader.fresh())
                entry.restore(value)
            entries.append(entry)
        book = cls(suite, version, entries, agent_unknown=agent_unknown)
        book.revision, book.moved = revision, moved
        return book

    def _line(self, entry: Entry) -> CheckOutcome:
        said = entry.published or [Outcome.NOT_GRADED, Reason.INCOMPLETE, "", None, False]
        check = entry.check
        return CheckOutcome(
            check.name, check.version, check.severity, Outcome(said[0]), Reason(said[1]), said[3], check.grader.scale
        )

    def _flags(self, at: Standpoint) -> tuple[str, ...]:
        return tuple(sorted({*at.flags, "suite_changed"})) if self.changed else at.flags

    # -- while the run is open ---------------------------------------------------------------------------------------

    def _bound(self) -> None:
        sizes = [(entry.size(), n) for n, entry in enumerate(self._growing) if not entry.gave_up]
        while sum(size for size, _ in sizes) > STATE_BYTES:
            largest = max(sizes)
            sizes.remove(largest)
            entry = self._growing[largest[1]]
            entry.gave_up = True
            if not entry.settled:
                entry.grader = entry.check.grader.fresh()
                entry.settled = True

    def _now_applies(self, seen: Seen, settled: list[Entry]) -> list[Entry]:
        """The settled checks whose condition this event makes true."""
        event, met = seen.event, []
        for entry in self._waiting:
            when = entry.check.when
            assert when is not None
            if (
                type(event) is ToolCall
                and when.called is not None
                and not entry.called
                and fits(event.name, when.called)
            ):
                entry.called = True
            elif when.said is not None and entry.said is not True and seen.is_assistant:
                if when.said.casefold() in seen.text.casefold():
                    entry.said = True
                else:
                    entry.said = entry.said or ("cut" if seen.truncated else False)
                    continue
            else:
                continue
            if entry.settled and entry not in settled:
                met.append(entry)
        return met

    def _say_early(self, entry: Entry, see: "See") -> list[Publish]:
        check = entry.check
        if entry.revision >= 0 or check.early == "never" or entry.over:
            return []
        at = see()
        if check.when is not None and not applies(entry, at, self._said_of):
            return []
        finding = self._weighed(entry, at)
        if finding.outcome is not Outcome.FAIL and not (finding.outcome is Outcome.PASS and check.early == "always"):
            return []
        if not finding.sound:
            return []  # Something may be missing that is not given up yet; what is said early must stay true.
        entry.revision = 0
        verdict = self._verdict(entry, finding, at, "early", 0, entry.decided)
        offset = None if entry.decided is None else entry.decided[3]
        return [Publish(verdict, offset), *self._violation(entry, verdict, offset)]

    def _end_turns(self, seen: Seen, offset: int, see: "See") -> list[Publish]:
        effects: list[Publish] = []
        for entry in self._turned:
            turn = entry.check.turn
            assert turn is not None
            if seen.turn == turn:
                entry.in_turn += not seen.late and not entry.over
            elif seen.turn > turn and not entry.over and entry.in_turn and not seen.late:
                effects += self._end_turn(entry, seen.event, offset, see)
        return effects

    def _end_turn(self, entry: Entry, event: Event, offset: int, see: "See") -> list[Publish]:
        at = see()
        entry.over = True
        if at.waits or (entry.check.when is not None and not applies(entry, at, self._said_of)):
            return []  # What it waits for may still come; it is said when the run is complete.
        return self._say(entry, at, decided_by(event, offset))

    # -- outcomes ----------------------------------------------------------------------------------------------------

    def _say(self, entry: Entry, at: Standpoint, ending: Decided | None) -> list[Publish]:
        """Publish the check's outcome if it is new."""
        finding = self._concluded(entry, at)
        said = [finding.outcome, finding.reason, _mark(finding.evidence), _score(finding, entry.check)]
        if entry.published is not None and entry.published[:4] == said:
            return []
        entry.revision = max(entry.revision, 0) + 1
        decided = entry.decided or ending
        offset = None if decided is None else decided[3]
        state: State = "final" if entry.revision == 1 else "amended"
        verdict = self._verdict(entry, finding, at, state, entry.revision, decided)
        sent = self.suite.publish == "all" or finding.outcome is Outcome.FAIL
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
        if self.agent_unknown:
            text = "no event named the agent, and the suite selects by it"
            return Finding(Outcome.NOT_GRADED, Reason.AGENT_UNKNOWN, text, sound=True)
        if entry.check.when is not None and not applies(entry, at, self._said_of):
            return not_applied(entry, at, self._said_of)
        return self._weighed(entry, at)

    def _weighed(self, entry: Entry, at: Standpoint) -> Finding:
        """What the grader found, after asking whether what is missing could change it."""
        if entry.raised is not None:
            return Finding(Outcome.ERROR, Reason.GRADER_RAISED, entry.raised, sound=True)
        if entry.gave_up and not entry.grader.settled:
            text = f"the checks of this run would have to remember more than {STATE_BYTES // 1024} kB"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text, sound=True)
        facts = at.facts(entry.grader)
        turn = entry.check.turn
        if turn is not None:
            # Which turn an event fills that comes late is not known: for turns a gap stays a gap.
            facts = RunFacts(**{**vars(at.ordered), "tail_unknown": at.ordered.tail_unknown and not entry.over})
        try:
            finding = entry.grader.finding(facts)
        except Exception as error:  # noqa: BLE001  (as in `take`)
            entry.raised = fault(error)
            return Finding(Outcome.ERROR, Reason.GRADER_RAISED, entry.raised, sound=True)
        if entry.astray and finding.sound:
            finding = finding_with(finding, sound=False)
        pass_at = entry.check.pass_at
        if pass_at is not None and finding.score is not None and finding.outcome in (Outcome.PASS, Outcome.FAIL):
            finding = finding_with(finding, outcome=Outcome.PASS if finding.score >= pass_at else Outcome.FAIL)
        if turn is not None and not entry.in_turn and finding.outcome is Outcome.PASS:
            finding = Finding(Outcome.FAIL, Reason.TURN_MISSING, f"turn {turn} has no events", cut=finding.cut)
        return weigh(finding, entry.check.needs, facts, self.suite.missing_input)

    def _said_of(self, name: str) -> tuple[str | None, str | None]:
        """The outcome of another check and its reason, once it has them."""
        entry = next((entry for entry in self.entries if entry.check.name == name), None)
        return (None, None) if entry is None or entry.published is None else (entry.published[0], entry.published[1])

    def _verdict(
        self, entry: Entry, finding: Finding, at: Standpoint, state: State, revision: int, decided: Decided | None
    ) -> Verdict:
        check = entry.check
        evidence, points = self._shown(finding)
        return Verdict(
            id=identify(at.segment, self.suite.name, check.key, revision),
            run_id=at.run_id,
            opened_at=at.opened_at,
            turn=check.turn,
            suite=self.suite.name,
            suite_version=self.version,
            check=check.name,
            check_version=check.version,
            grader=entry.grader.was if isinstance(entry.grader, Gone) else check.grader.name,
            severity=check.severity,
            notify=check.notify,
            owner=self.suite.owner,
            state=state,
            revision=revision,
            outcome=finding.outcome,
            reason=finding.reason,
            score=_score(finding, check),
            scale=check.grader.scale,
            evidence=evidence,
            points=points,
            decided_by=None if decided is None else Decider(decided[0], decided[2], decided[1]),
            flags=self._flags(at),
            **at.fields,
        )

    def _shown(self, finding: Finding) -> tuple[str, tuple[Point, ...]]:
        if self.suite.evidence == "none":
            return "", tuple(Point(p.event_id, p.seq, p.path) for p in finding.points)
        hide = masked if self.suite.evidence == "excerpts" else _as_is
        evidence = hide(finding.evidence)
        if len(evidence) > EVIDENCE:
            evidence = f"{evidence[:EVIDENCE]}… ({len(evidence)} characters)"
        points = tuple(
            Point(p.event_id, p.seq, p.path, hide(p.excerpt)) if p.excerpt else p for p in finding.points[:3]
        )
        return evidence, points


class See:
    """Asks the session for its standpoint, at most once an event: most events need none.

    The session keeps one and forgets its answer (`again`) before each event.
    """

    __slots__ = ("_at", "_make")

    def __init__(self, make: Any) -> None:
        self._make = make
        self._at: Standpoint | None = None

    def again(self) -> "See":
        """Forget the answer: another event has come."""
        self._at = None
        return self

    def __call__(self) -> Standpoint:
        if self._at is None:
            self._at = self._make()
        return self._at


def _readers(suite: Suite, entries: list[Entry]) -> dict[type[Event], list[Entry]]:
    if len(entries) == len(suite.checks) and all(e.check is c for e, c in zip(entries, suite.checks, strict=True)):
        return {kind: [entries[n] for n in places] for kind, places in suite.readers.items()}
    kinds = {kind for entry in entries for kind in entry.check.wants}
    return {kind: [e for e in entries if kind in e.check.wants] for kind in kinds}


def _mark(evidence: str) -> str:
    """Tells one evidence from another, at a length that state can bear."""
    return blake2b(evidence.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _score(finding: Finding, check: Check) -> float | None:
    if finding.outcome not in (Outcome.PASS, Outcome.FAIL):
        return None
    return float(check.grader.scale[finding.outcome is Outcome.PASS]) if finding.score is None else finding.score


def _as_is(text: str) -> str:
    return text
