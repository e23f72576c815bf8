"""``stream-graders explain``: what moved each check of a run, event by event, and why a run has no verdict."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from ..config import load_fleet
from ..events import Event, Message, RunEnd, ToolCall, ToolResult, compact, stamp, text_of
from ..gradebook import Publish
from ..grading import result_text
from ..session import Bury, Effect, Reading, Session
from ..verdicts import RunVerdict, Verdict
from .errors import Exit, leave
from .places import Sought
from .runs import Graded
from .sharing import tell_unsigned, with_key

SHOWN = 60
"""Characters of an event's text that a line shows."""


def explain_run(run_id: str, places: list[Path], bootstrap: str | None, suites: list[Path], *, as_json: bool) -> None:
    """Print what each event of the run did to each check; exit code 4 if the run has no verdict.

    In a topic deadlines pass by log time, as they do for a worker, and a run that goes on stays open.
    """
    graded = Graded(with_key(load_fleet(suites), required=False))
    sought = Sought(run_id, places, bootstrap)
    session: Session | None = None
    read: dict[str, Reading] = {}
    said: list[Publish] = []
    for event, at in sought.events():
        effects = graded.feed(event, at)
        session = graded.sessions[run_id]
        moved = _moved(read, session)
        said += [effect for effect in effects if isinstance(effect, Publish)]
        _print_event(event, session, moved, effects, as_json=as_json)
    for told in sought.told():
        typer.echo(told, err=True)
    if session is None:
        typer.echo(sought.missing(), err=True)
        leave(Exit.NOTHING_GRADED)
    last = session.finish() if sought.now is None else session.advance(sought.now)
    said += [effect for effect in last if isinstance(effect, Publish)]
    runs = [effect.record for effect in said if isinstance(effect.record, RunVerdict)]
    tell_unsigned(graded)
    for line in _ending(session, said, runs):
        typer.echo(compact(line) if as_json else line["line"])
    if not runs:
        leave(Exit.NOTHING_GRADED)


def _moved(read: dict[str, Reading], session: Session) -> list[Reading]:
    """The checks that an event moved; ``read`` keeps how they stood."""
    moved = [one for one in session.readings() if read.get(f"{one.suite}/{one.check}") != one]
    read.update({f"{one.suite}/{one.check}": one for one in moved})
    return moved


def _print_event(event: Event, session: Session, moved: list[Reading], effects: list[Effect], *, as_json: bool) -> None:
    buried = [effect.reason for effect in effects if isinstance(effect, Bury)]
    told = _told(event)
    if as_json:
        typer.echo(
            compact({
                "event": event.id, "seq": event.seq, "type": event.__struct_config__.tag, "buried": buried,
                "moved": [one._asdict() for one in moved],
            })
        )  # fmt: skip
        return
    place = f"{event.seq if event.seq is not None else '-':>4}  {told}"
    typer.echo(place + (f"  -> not graded: {buried[0].meaning}" if buried else ""))
    if session.order.held:
        typer.echo("        waits: an event before it has not come yet")
    for one in moved:
        state = f"{one.outcome}" if one.is_decided else f"open, {one.outcome} so far"
        typer.echo(f"        {one.check}: {state} ({one.reason}) {one.evidence}".rstrip())


def _told(event: Event) -> str:
    """An event in one line."""
    kind = str(event.__struct_config__.tag)
    if isinstance(event, Message):
        kind, text = f"message, {event.role}", text_of(event.content)
    elif isinstance(event, ToolCall):
        kind, text = f"{kind} {event.name}", compact(event.args) if isinstance(event.args, dict | list) else ""
    elif isinstance(event, ToolResult):
        failed = " (error)" if event.is_error else ""
        kind, text = f"{kind} {event.name or ''}{failed}".rstrip(), result_text(event)
    elif isinstance(event, RunEnd):
        kind, text = f"{kind}, {event.status}", text_of(event.output)
    else:
        text = ""
    text = " ".join(text.split())
    return f"{kind}: {text[:SHOWN]}{'…' if len(text) > SHOWN else ''}" if text else kind


def _ending(session: Session, said: list[Publish], runs: list[RunVerdict]) -> Iterator[dict[str, Any]]:
    if not runs:
        why = {
            "unselected": f"no suite grades it: {session.refusal}",
            "new": "no event opened it: a run begins with run.start, a message, a call or a result",
            "gone": "no event opened it: a run begins with run.start, a message, a call or a result",
            "judging": "it is complete, and waits for judges",
        }.get(session.phase, "it goes on")
        if session.phase in ("waiting", "open", "judging") and (due := session.deadline()) is not None:
            why += f"; without another event something is due at {stamp(due * 1_000_000)}, by log time"
        yield {"line": f"no verdict: {why}", "phase": session.phase}
    for effect in said:
        record = effect.record
        if isinstance(record, Verdict):
            by = "" if record.decided_by is None else f", decided by seq {record.decided_by.seq}"
            told = f"{record.check}: {record.state} {record.outcome} ({record.reason}){by}: {record.evidence}"
            yield {"line": told, "verdict": record}
        elif isinstance(record, RunVerdict):
            flags = f"; flags: {', '.join(record.flags)}" if record.flags else ""
            told = f"suite {record.suite}: {record.outcome} ({record.reason}), complete by {record.completion}{flags}"
            yield {"line": told, "run_verdict": record}
