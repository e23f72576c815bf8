"""Exit codes, and the one way in which a command tells its user that something is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, NoReturn

import typer

if TYPE_CHECKING:
    from ..security import Ear


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


def unreachable(bootstrap: str, error: Exception, ear: "Ear") -> UserError:
    """Kafka does not answer, or would not answer this client."""
    refusal = ear.refusal()
    return UserError(
        f"{bootstrap}: {refusal or f'Kafka does not answer ({error}); check --bootstrap and SG_SECURITY_PROTOCOL'}"
    )


@contextmanager
def told() -> Iterator[None]:
    """Turn what the user can mend into lines on standard error and exit code 2, without a traceback."""
    from ..config import SuiteError
    from ..security import SecurityError

    try:
        yield
    except (UserError, SuiteError, SecurityError) as error:
        typer.echo(str(error), err=True)
        leave(Exit.BAD_INPUT)
    except BrokenPipeError:
        leave(Exit.OK)
