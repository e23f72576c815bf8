"""``stream-graders judge calibrate`` and ``judge estimate``: what a judge is worth, and what it will cost."""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from ..asking import Ask
from ..config import load_fleet
from ..events import from_json
from ..judges import prompts
from ..judges.settings import JudgesError, JudgesFile, load
from ..session import Effect
from ..verdicts import JudgeRequest, Rule
from .errors import Exit, UserError, leave
from .places import LAST, topic_of
from .runs import Graded, records
from .sharing import with_key

DAY = 86_400_000
SHARE_TOLD = 4
"""Digits of a rate."""


def estimate(
    files: list[Path],
    bootstrap: str | None,
    last: int | None,
    suites: list[Path],
    judges: Path | None,
    runs_a_day: int | None,
    *,
    as_json: bool,
) -> None:
    """Print what judging such runs would ask, use and cost a day; exit code 4 if it would ask nothing.

    A topic tells how many runs a day there are by the log time that its records span; files do not.

    Raises:
        UserError: a file or topic cannot be used.
    """
    try:
        file = None if judges is None else load(judges)
    except JudgesError as error:
        raise UserError(str(error)) from error
    fleet = with_key(load_fleet(suites), required=False)
    topic = topic_of(files, bootstrap, last)
    graded = Graded(fleet)
    asked: list[JudgeRequest] = []
    runs: set[str] = set()
    spans: list[int] = []
    for effect in records(graded, files) if topic is None else _of_topic(graded, topic, last or LAST, spans):
        if isinstance(effect, Ask) and effect.record.rule != "probe":
            asked.append(effect.record)
        elif hasattr(effect, "record"):
            runs.add(effect.record.run_id if hasattr(effect.record, "run_id") else effect.record.verdict.run_id)
    if not runs:
        raise UserError("no run there is one of the suites': see `stream-graders check --against`")
    a_day = runs_a_day or (round(len(runs) * DAY / max(1_000, *spans)) if spans else len(runs))
    scale = a_day / len(runs)
    lines = [
        {"check": check, "runs": len(runs), **_use(requests, file, scale)}
        for check, requests in sorted(_by_check(asked).items())
    ]
    for line in lines:
        if as_json:
            typer.echo(json.dumps(line))
            continue
        cost = (
            "unknown (no prices: name a file with --judges)" if line["usd_a_day"] is None else f"${line['usd_a_day']}"
        )
        typer.echo(
            f"{line['check']}: {line['asked']} of {line['runs']} runs judged; at {a_day} runs a day {line['calls_a_day']}"
            f" calls, {line['tokens_a_day']} tokens, {cost}"
        )
    if not lines:
        typer.echo("no check would ask a judge about these runs", err=True)
        leave(Exit.NOTHING_GRADED)


def _use(requests: Sequence[JudgeRequest], file: JudgesFile | None, scale: float) -> dict[str, Any]:
    """What these requests use, ``scale`` times a day; the money is None where a price is not known."""
    tokens = calls = 0
    money: int | None = 0
    for each in requests:
        prompt = prompts.build(each.input, each.scale, "000000")
        size = (len(prompt.system.encode()) + len(prompt.user.encode())) // 3
        for name in (each.model, *each.panel):
            model = None if file is None else file.models.get(name)
            out = 150 if model is None else min(150, model.max_output_tokens)
            calls += 1
            tokens += size + out
            prices = None if model is None else model.prices
            money = None if money is None or prices is None else money + prices.micro_usd(size, out)
    return {
        "asked": len(requests), "models": sorted({name for each in requests for name in (each.model, *each.panel)}),
        "calls_a_day": round(calls * scale), "tokens_a_day": round(tokens * scale),
        "usd_a_day": None if money is None else round(money * scale / 1_000_000, SHARE_TOLD),
        "budget": requests[0].budget,
    }  # fmt: skip


def _of_topic(graded: Graded, topic: tuple[str, str], count: int, spans: list[int]) -> Iterator[Effect]:
    """What grading the last records gives, ``spans`` taking the log time in milliseconds that they are from."""
    from .journal import opened  # Whoever reads files does not wait for Kafka's client to load.

    with opened(*topic) as log:
        first: int | None = None
        for event, at in log.last(count, graded.refuse):
            first = at.time if first is None else min(first, at.time)
            yield from graded.feed(event, at)
        # What is open counts as a run too: it will be asked about when it is complete.
        yield from graded.finish()
        if first is not None:
            spans.append(log.now - first)


def _by_check(asked: Iterable[JudgeRequest]) -> dict[str, list[JudgeRequest]]:
    found: dict[str, list[JudgeRequest]] = defaultdict(list)
    for each in asked:
        found[f"{each.suite}/{each.check}"].append(each)
    return found


