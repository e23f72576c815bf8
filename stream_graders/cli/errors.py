"""Exit codes, and the one way in which a command tells its user that something is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import typer


class Exit(IntEnum):
    """What a command's exit code says (design 10); the worker's own codes are in `stream_graders.stream.guards`."""

    OK = 0
    GATE_MISSED = 1
    BAD_INPUT = 2
    OUR_FAULT = 3
    NOTHING_GRADED = 4


class UserError(Exception):
    """Something the user can mend: one line a problem, each with its place and the next step."""


def leave(code: int) -> NoReturn:
    """End the command with this code."""
    raise typer.Exit(int(code))


@contextmanager
def told() -> Iterator[None]:
    """Turn what the user can mend into lines on standard error and exit code 2, without a traceback."""
    from ..config import SuiteError

    try:
        yield
    except (UserError, SuiteError) as error:
        typer.echo(str(error), err=True)
        leave(Exit.BAD_INPUT)
    except BrokenPipeError:
        leave(Exit.OK)
