"""``stream-graders judge canary``: a set of items asked again, held against the answers of the day it was recorded."""

import asyncio
import json
import os
import time
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any, get_args

import typer
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..catalogue import catalogue
from ..verdicts import Rule
from .errors import Exit, UserError, leave
from .judge_worth import asked_once, lines_of

LEFT_OUT = 0.2
"""The share of items that may be without answers today; with more, the rest is no longer the set that was recorded."""


class Kept(BaseModel):
    """One item of a set: what the judge is shown, and what it said."""

    model_config = ConfigDict(extra="forbid", strict=True)

    input: dict[str, str]
    scale: tuple[float, float] = Field(strict=False)
    rule: Rule
    grader: str | None = None
    answers: list[float | str] = []


class Set(BaseModel):
    """A set with the answers of one day."""

    model_config = ConfigDict(extra="forbid", strict=True)

    form: str = Field("stream_graders.canary/1", alias="schema", pattern=r"^stream_graders\.canary/1$")
    recorded: str
    model: str
    """The judge's name in the judges' file."""
    reported: list[str]
    """The model as its provider named it."""
    prompt: str
    """A hash of what was sent, but for its random parts."""
    rubrics: dict[str, int]
    """The versions of the graders whose questions these are."""
    repeats: int = Field(ge=2)
    items: list[Kept] = Field(min_length=1)


def record(path: Path, items: Path, judges: Path, model: str, repeats: int) -> None:
    """Ask about each item and write the set down.

    Raises:
        UserError: the items or the judges' file cannot be used, or there is a set already.
    """
    from ..judges import canary

    if path.exists():
        raise UserError(f"{path}: is there already; remove it, or record under another name")
    _seen_to(path)
    kept = [_item(items, n, value) for n, value in lines_of(items)]
    if len(kept) < canary.FEWEST:
        raise UserError(
            f"{items}: holds {len(kept)} items; {canary.FEWEST} are the fewest that can tell anything, 30 are good"
        )
    answers, reported, unasked = asyncio.run(_ask(kept, judges, model, repeats, 0.0))
    if unasked:
        typer.echo(f"{path}: not recorded, for {_counted(unasked)} came instead of answers; try again later", err=True)
        leave(Exit.OUR_FAULT)
    told = Set(
        schema="stream_graders.canary/1",
        recorded=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        model=model,
        reported=reported,
        prompt=_prompt(kept),
        rubrics=_rubrics(kept),
        repeats=repeats,
        items=[each.model_copy(update={"answers": said}) for each, said in zip(kept, answers, strict=True)],
    )
    path.touch(mode=0o600)  # It holds what runs said.
    path.write_text(told.model_dump_json(by_alias=True, exclude_none=True, indent=1) + "\n", encoding="utf-8")
    typer.echo(f"{len(kept)} items recorded, {repeats} answers each, by {_named(reported)}")


def compare(path: Path, judges: Path, model: str | None, alarm: float, textfile: Path | None, *, as_json: bool) -> None:
    """Ask the set again, and print how the answers changed; exit code 1 if by more than chance, 3 if too few came.

    Raises:
        UserError: the set, the judges' file or the text file cannot be used.
    """
    from ..judges import canary

    known = _load(path)
    if textfile is not None:
        _seen_to(textfile)
    name = model or known.model
    answers, reported, unasked = asyncio.run(_ask(known.items, judges, name, known.repeats, LEFT_OUT))
    items = [
        canary.Item(each.answers, said, each.scale[1] - each.scale[0])
        for each, said in zip(known.items, answers, strict=True)
        if len(said) == known.repeats
    ]
    if len(items) < (1 - LEFT_OUT) * len(known.items):
        typer.echo(
            f"{path}: nothing is said, for {_counted(unasked)} came instead of answers; try again later", err=True
        )
        leave(Exit.OUR_FAULT)
    found = canary.drift(items, alarm)
    changed = _changed(known, reported)
    if textfile is not None:
        from prometheus_client import write_to_textfile

        write_to_textfile(str(textfile), canary.metrics(found, name, time.time()))
    if as_json:
        told = {"model": name, "reported": reported, "left_out": len(known.items) - len(items), "changed": changed}
        typer.echo(json.dumps({**told, **canary.as_json(found)}))
    else:
        typer.echo("\n".join(_told(found, known, len(known.items) - len(items), changed)))
    if found.alarms:
        leave(Exit.GATE_MISSED)


def _seen_to(path: Path) -> None:
    """See that a file can be written before anything is paid for."""
    if not os.access(path.parent, os.W_OK):
        raise UserError(f"{path}: cannot be written; name a file in a folder that is there and yours")


def _item(path: Path, n: int, value: Any) -> Kept:
    """An item from a line of its file: a judge's request as Kafka has it, or a label as ``calibrate`` reads it."""
    if not isinstance(value, dict) or not isinstance(value.get("input"), dict):
        raise UserError(f"{path.name}:{n}: has no input, what the judge is to be shown")
    if value.get("rule") == "probe":
        raise UserError(f"{path.name}:{n}: looks at a state and asks no judge; leave it out")
    scale = value.get("scale") or (0, 5)
    rule = value.get("rule") or ("binary" if tuple(scale) == (0, 1) else "clamp")
    try:
        told = {"input": value["input"], "scale": scale, "rule": rule, "grader": value.get("grader")}
        return Kept.model_validate(told)
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise UserError(f"{path.name}:{n}: {where}: {error.errors()[0]['msg']}") from error


