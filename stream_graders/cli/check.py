"""``stream-graders check``: what is wrong with suite files."""

from pathlib import Path

import typer

from ..config import Problem, read, suite_files
from ..events import compact
from .errors import Exit, leave


def check_files(files: list[Path], *, as_json: bool) -> None:
    """Print every problem; exit code 2 if one of them keeps a suite from being used."""
    paths = suite_files(files)
    bad = not paths
    if bad:
        typer.echo(
            f"{', '.join(map(str, files))}: no suite file there; name a .yaml file or a folder of them", err=True
        )
    for path in paths:
        suite, problems = read(path)
        for problem in problems:
            _print(problem, as_json=as_json)
        errors = [problem for problem in problems if not problem.is_warning]
        bad = bad or bool(errors)
        if suite is not None and not errors and not as_json:
            typer.echo(f"{path.name}: suite {suite.name} is good: {len(suite.checks)} checks, version {suite.version}")
    if bad:
        leave(Exit.BAD_INPUT)


def _print(problem: Problem, *, as_json: bool) -> None:
    if as_json:
        kind = "warning" if problem.is_warning else "error"
        fields = {"file": problem.file, "line": problem.line, "where": problem.where, "message": problem.message}
        typer.echo(compact({"kind": kind, **fields}))
    else:
        typer.echo(str(problem), err=not problem.is_warning)
