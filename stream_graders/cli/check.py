"""``stream-graders check``: what is wrong with suite files, and what they say of runs that you have."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import typer

from ..config import Problem, load_fleet, read, suite_files
from ..config.files import whole
from ..events import compact
from ..gradebook import Publish
from ..judges.calibration import Calibration, calibrations_of, rubric_of
from ..judges.settings import JudgesError, JudgesFile, load
from ..questions import AskingGrader, JudgeGrader
from ..session import Effect
from ..suites import Judging, Suite
from ..verdicts import Outcome, Verdict
from .errors import Exit, UserError, leave
from .places import LAST, topic_of
from .report import counted
from .runs import Graded, records
from .sharing import tell_unsigned, with_key

EXAMPLES = 3
"""Runs that are shown of each outcome of a check."""


def check_files(
    files: list[Path],
    against: list[Path],
    bootstrap: str | None,
    last: int | None,
    judges: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print every problem, and what the checks say of runs; exit code 2 if a suite cannot be used."""
    topic = topic_of(against, bootstrap, last)
    known = None if judges is None else _judges(judges)
    paths = suite_files(files)
    bad = not paths
    if bad:
        typer.echo(
            f"{', '.join(map(str, files))}: no suite file there; name a .yaml file or a folder of them", err=True
        )
    for path in paths:
        suite, problems = read(path)
        if suite is not None and known is not None:
            problems += _unjudged(path, suite, *known)
        for problem in problems:
            _print(problem, as_json=as_json)
        errors = [problem for problem in problems if not problem.is_warning]
        bad = bad or bool(errors)
        if suite is not None and not errors and not as_json:
            typer.echo(f"{path.name}: suite {suite.name} is good: {len(suite.checks)} checks, version {suite.version}")
    if bad:
        leave(Exit.BAD_INPUT)
    if against:
        _try(paths, against, topic, last or LAST, as_json=as_json)


def _judges(path: Path) -> tuple[JudgesFile, dict[str, list[Calibration]]]:
    try:
        file = load(path)
        return file, calibrations_of(file)
    except JudgesError as error:
        raise UserError(str(error)) from error


def _unjudged(
    path: Path, suite: Suite, file: JudgesFile, calibrations: dict[str, list[Calibration]]
) -> Iterator[Problem]:
    """What a suite asks of judges that the judges' file does not hold: a judge of that name, and, for a critical check, a calibration."""
    places = whole(path, _ignored, _ignored)
    for n, check in enumerate(suite.checks):
        grader = check.grader
        if not isinstance(grader, AskingGrader):
            continue

        def problem(message: str, *, is_warning: bool = False, n: int = n) -> Problem:
            place = places.place(("checks", n))
            return Problem(place.file or path.name, place.line, f"checks[{n}]", message, is_warning)

        judging = check.judge or Judging()
        names = grader.judges() or (judging.model, *judging.panel)
        for name in (*names, *([judging.escalate] if judging.escalate and grader.costs else [])):
            there = file.models if grader.costs else file.probes
            if name not in there:
                what = "judge" if grader.costs else "target to look at"
                yield problem(f"the judges' file knows no {what} {name!r}; it has {', '.join(there) or 'none'}")
            elif check.severity == "critical" and isinstance(grader, JudgeGrader):
                rubric = rubric_of(grader.asked(), grader.answers_on or grader.scale)
                lack = _lack(name, file, calibrations[name], rubric)
                if lack is not None:
                    yield problem(f"is critical, and its judge {name} {lack}", is_warning=True)


def _lack(name: str, file: JudgesFile, calibrations: list[Calibration], rubric: str) -> str | None:
    """What a judge lacks to back a critical check; None if a calibration says that it may."""
    about = [each for each in calibrations if rubric in each.rubrics]
    valid = [each for each in about if not each.changed(file.models[name])]
    if any(not each.short_of for each in valid):
        return None
    if valid:
        return f"lacks {valid[0].short_of[0]} ({valid[0].path})"
    if about:
        changed = " and ".join(about[0].changed(file.models[name]))
        return f"is not as it was calibrated in {about[0].path}: {changed} changed; calibrate it again"
    return "is not calibrated for what this asks: see `stream-graders judge calibrate --help`"


def _ignored(*_: object) -> None:
    """What is wrong with the file was told."""


def _print(problem: Problem, *, as_json: bool) -> None:
    if as_json:
        kind = "warning" if problem.is_warning else "error"
        fields = {"file": problem.file, "line": problem.line, "where": problem.where, "message": problem.message}
        typer.echo(compact({"kind": kind, **fields}))
    else:
        typer.echo(str(problem), err=not problem.is_warning)


def _try(suites: list[Path], places: list[Path], topic: tuple[str, str] | None, last: int, *, as_json: bool) -> None:
    """Print how often each check says what of these runs, with a few runs of each."""
    graded = Graded(with_key(load_fleet(suites), required=False))
    cut = set[str]()
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    shown: dict[tuple[str, str], dict[str, list[Verdict]]] = defaultdict(lambda: defaultdict(list))
    for effect in records(graded, places) if topic is None else _of_topic(graded, topic, last, cut):
        if isinstance(effect, Publish) and isinstance(effect.record, Verdict) and effect.record.revision == 1:
            verdict = effect.record
            key = (verdict.suite, verdict.check)
            counts[key][verdict.outcome] += 1
            if len(shown[key][verdict.outcome]) < EXAMPLES:
                shown[key][verdict.outcome].append(verdict)
    for (suite, check), outcomes in counts.items():
        examples = shown[suite, check]
        if as_json:
            told = {
                of: [{"run_id": v.run_id, "reason": v.reason, "evidence": v.evidence} for v in vs]
                for of, vs in examples.items()
            }
            typer.echo(compact({"kind": "check", "suite": suite, "check": check, "counts": outcomes, "examples": told}))
            continue
        typer.echo(f"{suite}: {check}: {counted(outcomes).strip()}")
        for outcome in (*Outcome,):
            for verdict in examples.get(outcome, ()):
                typer.echo(f"    {outcome}: {verdict.run_id}: {verdict.evidence}")
    left_out = [
        (sum(session.phase in ("waiting", "open") for session in graded.sessions.values()), "runs go on: not counted"),
        (len(cut), "runs began before the records that were read: left out"),
        (graded.ledger.unselected, "events are of runs that no suite selects"),
    ]
    if not counts:
        typer.echo("no run was graded: there is none that a suite selects and that has ended", err=True)
    for count, what in left_out:
        if count:
            typer.echo(f"{count} {what}", err=True)
    tell_unsigned(graded)
    if graded.refused:
        typer.echo(f"{graded.refused.total()} records cannot be read, the first: {graded.first_refusal}", err=True)
    if not counts:
        leave(Exit.NOTHING_GRADED)


def _of_topic(graded: Graded, topic: tuple[str, str], last: int, cut: set[str]) -> Iterator[Effect]:
    from .journal import opened  # Whoever reads files does not wait for Kafka's client to load.

    with opened(*topic) as log:
        yield from log.graded(last, graded)
        cut.update(log.cut)