def _load(path: Path) -> Set:
    try:
        return Set.model_validate_json(path.read_bytes())
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}; record it first, with --record and --items") from error
    except ValidationError as error:
        where = ".".join(map(str, error.errors()[0]["loc"]))
        raise UserError(f"{path}: is no canary set ({where}: {error.errors()[0]['msg']}); record it again") from error


class _HopelessError(Exception):
    """So many items have no answers that the others need not be paid for."""


async def _ask(
    items: list[Kept], judges: Path, model: str, repeats: int, spare: float
) -> tuple[list[list[float | str]], list[str], Counter[str]]:
    """The answers to each item, the models as reported, and what came instead of answers, by its code.

    The cache is off; the ledger and the limits of the file count, for this is the live judge's money. No more is asked once more
    than the share ``spare`` of the items cannot be answered, or the judge's key or quota is refused.
    """
    from ..judges import work
    from ..judges.calls import FATAL, Kind
    from ..judges.settings import JudgesError, load

    instead = {*get_args(Kind), "deadline", "internal", "budget"}
    try:
        file = load(judges)
        if model not in file.models:
            raise UserError(f"{judges.name}: knows no judge {model!r}; it has {', '.join(file.models)}")
        made = work.made(file, remembers=False)
    except JudgesError as error:
        raise UserError(str(error)) from error
    at_once = asyncio.Semaphore(file.models[model].at_once)
    said: list[list[float | str]] = [[] for _ in items]
    reported: set[str] = set()
    unasked: Counter[str] = Counter()
    without: set[int] = set()

    async def ask(n: int, item: Kept) -> None:
        for again in range(repeats):
            async with at_once:  # Taken here, so that a question's own deadline begins when it is its turn.
                answer = await asked_once(made, item.input, item.scale, item.rule, model, f"{n}/{again}")
            reported.update(filter(None, [answer.get("judge", {}).get("reported")]))
            code = answer.get("code", "")
            if code not in instead:
                said[n].append(float(answer["score"]) if "score" in answer else code)
                continue
            unasked[code] += 1
            without.add(n)
            if code in FATAL or len(without) > spare * len(items):
                raise _HopelessError

    try:
        async with asyncio.TaskGroup() as group:
            for n, item in enumerate(items):
                group.create_task(ask(n, item))
    except* _HopelessError:
        pass
    finally:
        await made.close_clients()
        made.close()
    return said, sorted(reported), unasked


def _prompt(items: list[Kept]) -> str:
    from ..judges import prompts

    rendered = [prompts.build(each.input, each.scale, "").stable for each in items]
    return sha256(json.dumps([prompts.PROMPT_VERSION, rendered]).encode()).hexdigest()[:16]


def _rubrics(items: list[Kept]) -> dict[str, int]:
    graders = catalogue()
    return {name: graders[name].version for name in sorted({each.grader or "" for each in items}) if name in graders}


def _changed(known: Set, reported: list[str]) -> list[str]:
    """What is not as it was when the set was recorded, beside the answers."""
    told = []
    if reported != known.reported:
        told.append(f"the model was {_named(known.reported)}, and is {_named(reported)}")
    if (prompt := _prompt(known.items)) != known.prompt:
        told.append(f"the prompt was {known.prompt}, and is {prompt}")
    now = _rubrics(known.items)
    for grader, version in known.rubrics.items():
        if now.get(grader) != version:
            told.append(f"the rubric of {grader} was version {version}, and is {now.get(grader, 'gone')}: record again")
    return told


def _named(reported: list[str]) -> str:
    return ", ".join(map(repr, reported)) or "no name"


def _counted(unasked: Counter[str]) -> str:
    return ", ".join(f"{count} {code}" for code, count in unasked.most_common())


def _told(found: Any, known: Set, left_out: int, changed: list[str]) -> list[str]:
    lines = [f"{found.items} items, recorded {known.recorded}" + (f"; {left_out} not answered" if left_out else "")]
    if found.mean is None:
        lines.append("no item was scored on both days")
    else:
        at = found.mean
        lines.append(
            f"mean {found.then:.3f} of the scale, now {found.now:.3f}: {at.value:+.3f} ({at.low:+.3f} to {at.high:+.3f}),"
            f" by chance in {at.chance:.2%}"
        )
    at = found.excess
    lines.append(
        f"flips {found.flips:.0%}, of one day {found.usual:.0%}: {at.value:+.3f} ({at.low:+.3f} to {at.high:+.3f}),"
        f" by chance in {at.chance:.2%}"
    )
    lines += [f"changed: {line}" for line in changed]
    alarms = " and ".join(
        {"mean": "the mean has moved", "flips": "answers have changed"}[name] for name in found.alarms
    )
    return [*lines, alarms or f"as it was (where nothing changed, one comparison in {1 / found.rate:g} says otherwise)"]
