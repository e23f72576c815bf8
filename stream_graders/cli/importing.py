"""``stream-graders import``: a source's own file as a suite of ours."""

import re
from pathlib import Path
from typing import Any

import typer
import yaml

from ..catalogue import grader_named
from ..config.files import FORMS, source_of
from ..config.lines import YamlError, YamlFile
from ..questions import AskingGrader
from ..sources.form import SourceError
from .errors import UserError

JUDGE = {"sample": 1, "budget": {"calls": 100}}
"""What a suite says of its judges that was made from a file that does not: as in a test, every run is judged, and little is spent."""


def import_file(file: Path, form: str, out: Path | None) -> None:
    """Print a suite that gives the verdicts of the file, or write it.

    Raises:
        UserError: the file is not of the form, or the suite cannot be written.
    """
    if form not in FORMS:
        raise UserError(f"--format {form}: is none that is read; take {', '.join(FORMS)}")
    if out is not None and out.exists():
        raise UserError(f"{out}: is there already; name another file, or take it away first")
    try:
        whole = YamlFile.read(file)
    except YamlError as fault:
        raise UserError(f"{file.name}:{fault.line}: {fault}") from fault
    try:
        source = source_of(form, file, whole.value)
    except SourceError as fault:
        raise UserError(f"{file.name}:{whole.place(fault.loc).line}: {fault}") from fault
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", file.name.partition(".")[0]).strip("-._") or form
    suite: dict[str, Any] = {"suite": name}
    if source.scoring:
        suite["scoring"] = source.scoring
    if source.ungraded:
        suite["ungraded_items"] = [told for _, told in source.ungraded]
    kinds = [grader_named(check.get("grader", "")) for check in source.checks]
    if any(kind is not None and issubclass(kind, AskingGrader) and kind.costs for kind in kinds):
        suite["judge"] = JUDGE
    suite["checks"] = source.checks
    text = f"# Made from {file.name}, a file of {form}. Change it as you like; the file is not read again.\n"
    text += yaml.safe_dump(suite, sort_keys=False, allow_unicode=True, width=120)
    for loc, told in source.ungraded:
        typer.echo(f"{file.name}:{whole.place(loc).line}: is not graded: {told}", err=True)
    for loc, told in source.warnings:
        typer.echo(f"{file.name}:{whole.place(loc).line}: warning: {told}", err=True)
    if out is None:
        typer.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror}") from error
    typer.echo(f"{out}: {len(source.checks)} checks")
