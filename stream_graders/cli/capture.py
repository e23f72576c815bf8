"""``stream-graders capture``: a run as a case of a suite's own tests."""

from pathlib import Path
from typing import Any

import msgspec
import typer
import yaml

from ..config import load_fleet
from ..config.cases import Case, read_cases
from ..events import (
    UNSENT,
    Event,
    Message,
    RunEnd,
    RunPause,
    RunResume,
    RunStart,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from ..gradebook import Publish
from ..verdicts import RunVerdict, Verdict
from .errors import UserError
from .places import Sought
from .runs import Graded

_ENVELOPE = {"type", "schema", "id", "run_id", "ts", "seq", "producer", "agent", "environment", "tenant", "trace"}


def capture_run(run_id: str, places: list[Path], bootstrap: str | None, suite: Path, out: Path | None) -> None:
    """Print the run as a case that says what the suite says of it now, or add it to a file of cases.

    A case has no log time: no deadline passes in it, and with its last event the run ends.

    Raises:
        UserError: the run is not there, or the suite does not select it.
    """
    graded = Graded(load_fleet([suite]))
    sought = Sought(run_id, places, bootstrap)
    events: list[Event] = []
    said: list[Any] = []
    for event, _ in sought.events():
        events.append(event)
        said += graded.feed(event)
    for told in sought.told():
        typer.echo(told, err=True)
    if not events:
        raise UserError(sought.missing())
    said += list(graded.finish())
    records = [effect.record for effect in said if isinstance(effect, Publish)]
    runs = [record for record in records if isinstance(record, RunVerdict)]
    if not runs:
        raise UserError(f"{suite.name} has no verdict on run {run_id}; stream-graders explain says why")
    case = _case(events, runs[-1], [v for v in records if isinstance(v, Verdict) and v.state != "early"])
    text = yaml.safe_dump([case], sort_keys=False, allow_unicode=True, width=120)
    if out is None:
        typer.echo("runs:\n" + "".join(f"  {line}\n" for line in text.splitlines()), nl=False)
        return
    _append(text, out)
    typer.echo(f"{out}: run {case['run']} added; look at it before you keep it: it holds what people said")


def _case(events: list[Event], run: RunVerdict, verdicts: list[Verdict]) -> dict[str, Any]:
    expect: dict[str, Any] = {}
    for verdict in verdicts:
        each = sum(v.check == verdict.check and v.revision == verdict.revision for v in verdicts) > 1
        if each:
            expect.setdefault(verdict.check, {})[verdict.turn] = str(verdict.outcome)
        else:
            expect[verdict.check] = str(verdict.outcome)
    first = next((event.agent for event in events if event.agent is not None), None)
    known = {
        "agent": None if first is None else first.name,
        "version": None if first is None else first.version,
        "environment": run.environment,
    }
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in run.run_id)[:100].lstrip("_.-")
    return {
        "run": name or "captured",
        **{key: value for key, value in known.items() if value is not None},
        "story": _story(events),
        "outcome": str(run.outcome),
        "expect": expect,
    }


def _story(events: list[Event]) -> list[dict[str, Any]]:
    """The lines of a story. A case adds a start and an end where none are told, and this run may have had none."""
    lines = [_line(event) for event in events]
    if not isinstance(events[0], RunStart):
        lines[0] = _full(events[0])
    if not isinstance(events[-1], RunEnd):
        lines[-1] = _full(events[-1])
    return lines


def _full(event: Event) -> dict[str, Any]:
    more = {name: value for name in ("step", "turn") if (value := getattr(event, name)) is not None}
    return {"event": {"type": event.__struct_config__.tag, **_body(event)}, **more}


def _line(event: Event) -> dict[str, Any]:
    """An event as a line of a story; one that no short form holds, in full."""
    more: dict[str, Any] = {name: value for name in ("step", "turn") if (value := getattr(event, name)) is not None}
    if event.flags:
        more["flags"] = list(event.flags)
    if isinstance(event, Message) and event.role in ("user", "assistant", "system") and event.content is not UNSENT:
        return {event.role: event.content, **more}
    if isinstance(event, ToolCall) and isinstance(event.args, dict) and not (event.args_raw or event.plugin_id):
        return {"call": event.name, **({"args": event.args} if event.args else {}), **_id(event.call_id), **more}
    if isinstance(event, ToolResult) and event.result is not UNSENT and event.name is not None:
        raw = event.result if event.result_raw is None else event.result_raw
        failed = {} if event.is_error is None else {"error": event.is_error}
        return {"result": raw, "of": event.name, **_id(event.call_id), **failed, **more}
    if isinstance(event, RunEnd):
        return {"end": event.status, **({} if event.output is None else {"output": event.output}), **more}
    if isinstance(event, RunStart):
        return {"start": _body(event), **more}
    for kind, key in ((TurnEnd, "turn_end"), (RunPause, "pause"), (RunResume, "resume")):
        if type(event) is kind:
            return {key: True, **more}
    return {**_full(event), **more}


def _id(call_id: str | None) -> dict[str, str]:
    return {} if call_id is None else {"id": call_id}


def _body(event: Event) -> dict[str, Any]:
    body = msgspec.to_builtins(event)
    return {name: value for name, value in body.items() if name not in (*_ENVELOPE, "step", "turn", "flags")}


def _append(text: str, out: Path) -> None:
    if out.exists():
        _, cases = read_cases(out)
        if any(_is(case, text) for case in cases):
            raise UserError(f"{out}: has a run of this name already; take that one out first")
    lines = "".join(f"  {line}\n" for line in text.splitlines())
    try:
        before = out.read_text(encoding="utf-8") if out.exists() else "runs:\n"
        out.write_text(before.rstrip("\n") + "\n" + lines, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror}") from error


def _is(case: Case, text: str) -> bool:
    return f"run: {case.name}\n" in text
