"""``stream-graders worker``."""

import socket
from pathlib import Path

from ..config import load_fleet
from ..security import from_environment
from ..settings import Settings
from ..stream.app import run
from .errors import leave
from .sharing import names_of, with_key


def run_worker(
    bootstrap: str,
    suites: list[Path],
    app: str,
    slot: str,
    topics: list[str],
    metrics_port: int,
    metrics_host: str,
    *,
    accept_loss: bool,
) -> None:
    """Run a worker until it is told to stop, and leave with its exit code."""
    fleet = with_key(load_fleet(suites))
    settings = Settings(
        bootstrap=bootstrap,
        app=app,
        slot=slot or socket.gethostname(),
        names=names_of(topics),
        metrics_port=metrics_port,
        metrics_host=metrics_host,
        accept_loss=accept_loss,
        security=from_environment(),
    )
    leave(run(settings, fleet))
