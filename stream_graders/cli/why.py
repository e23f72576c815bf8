"""Why a run has no verdict, or that it has: read from the journal and the dead letters."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from ..events import stamp
from ..gradebook import Publish
from ..session import Effect, Session
from ..settings import Settings
from ..stream import start
from ..stream.topics import partition_of
from ..suites import Fleet
from ..verdicts import RunVerdict
from .journal import opened
from .places import Sought
from .runs import Graded

Level = Literal["ok", "warning", "bad"]
MOVES = {
    "user": "the user's: a message of theirs, or a long silence, comes next",
    "agent": "the agent's: it has not answered the last message or result",
    "tool": "a tool's: a call has no result yet",
}


class Finding(NamedTuple):
    """What one look gave."""

    place: str
    level: Level
    told: str
    next: str = ""
    """What to do about it."""

    def __str__(self) -> str:
        return f"{self.level:<8} {self.place}: {self.told}" + (f"; {self.next}" if self.next else "")


def why_no_verdict(run_id: str, settings: Settings, fleet: Fleet) -> Iterator[Finding]:
    """Why a run has no verdict, or that it has."""
    names = start.physical(settings)
    graded, said = Graded(fleet), list[Effect]()
    sought = Sought(run_id, [Path(f"kafka:{names['journal']}")], settings.bootstrap)
    session: Session | None = None
    count = 0
    for event, at in sought.events():
        said += graded.feed(event, at)
        session = graded.sessions[run_id]
        count += 1
    place = f"run {run_id}"
    if session is not None:
        if sought.now is not None:
            said += session.advance(sought.now)
        cut = "; the journal does not hold its beginning any more" if sought.is_cut else ""
        yield _state(place, session, said, f"{count} events{cut}")
    dead = _dead_letters(run_id, settings.bootstrap, names["dead_letters"])
    if dead:
        told = ", ".join(f"{reason} ({number})" for reason, number in dead.most_common())
        yield Finding(
            place,
            "warning",
            f"{dead.total()} of its records were dead-lettered: {told}",
            f"read them in {names['dead_letters']}",
        )
    elif session is None:
        yield Finding(
            place, "bad", sought.missing(), "is it the right run id, and does its agent send to this journal?"
        )


def _state(place: str, session: Session, said: Sequence[Effect], events: str) -> Finding:
    runs = [effect.record for effect in said if isinstance(effect, Publish) and isinstance(effect.record, RunVerdict)]
    if runs:
        told = ", ".join(f"{run.suite}: {run.outcome} ({run.reason}), complete by {run.completion}" for run in runs)
        return Finding(place, "ok", f"{events}; {told}")
    if session.phase == "unselected":
        return Finding(
            place, "bad", f"{events}; no suite grades it: {session.refusal}", "change select:, or what the agent sends"
        )
    if session.phase in ("new", "gone"):
        return Finding(
            place,
            "bad",
            f"{events}; no event opened it",
            "a run begins with run.start, a message, a call, a result or run.end",
        )
    due = session.deadline()
    if session.phase == "judging":
        until = "" if due is None else f", until {stamp(due * 1_000_000)} by log time"
        return Finding(
            place,
            "warning",
            f"{events}; it is complete and waits for judges{until}",
            "is stream-graders judge running?",
        )
    when = "" if due is None else f"; without another event something is due at {stamp(due * 1_000_000)}, by log time"
    if session.order.held:
        return Finding(
            place,
            "warning",
            f"{events}; events wait for one before them that has not come{when}",
            "the gap is given up after 30 s",
        )
    if session.phase == "waiting":
        return Finding(place, "warning", f"{events}; no event has named its agent{when}", "send agent with run.start")
    return Finding(place, "warning", f"{events}; it is open, and the next move is {MOVES[session.course.move]}{when}")


def _dead_letters(run_id: str, bootstrap: str, topic: str) -> Counter[str]:
    """How many of a run's records were dead-lettered, by reason."""
    key = run_id.encode("utf-8", "replace")
    with opened(bootstrap, topic) as log:
        home = partition_of(key, len(log.spans))
        found = [record for record in log.fetch({home: log.spans[home]}) if record.key == key]
    return Counter(dict(record.headers).get("dlq.error.reason", b"?").decode("utf-8", "replace") for record in found)
