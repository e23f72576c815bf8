"""A suite's own tests, ``<suite>.test.yaml``: runs told as stories, and the verdicts they are to get."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from pydantic import BeforeValidator, Field, ValidationError, model_validator

from ..events import SCHEMA, Event, event_from
from ..session import Effect
from ..suites import Select, Suite
from ..testing import EPOCH, fed, run_verdicts_of, session_of, verdicts_of
from ..verdicts import RunVerdict, Verdict
from . import told
from .lines import YamlError, YamlFile
from .models import Model, Slug, Status, Word, as_tuple

ENDING = ".test.yaml"


def _text(value: Any) -> Any:
    if value is not None and not isinstance(value, str | list):
        raise ValueError("should be text; put it in quotes")  # YAML reads a bare yes, no or number as something else.
    return value


Text = Annotated[Any, BeforeValidator(_text)]


class Line(Model):
    """One event of a story: one of its first keys says what happens, the others say more."""

    start: dict[str, Any] | None = None
    user: Text = None
    assistant: Text = None
    system: Text = None
    call: str | None = None
    result: Any = None
    turn_end: Literal[True] | None = None
    pause: Literal[True] | None = None
    resume: Literal[True] | None = None
    end: Status | None = None
    event: dict[str, Any] | None = None
    """Any other event, in full but for the envelope."""

    args: Any = None
    id: str | None = None
    of: str | None = None
    """The tool that a result is of, where it does not answer the last call."""
    error: bool | None = None
    output: Any = None
    step: int | None = None
    turn: int | None = None
    agent: str | None = None
    usage: dict[str, Any] | None = None
    flags: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()
    after: float | None = None
    """Seconds since the event before; one, where nothing is said."""

    @model_validator(mode="after")
    def _says_one_thing(self) -> "Line":
        if len(self.model_fields_set & set(_HAPPENINGS)) != 1:
            raise ValueError(f"should have one of {', '.join(_HAPPENINGS)}")
        return self


_HAPPENINGS = ("start", "user", "assistant", "system", "call", "result", "turn_end", "pause", "resume", "end", "event")


class Wanted(Model):
    """What a check is to say."""

    outcome: Word
    reason: str | None = None
    evidence: str | None = None
    """A part of the evidence."""


def _wanted(value: Any) -> Any:
    return {"outcome": value} if isinstance(value, str) else value


One = Annotated[Wanted, BeforeValidator(_wanted)]


class CaseModel(Model):
    """A run and its verdicts."""

    run: Slug
    story: Annotated[list[Line], Field(min_length=1)]
    agent: str | None = None
    version: str | None = None
    environment: str | None = None
    expect: dict[str, One | dict[int, One]] = Field(default_factory=dict)
    outcome: Word | None = None
    """Of the run."""

    @model_validator(mode="after")
    def _expects_something(self) -> "CaseModel":
        if not self.expect and self.outcome is None:
            raise ValueError("expects nothing, so it could not fail: say what a check's outcome is, or the run's")
        return self


class CasesModel(Model):
    """A file of cases."""

    suite: str | None = None
    """The suite file, where it is not the one of the same name beside this file."""
    runs: Annotated[list[CaseModel], Field(min_length=1)]


class CaseError(ValueError):
    """A file of cases that cannot be used: one line a problem, each with file and line."""


@dataclass(frozen=True)
class Case:
    """A run of a file of cases."""

    file: str
    line: int
    model: CaseModel

    @property
    def name(self) -> str:
        """Its name in reports."""
        return self.model.run

    def differences(self, suite: Suite) -> Iterator[str]:
        """What the suite says of the run and was not to say, a line each."""
        effects = self._effects(suite)
        verdicts = [verdict for verdict in verdicts_of(effects) if verdict.state != "early"]
        runs = run_verdicts_of(effects)
        if not runs:
            yield "the suite does not select the run: give it the agent, version or environment that it selects"
            return
        names = [check.name for check in suite.checks]
        for name, wanted in self.model.expect.items():
            if name not in names:
                yield f"{name}: the suite has no such check"
                continue
            by_turn = wanted if isinstance(wanted, dict) else {None: wanted}
            for turn, one in by_turn.items():
                yield from _compared(name, turn, one, verdicts, runs[-1])
        if self.model.outcome is not None and runs[-1].outcome != self.model.outcome:
            yield f"the run is {runs[-1].outcome} ({runs[-1].reason}), and should be {self.model.outcome}"

    def events(self, suite: Suite | None = None) -> list[Event]:
        """The run's events. What the case leaves out of the agent is what the suite selects, where that is one name.

        Raises:
            CaseError: a line of the story is no event.
        """
        model, select = self.model, Select() if suite is None else suite.select
        common = {
            "schema": SCHEMA,
            "run_id": model.run,
            "producer": "story",
            "agent": {
                "name": model.agent or _only(select.agent) or "agent-1",
                "version": model.version or _only(select.version) or "1",
            },
            "environment": model.environment or _only(select.environment),
        }
        lines = list(model.story)
        if "start" not in lines[0].model_fields_set and lines[0].event is None:
            lines.insert(0, Line(start={}))
        if not {"end", "event"} & lines[-1].model_fields_set:
            lines.append(Line(end="ok"))
        events: list[Event] = []
        last: tuple[str | None, str | None] = (None, None)
        ts = EPOCH
        for n, line in enumerate(lines):
            ts += 0 if n == 0 else int((1 if line.after is None else line.after) * 1e9)
            body = _body(line, n, last)
            if line.call is not None:
                last = (line.call, body["call_id"])
            try:
                events.append(event_from({**common, "id": f"{model.run}-{n}", "seq": n, "ts": ts, **body}))
            except msgspec.ValidationError as error:
                raise CaseError(f"{self.file}:{self.line}: run {self.name}, event {n}: {error}") from error
        return events

    def _effects(self, suite: Suite) -> list[Effect]:
        session = session_of(suite, self.model.run)
        return [*fed(session, self.events(suite), step=0), *session.finish()]


def read_cases(path: Path) -> tuple[Path, list[Case]]:
    """The suite file that a file of cases is about, and its cases.

    Raises:
        CaseError: the file cannot be used.
    """
    try:
        file = YamlFile.read(path)
    except YamlError as fault:
        raise CaseError(f"{path.name}:{fault.line}: {fault}") from fault
    try:
        model = CasesModel.model_validate(file.value)
    except ValidationError as error:
        lines = [
            f"{path.name}:{file.place(loc).line}: {'.'.join(map(str, loc))}: {message}"
            for loc, message in told(error, CasesModel)
        ]
        raise CaseError("\n".join(lines)) from error
    suite = path.parent / (model.suite or path.name.removesuffix(ENDING) + ".yaml")
    return suite, [Case(path.name, file.place(("runs", n)).line, case) for n, case in enumerate(model.runs)]


def _body(line: Line, n: int, last: tuple[str | None, str | None]) -> dict[str, Any]:
    """What a line says of its event, beside the envelope; ``last`` are the tool and id of the last call."""
    given = line.model_fields_set
    body: dict[str, Any] = {name: value for name in ("step", "turn") if (value := getattr(line, name)) is not None}
    if line.flags:
        body["flags"] = line.flags
    if line.agent is not None:
        body["agent"] = {"name": line.agent}
    if line.event is not None:
        return {**body, **line.event}
    if "start" in given:
        reports = ("messages", "tools", "results", "usage", "end")
        return {"type": "run.start", "reports": reports, **body, **(line.start or {})}
    for role in ("user", "assistant", "system"):
        if role in given:
            return {"type": "message", "role": role, "content": getattr(line, role), "usage": line.usage, **body}
    if line.call is not None:
        args = {} if line.args is None else line.args
        return {"type": "tool.call", "name": line.call, "call_id": line.id or f"c{n}", "args": args, **body}
    if "result" in given:
        named = line.of is not None or line.id is not None
        call_id = line.id if named else last[1]
        name = line.of if named else last[0]
        return {
            "type": "tool.result", "name": name, "call_id": call_id, "result": line.result, "is_error": line.error, **body
        }  # fmt: skip
    if line.end is not None:
        return {
            "type": "run.end", "status": line.end, "last_seq": n, "output": line.output, "usage": line.usage, **body
        }  # fmt: skip
    kind = {"turn_end": "turn.end", "pause": "run.pause", "resume": "run.resume"}
    return {"type": next(kind[name] for name in kind if name in given), **body}


def _only(patterns: tuple[str, ...]) -> str | None:
    """A name that fits the first pattern: a star stands for something."""
    return patterns[0].replace("*", "x") if patterns else None


def _compared(check: str, turn: int | None, wanted: Wanted, verdicts: list[Verdict], run: RunVerdict) -> Iterator[str]:
    told = [v for v in verdicts if v.check == check and (turn is None or v.turn == turn)]
    place = check if turn is None else f"{check} in turn {turn}"
    if not told:
        line = next((line for line in run.checks if line.check == check), None)
        found = None if line is None or turn is not None else (line.outcome, line.reason, "")
    else:
        found = (told[-1].outcome, told[-1].reason, told[-1].evidence)
    if found is None:
        yield f"{place}: says nothing, and should say {wanted.outcome}"
        return
    outcome, reason, evidence = found
    if outcome != wanted.outcome:
        yield f"{place}: says {outcome} ({reason}), and should say {wanted.outcome}: {evidence}"
    elif wanted.reason is not None and reason != wanted.reason:
        yield f"{place}: says {outcome} for {reason}, and should for {wanted.reason}: {evidence}"
    elif wanted.evidence is not None and wanted.evidence not in evidence:
        yield f"{place}: the evidence {evidence!r} does not hold {wanted.evidence!r}"
