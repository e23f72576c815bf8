"""``stream-graders grade``: the verdicts of finished runs in files."""

import gzip
import sys
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import typer

from ..adapters import chat_transcript
from ..config import load_fleet
from ..events import Event, Tick, from_json, to_json
from ..gradebook import Publish
from ..session import At, Bury, Effect, Ledger, Session
from ..suites import Fleet
from ..verdicts import Outcome, RunVerdict, Verdict, Violation
from ..wire import Refused, decode
from .errors import Exit, UserError, leave

FAILABLE = ("fail", "error", "not_graded", "skipped")


@dataclass
class Graded:
    """What came of grading files."""

    fleet: Fleet
    ledger: Ledger = field(default_factory=Ledger)
    refused: Counter[str] = field(default_factory=Counter)
    first_refusal: str = ""
    sessions: dict[str, Session] = field(default_factory=dict)

    def feed(self, event: Event) -> list[Effect]:
        """Grade one event. Files have no log time: no deadline passes in them."""
        session = self.sessions.get(event.run_id)
        if session is None:
            session = self.sessions[event.run_id] = Session(self.fleet, event.run_id, self.ledger)
        effects = session.feed(event, At(0, session.offset + 1, 0))
        for effect in effects:
            if isinstance(effect, Bury):
                self.refuse(effect.reason, f"run {event.run_id}: {effect.reason.meaning}")
        return effects

    def finish(self) -> Iterator[Effect]:
        """The input has ended: complete every run that is open."""
        for session in self.sessions.values():
            yield from session.finish()
        self.sessions.clear()

    def refuse(self, reason: str, told: str) -> None:
        """Count a record that could not be graded."""
        self.refused[reason] += 1
        self.first_refusal = self.first_refusal or told


def records(graded: Graded, files: Iterable[Path]) -> Iterator[Effect]:
    """Grade files and give the effects as they come.

    Raises:
        UserError: a file cannot be read, or holds neither events nor transcripts.
    """
    for file in files:
        with _opened(file) as lines:
            yield from _graded_lines(graded, file, lines)
    yield from graded.finish()


def grade_files(files: list[Path], suites: list[Path], *, as_json: bool, fail_on: str) -> None:
    """Grade files and print verdicts, or a report; leave with the exit code that the outcomes ask for."""
    gate = {word.strip() for word in fail_on.split(",") if word.strip()}
    unknown = gate - set(FAILABLE)
    if unknown:
        raise UserError(f"--fail-on: {', '.join(sorted(unknown))} is no outcome; use {', '.join(FAILABLE)}")
    graded = Graded(load_fleet(suites))
    report = Report()
    write = sys.stdout.buffer.write
    for effect in records(graded, files):
        if not isinstance(effect, Publish):
            continue
        record = effect.record
        if isinstance(record, Violation) or record.state == "early":
            continue
        report.add(record)
        if as_json and isinstance(record, Verdict):
            write(to_json(record) + b"\n")
    if as_json:
        for run_verdict in report.runs:
            write(to_json(run_verdict) + b"\n")
        sys.stdout.flush()
    else:
        report.print()
    if graded.refused:
        told = ", ".join(f"{count} {reason}" for reason, count in graded.refused.most_common())
        typer.echo(
            f"{graded.refused.total()} records could not be graded ({told}); the first: {graded.first_refusal}",
            err=True,
        )
    leave(_exit_code(graded, report, gate))


