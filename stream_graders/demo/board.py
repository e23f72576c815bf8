"""What the demo has heard of the worker's verdicts, and how that compares with what the agents did."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock

import msgspec

from ..suites import Suite
from ..verdicts import Outcome, RunVerdict, Verdict
from .agents import Truth
from .judging import NAME, Judged

_VERDICT = msgspec.json.Decoder(Verdict)
_RUN_VERDICT = msgspec.json.Decoder(RunVerdict)


@dataclass
class Board:
    """The verdicts heard so far. Delivery is at least once: what comes again must be the same, and counts once."""

    verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)
    """The last verdict by run and check, without the early ones."""
    runs: dict[str, RunVerdict] = field(default_factory=dict)
    """The last run verdict by run."""
    tally: defaultdict[tuple[str, str], Counter[Outcome]] = field(default_factory=lambda: defaultdict(Counter))
    """How often a check came to an outcome, by version and check."""
    failed: int = 0
    """Checks that failed, each counted once."""
    early: int = 0
    """Verdicts that came before the end of their run."""
    repeated: int = 0
    conflicts: int = 0
    """Records that came again under their id and said something else: never to happen."""
    judged: Judged = field(default_factory=Judged)
    """What the judged suite says, if there is one: it has no truth to be held against."""
    _heard: dict[str, bytes] = field(default_factory=dict)
    _fails: deque[Verdict] = field(default_factory=lambda: deque(maxlen=8))
    _told: set[tuple[str, str]] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    """Whoever hears does so in a thread of its own."""

    def hear(self, value: bytes, *, of_run: bool) -> None:
        """Take a record of the verdicts' topic, or of the run verdicts'."""
        record: Verdict | RunVerdict = _RUN_VERDICT.decode(value) if of_run else _VERDICT.decode(value)
        with self._lock:
            known = self._heard.setdefault(record.id, value)
            if known is not value:
                self.repeated += 1
                self.conflicts += known != value
            elif record.suite == NAME:
                if isinstance(record, Verdict):
                    self.judged.hear(record)
            elif isinstance(record, Verdict):
                self._hear_verdict(record)
            elif record.run_id not in self.runs or record.revision > self.runs[record.run_id].revision:
                self.runs[record.run_id] = record

    def latest_fails(self) -> list[Verdict]:
        """The latest checks that failed, the newest first; each once, as soon as it was heard."""
        with self._lock:
            return list(self._fails)

    def _hear_verdict(self, verdict: Verdict) -> None:
        place = (verdict.run_id, verdict.check)
        if verdict.outcome is Outcome.FAIL and place not in self._told:
            self._told.add(place)
            self.failed += 1
            self._fails.appendleft(verdict)
        if verdict.state == "early":
            self.early += 1
            return
        known = self.verdicts.get(place)
        if known is not None and known.revision >= verdict.revision:
            return
        series = self.tally[verdict.agent.version or "" if verdict.agent else "", verdict.check]
        if known is not None:
            series[known.outcome] -= 1
        series[verdict.outcome] += 1
        self.verdicts[place] = verdict

    def runs_of(self, version: str) -> Counter[Outcome]:
        """The outcomes of the runs of a version."""
        with self._lock:
            return Counter(run.outcome for run in self.runs.values() if run.agent and run.agent.version == version)

    def rate(self, version: str, check: str) -> float | None:
        """The share of graded checks that passed; None if none was graded."""
        counts = self.tally.get((version, check), Counter())
        graded = counts[Outcome.PASS] + counts[Outcome.FAIL]
        return counts[Outcome.PASS] / graded if graded else None


@dataclass(frozen=True)
class Row:
    """One check: what went wrong on purpose, and what was found."""

    check: str
    graded: int
    injected: int
    found: int
    """Injected failures with a failing verdict."""
    invented: int
    """Failing verdicts without an injected failure."""


@dataclass(frozen=True)
class Comparison:
    """The verdicts beside the truth."""

    rows: tuple[Row, ...]
    missing: tuple[str, ...]
    """Runs and checks without a verdict, as ``run: check`` or ``run``."""
    wrong: tuple[str, ...]
    """Those with another verdict than the true one, one line each."""

    @property
    def agrees(self) -> bool:
        """Is every verdict there and right?"""
        return not self.missing and not self.wrong


def compare(board: Board, truths: Mapping[str, Truth], suite: Suite) -> Comparison:
    """The verdicts on the board beside the truth of every run."""
    told = [*_differences(board, truths.values()), *_run_differences(board, truths.values(), suite)]
    return Comparison(
        rows=tuple(_row(check.name, board, truths.values()) for check in suite.checks),
        missing=tuple(place for place, said in told if said is None),
        wrong=tuple(f"{place}: {said}" for place, said in told if said is not None),
    )


def _differences(board: Board, truths: Iterable[Truth]) -> Iterator[tuple[str, str | None]]:
    for truth in truths:
        for check, outcome in truth.outcomes.items():
            verdict = board.verdicts.get((truth.run_id, check))
            if verdict is None or verdict.outcome is not outcome:
                said = (
                    None if verdict is None else f"{verdict.outcome}, and the truth is {outcome} ({verdict.evidence})"
                )
                yield f"{truth.run_id}: {check}", said


def _run_differences(board: Board, truths: Iterable[Truth], suite: Suite) -> Iterator[tuple[str, str | None]]:
    critical = [check.name for check in suite.checks if check.severity == "critical"]
    for truth in truths:
        outcome = Outcome.FAIL if any(check in truth.faults for check in critical) else Outcome.PASS
        verdict = board.runs.get(truth.run_id)
        if verdict is None or verdict.outcome is not outcome:
            yield truth.run_id, None if verdict is None else f"{verdict.outcome}, and the truth is {outcome}"


def _row(check: str, board: Board, truths: Iterable[Truth]) -> Row:
    graded = injected = found = invented = 0
    for truth in truths:
        verdict = board.verdicts.get((truth.run_id, check))
        failed = verdict is not None and verdict.outcome is Outcome.FAIL
        wrong = truth.outcomes[check] is Outcome.FAIL
        graded += verdict is not None and verdict.outcome in (Outcome.PASS, Outcome.FAIL)
        injected += wrong
        found += wrong and failed
        invented += failed and not wrong
    return Row(check, graded, injected, found, invented)
