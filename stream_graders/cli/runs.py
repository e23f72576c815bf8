"""Runs in files, graded as a worker grades them."""

import gzip
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..adapters import chat_transcript
from ..events import Event, Tick, from_json
from ..session import At, Bury, Effect, Ledger, Session
from ..suites import Fleet
from ..wire import Refused, decode
from .errors import UserError


@dataclass
class Graded:
    """What came of grading."""

    fleet: Fleet
    ledger: Ledger = field(default_factory=Ledger)
    refused: Counter[str] = field(default_factory=Counter)
    first_refusal: str = ""
    sessions: dict[str, Session] = field(default_factory=dict)

    def feed(self, event: Event, at: At | None = None) -> list[Effect]:
        """Grade one event. Without its place in a log there is no log time, and no deadline passes."""
        session = self.sessions.get(event.run_id)
        if session is None:
            session = self.sessions[event.run_id] = Session(self.fleet, event.run_id, self.ledger)
        effects = session.feed(event, At(0, session.offset + 1, 0) if at is None else at)
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
    for event, is_last in events_of(graded.refuse, files):
        yield from graded.feed(event)
        if is_last:  # What the run needed can be forgotten.
            yield from graded.sessions.pop(event.run_id).finish()
    yield from graded.finish()


def events_of(refuse: Callable[[str, str], None], files: Iterable[Path]) -> Iterator[tuple[Event, bool]]:
    """The events of files, each with whether it is the last of a run that stands whole in one line.

    Args:
        refuse: told of each record that is no event: its reason, and its place with the fault.
        files: JSON Lines of events or of chat transcripts; ``.gz`` is read too.

    Raises:
        UserError: a file cannot be read, or holds neither events nor transcripts.
    """
    for file in files:
        with _opened(file) as lines:
            yield from _events_in(refuse, file, lines)


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


def _events_in(refuse: Callable[[str, str], None], file: Path, lines: BinaryIO) -> Iterator[tuple[Event, bool]]:
    source, name, transcripts = _source(file), file.name, None
    try:
        for number, line in enumerate(map(bytes.strip, lines)):
            if not line:
                continue
            if transcripts is None:
                transcripts = _holds_transcripts(file, line)
            if transcripts:
                events = _of_transcript(refuse, source, number, line)
                yield from ((event, event is events[-1]) for event in events)
            elif (event := _of_record(refuse, name, number, line)) is not None:
                yield event, False
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


def _of_record(refuse: Callable[[str, str], None], name: str, number: int, line: bytes) -> Event | None:
    event = decode(line, None)
    if isinstance(event, Refused):
        refuse(event.reason, f"{name}:{number + 1}: {event.detail}")
        event = event.taken or Tick(schema="stream_graders.event/1")
    return event if isinstance(event, Event) else None


def _of_transcript(refuse: Callable[[str, str], None], source: str, number: int, line: bytes) -> list[Event]:
    try:
        return chat_transcript.events(_object(line), source, number)
    except (ValueError, RecursionError) as error:
        refuse("invalid", f"{source}, line {number + 1}: {error}")
        return []


def _object(line: bytes) -> dict[str, Any]:
    value = from_json(line)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value
