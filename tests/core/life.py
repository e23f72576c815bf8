"""Tells a run's life in log time: events come, time passes, and what was said lies on the table."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from stream_graders.events import DeadLetter, Event
from stream_graders.gradebook import Publish
from stream_graders.session import At, Bury, Effect, Ledger, Session
from stream_graders.suites import Fleet, Suite
from stream_graders.verdicts import RunVerdict, Verdict, Violation

SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@dataclass
class Life:
    """One run under some suites. Log time starts at 0 and moves only when `later` says so."""

    suites: Suite | Sequence[Suite]
    run_id: str = "run-1"
    now: int = 0
    effects: list[Effect] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        suites = (self.suites,) if isinstance(self.suites, Suite) else tuple(self.suites)
        self.session = Session(Fleet(suites), self.run_id, self.ledger)

    def feed(
        self, *events: Event | Iterable[Event], size: int = 300, misplaced: bool = False, behind: int = 0
    ) -> "Life":
        """These events come now."""
        for told in events:
            for event in [told] if isinstance(told, Event) else told:
                at = At(self.now, self.session.offset + 1, size, misplaced, behind)
                self.effects += self.session.feed(event, at)
        return self

    def later(self, milliseconds: int, *, tick: bool = True) -> "Life":
        """Time passes; without a ``tick`` nobody tells the session."""
        self.now += milliseconds
        if tick:
            self.effects += self.session.advance(self.now)
        return self

    def moves(self, *suites: Suite) -> "Life":
        """The run goes to another worker, with these suites loaded there if any are named."""
        fleet = Fleet(suites) if suites else self.session.fleet
        self.session = Session.resume(fleet, self.run_id, self.session.snapshot(), self.ledger)
        return self

    @property
    def verdicts(self) -> list[Verdict]:
        return [e.record for e in self.effects if isinstance(e, Publish) and isinstance(e.record, Verdict)]

    @property
    def verdict(self) -> Verdict:
        return self.verdicts[-1]

    @property
    def runs(self) -> list[RunVerdict]:
        return [e.record for e in self.effects if isinstance(e, Publish) and isinstance(e.record, RunVerdict)]

    @property
    def run(self) -> RunVerdict:
        return self.runs[-1]

    @property
    def violations(self) -> list[Violation]:
        return [e.record for e in self.effects if isinstance(e, Publish) and isinstance(e.record, Violation)]

    @property
    def buried(self) -> list[DeadLetter]:
        return [e.reason for e in self.effects if isinstance(e, Bury)]

    @property
    def phase(self) -> str:
        return self.session.phase

    def outcomes(self) -> dict[str, str]:
        """The last outcome and reason of each check."""
        return {verdict.check: f"{verdict.outcome} ({verdict.reason})" for verdict in self.verdicts}