@dataclass
class Report:
    """Counts for people."""

    runs: list[RunVerdict] = field(default_factory=list)
    checks: dict[tuple[str, str], Counter[str]] = field(default_factory=dict)
    first: dict[tuple[str, str], Verdict] = field(default_factory=dict)

    def add(self, record: Verdict | RunVerdict) -> None:
        """Take a verdict in. An amended one takes the place of what it amends only in the list of runs."""
        if isinstance(record, RunVerdict):
            self.runs.append(record)
            return
        key = (record.suite, record.check)
        if record.revision == 1:
            self.checks.setdefault(key, Counter())[record.outcome] += 1
        if record.outcome in (Outcome.FAIL, Outcome.ERROR):
            self.first.setdefault(key, record)

    def latest(self) -> list[RunVerdict]:
        """The last run verdict of each run and suite."""
        return list({(run.run_id, run.opened_at, run.suite): run for run in self.runs}.values())

    def print(self) -> None:
        """Print the report: a line a check, the first failure of each, the runs."""
        width = max((len(check) for _, check in self.checks), default=5)
        for suite in dict.fromkeys(suite for suite, _ in self.checks):
            typer.echo(f"suite {suite}")
            for (of, check), counts in self.checks.items():
                if of == suite:
                    typer.echo(f"  {check:<{width}}  {_counts(counts)}")
                    if (first := self.first.get((of, check))) is not None:
                        typer.echo(f"  {'':<{width}}  first: {first.run_id}: {first.evidence}")
        counts = Counter(str(run.outcome) for run in self.latest())
        typer.echo(f"{counts.total()} run verdicts: {_counts(counts)}")


def _counts(counts: Counter[str]) -> str:
    rated = counts["pass"] + counts["fail"]
    rate = f"{counts['pass'] / rated:>6.1%} of {rated}" if rated else "  no rate"
    rest = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()) if outcome != "pass")
    return f"{rate}" + (f"  ({rest})" if rest else "")


def _exit_code(graded: Graded, report: Report, gate: set[str]) -> Exit:
    runs = report.latest()
    if any(run.outcome in gate or (run.reason == "unverified" and run.partially_graded) for run in runs):
        return Exit.GATE_MISSED
    if graded.refused:
        return Exit.BAD_INPUT
    return Exit.OK if any(run.outcome in (Outcome.PASS, Outcome.FAIL) for run in runs) else Exit.NOTHING_GRADED


def _opened(file: Path) -> BinaryIO:
    try:
        # The caller closes it, by its `with`.
        opened: Any = gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")  # noqa: SIM115
    except OSError as error:
        raise UserError(f"{file}: cannot be read: {error.strerror}") from error
    return opened  # type: ignore[no-any-return]  # GzipFile is a BinaryIO in all but its declaration


def _source(file: Path) -> str:
    """A file's name without its endings; a dot inside it is part of the name, and the name part of run ids."""
    while file.suffix in (".gz", ".jsonl", ".ndjson", ".json"):
        file = file.with_suffix("")
    return file.name


def _graded_lines(graded: Graded, file: Path, lines: BinaryIO) -> Iterator[Effect]:
    source, transcripts = _source(file), None
    try:
        for number, line in enumerate(map(bytes.strip, lines)):
            if not line:
                continue
            if transcripts is None:
                transcripts = _holds_transcripts(file, line)
            if transcripts:
                yield from _graded_transcript(graded, source, number, line)
            else:
                yield from _graded_event(graded, f"{file.name}:{number + 1}", line)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{file}: is no whole gzip file: {error}") from error


def _holds_transcripts(file: Path, line: bytes) -> bool:
    try:
        first = from_json(line)
    except (ValueError, RecursionError):
        return False
    if chat_transcript.is_transcript(first):
        return True
    if isinstance(first, dict) and "type" in first:
        return False
    raise UserError(f"{file}: line 1 is neither an event (it has no type) nor a chat transcript (it has no messages)")


def _graded_event(graded: Graded, place: str, line: bytes) -> Iterator[Effect]:
    event = decode(line, None)
    if isinstance(event, Refused):
        graded.refuse(event.reason, f"{place}: {event.detail}")
        event = event.taken or Tick(schema="stream_graders.event/1")
    if isinstance(event, Event):
        yield from graded.feed(event)


def _graded_transcript(graded: Graded, source: str, number: int, line: bytes) -> Iterator[Effect]:
    try:
        events = chat_transcript.events(_object(line), source, number)
    except (ValueError, RecursionError) as error:
        graded.refuse("invalid", f"{source}, line {number + 1}: {error}")
        return
    for event in events:
        yield from graded.feed(event)
    # The line is the whole run, so what it needed can be forgotten.
    if events:
        yield from graded.sessions.pop(events[0].run_id).finish()


def _object(line: bytes) -> dict[str, Any]:
    value = from_json(line)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value
