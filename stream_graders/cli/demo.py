"""``stream-graders demo``: the demo, and the small model that judges in it if it is asked for."""

from .errors import Exit, UserError, leave


def run_demo(seconds: int, seed: int, rate: float, judge: str) -> None:
    """Play the demo and leave with its exit code.

    Raises:
        UserError: there is no such judge, or it is not installed.
    """
    from ..demo.play import play

    if not judge:
        leave(play(seconds, seed, rate))
    if judge != "local":
        raise UserError(f"demo: there is no judge {judge!r}; the small model of this machine is --judge local")
    from ..demo.processes import Model
    from ..judges.local import NAME, LocalModel, LocalModelError

    try:
        local = LocalModel()
    except LocalModelError as error:
        raise UserError(f"demo: {error}") from error
    try:
        leave(play(seconds, seed, rate, Model(local, local.url, NAME)))
    except LocalModelError as error:
        import typer

        typer.echo(f"stream-graders demo: {error}", err=True)
        leave(Exit.OUR_FAULT)
