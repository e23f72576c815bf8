"""Runs a command of the command line in this process."""

from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from stream_graders.cli.main import app


class Done(NamedTuple):
    """What came of a command."""

    code: int
    out: str
    err: str


def command(*words: str | Path) -> Done:
    """Run it; an exception that nobody meant to show is a failure of the test."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)