def calibrate(
    labels: Path,
    judges: Path | None,
    model: str,
    pass_at: float | None,
    repeats: int,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print how a judge agrees with people; exit code 1 if it is short of what a critical check needs.

    Raises:
        UserError: the labels, or the judges' file, cannot be used.
    """
    from ..judges import calibration

    items = _items(labels)
    probed: dict[str, list[float | None]] = {}
    of: dict[str, Any] = {}
    if judges is not None:
        probed, of = asyncio.run(_ask(items, judges, model, repeats))
    scored = [item for item in items if item["judge"] is not None]
    if len(scored) < 2:
        raise UserError(
            f"{labels}: {len(scored)} lines have both `label` and `judge`; name a file with --judges to ask it"
        )
    highest = max(max(item["label"], item["judge"]) for item in scored)
    threshold = pass_at if pass_at is not None else 3.5 if highest > 1 else 1.0
    pairs = [calibration.Pair(item["label"], item["judge"]) for item in scored]
    told = calibration.report(pairs, len(items) - len(scored), [item["repeats"] for item in items], threshold)
    if probed:
        told["probes"] = {name: _probe(found, items) for name, found in probed.items()}
        told["model"] = model
    if of:
        told |= of
        told = {"id": calibration.calibration_id(told), **told}
    if out is not None:
        out.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    typer.echo(json.dumps(told) if as_json else "\n".join(_told(told)))
    if told["short_of"]:
        leave(Exit.GATE_MISSED)


def lines_of(path: Path) -> Iterator[tuple[int, Any]]:
    """The JSON values of a file, one a line, each with the number of its line.

    Raises:
        UserError: it cannot be read, or a line is no JSON.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read ({type(error).__name__})") from error
    for n, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield n, from_json(line)
        except ValueError as error:
            raise UserError(f"{path.name}:{n}: is no JSON") from error


def _items(path: Path) -> list[dict[str, Any]]:
    """The labelled items, one a line: ``label``, and ``judge`` (a score), or ``input`` (what the judge is to be shown), or both."""
    items = []
    for n, value in lines_of(path):
        label = value.get("label") if isinstance(value, dict) else None
        judge = value.get("judge") if isinstance(value, dict) else None
        if isinstance(label, bool) or not isinstance(label, int | float):
            raise UserError(f"{path.name}:{n}: has no label, the score that a person gave")
        known = None if isinstance(judge, bool) or not isinstance(judge, int | float) else float(judge)
        items.append({"label": float(label), "judge": known, "input": value.get("input"), "repeats": []})
        items[-1]["scale"] = tuple(value.get("scale") or (0, 5))
    if not items:
        raise UserError(f'{path}: holds no labels; one a line, like {{"label": 4, "input": {{…}}}}')
    return items


async def _ask(
    items: Sequence[dict[str, Any]], judges: Path, model: str, repeats: int
) -> tuple[dict[str, list[float | None]], dict[str, Any]]:
    """Ask the judge about each item, ``repeats`` times without its cache, and about its twins; and which judge and rubrics that was."""
    from ..judges import calibration, work

    try:
        file = load(judges).model_copy(update={"cache_days": 0, "folder": None})
        made = work.made(file)
    except JudgesError as error:
        raise UserError(str(error)) from error
    if model not in file.models:
        raise UserError(f"{judges.name}: knows no judge {model!r}; it has {', '.join(file.models)}")
    probed: dict[str, list[float | None]] = defaultdict(list)
    reported: set[str] = set()
    try:
        for n, item in enumerate(items):
            if not isinstance(item["input"], dict):
                continue
            for again in range(repeats):
                answer = await _asked(made, item["input"], item["scale"], model, f"{n}/{again}")
                item["repeats"].append(answer.get("score"))
                reported.add(answer.get("judge", {}).get("reported", ""))
            item["judge"] = item["repeats"][0]
            shown = {**item["input"], "highest": f"{item['scale'][1]:g}"}
            for name, twin in calibration.probes(shown).items():
                probed[name].append((await _asked(made, twin, item["scale"], model, f"{n}/{name}")).get("score"))
    finally:
        await made.close_clients()
        made.close()
    rubrics = {calibration.rubric_of(item["input"], item["scale"]) for item in items if isinstance(item["input"], dict)}
    judge = {**calibration.judge_of(file.models[model]), "reported": sorted(reported - {""})}
    return dict(probed), {"judge": judge, "rubrics": sorted(rubrics)}


async def _asked(made: Any, shown: dict[str, str], scale: tuple[float, float], model: str, name: str) -> dict[str, Any]:
    return await asked_once(made, shown, scale, "binary" if scale[1] == 1 else "clamp", model, name)


async def asked_once(
    made: Any, shown: dict[str, str], scale: tuple[float, float], rule: Rule, model: str, name: str
) -> dict[str, Any]:
    """A judge's answer to a question of no run. Questions with different names are never taken for one another."""
    now = round(time.time() * 1000)
    request = JudgeRequest(
        id=name, run_id=name, suite="calibration", check="calibration", check_version="", grader="calibration",
        model=model, rule=rule, scale=scale, pass_at=None, input=shown, truncated=False,
        flags=(), inclusion_probability=1.0, budget={}, asked_at=now, due=now + 600_000, tenant=name,
    )  # fmt: skip
    answer: dict[str, Any] = await made.judge.answer(request)
    return answer


def _probe(found: Sequence[float | None], items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first = [item["judge"] for item in items if item["repeats"]]
    both = [(a, b) for a, b in zip(first, found, strict=True) if a is not None and b is not None]
    if not both:
        return {"asked": len(found), "scored": 0}
    shift = sum(b - a for a, b in both) / len(both)
    return {"asked": len(found), "scored": len(both), "shift": shift, "raised": sum(b > a for a, b in both)}


def _told(told: dict[str, Any]) -> list[str]:
    low, high = told["kappa_interval"]
    lines = [
        f"kappa {told['kappa']:.2f} ({low:.2f} to {high:.2f}), AC1 {told['ac1']:.2f}",
        f"agreement {told['agreement']:.0%}, bias {told['bias']:+.2f}",
        f"{told['labels']} labels, {told['good']} good and {told['bad']} bad; {told['unscored']} without a score",
    ]
    if told["flip_rate"] is not None:
        lines.append(f"answered otherwise when asked again: {told['flip_rate']:.0%}")
    for name, probe in told.get("probes", {}).items():
        if probe["scored"]:
            lines.append(f"{name}: {probe['raised']} of {probe['scored']} raised, {probe['shift']:+.2f} on average")
    lines += [f"for a critical check it lacks {lack}" for lack in told["short_of"]] or [
        "good enough for a critical check"
    ]
    return lines
