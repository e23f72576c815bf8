"""``stream-graders judge``: the judge worker."""

import asyncio
import logging
import signal
from pathlib import Path
from typing import Any

import typer
from aiokafka.errors import KafkaError

from ..metrics.server import Server
from ..security import JUDGE_KEY, Ear, from_environment, judge_key
from .errors import Exit, UserError, leave, unreachable
from .sharing import names_of

log = logging.getLogger("stream_graders.judges")

REQUESTS, JOURNAL = "agent.judge.requests.v1", "agent.events.v1"


def run_judge(bootstrap: str, judges: Path, app: str, topics: list[str], metrics_port: int, metrics_host: str) -> None:
    """Answer requests until told to stop, and leave with an exit code: 0 stopped, 2 settings, 3 fault (start again)."""
    try:
        from ..judges import settings, work
    except ImportError as error:
        raise UserError(f"{error.name} is not installed; pip install 'stream-graders[judges]'") from error
    key = judge_key()
    if key is None:
        raise UserError(
            f"{' or '.join(JUDGE_KEY)}: not set; workers believe only answers that are signed with their key"
        )
    names = names_of(topics)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    log.setLevel(logging.INFO)
    try:
        made = work.made(settings.load(judges))
    except settings.JudgesError as error:
        raise UserError(str(error)) from error
    server = None
    try:
        if metrics_port:
            server = Server(made.metrics, (metrics_host, metrics_port), lambda: True, lambda: True)
    except OSError as error:
        raise UserError(f"metrics port {metrics_port}: {error.strerror}; give another with --metrics-port") from error
    kafka = {"bootstrap_servers": bootstrap, **from_environment().client()}
    group = f"{app}-judges"
    places = {"requests": names.get(REQUESTS, REQUESTS), "journal": names.get(JOURNAL, JOURNAL)}
    ear = Ear()
    try:
        asyncio.run(_until_stopped(made, key, kafka, group, places))
    except (KafkaError, OSError) as error:
        typer.echo(str(unreachable(bootstrap, error, ear)), err=True)
        leave(Exit.OUR_FAULT)
    finally:
        if server is not None:
            server.close()
        made.close()


async def _until_stopped(made: Any, key: bytes, kafka: dict[str, Any], group: str, places: dict[str, str]) -> None:
    from ..judges.loop import Loop

    loop = Loop(made.judge, made.metrics, key, kafka, group=group, **places)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, loop.stop)
    try:
        await loop.run()
    finally:
        await made.close_clients()
