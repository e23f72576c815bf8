"""``stream-graders sink``."""

import asyncio
import logging
import os
from pathlib import Path

import typer
from aiokafka.errors import KafkaError

from ..security import from_environment, listening
from ..settings import Settings
from ..sinks.forms import Form, SecretError, alertmanager, slack, webhook
from ..sinks.process import Sink, SinkSettings
from .errors import Exit, UserError, leave, unreachable
from .sharing import names_of

VIOLATIONS = "agent.violations.v1"
KEY = "SG_SINK_SECRET"
"""The variable that holds what a webhook is signed with; with _FILE behind it, the file that does."""


def run_sink(
    bootstrap: str,
    to: str,
    url: str,
    app: str,
    topics: list[str],
    metrics_port: int,
    metrics_host: str,
    *,
    excerpts: bool,
) -> None:
    """Post violations until told to stop."""
    topic = Settings(bootstrap, names=names_of(topics)).topic(VIOLATIONS)
    security = from_environment()
    settings = SinkSettings(
        bootstrap, topic, f"{app}-sink-{to}", _form(to, url, excerpts=excerpts), metrics_port, metrics_host, security
    )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger("stream_graders.sink").setLevel(logging.INFO)
    with listening() as ear:
        try:
            asyncio.run(Sink(settings).run())
        except LookupError as error:
            raise UserError(
                f"{bootstrap} has no topic {topic}; check --topic, or run stream-graders topics apply"
            ) from error
        except KafkaError as error:
            told = unreachable(bootstrap, error, ear)
            if ear.refusal():
                raise told from error
            typer.echo(str(told), err=True)  # It is worth another start, and a wrong setting is not.
            leave(Exit.OUR_FAULT)
        except OSError as error:
            raise UserError(
                f"metrics port {metrics_port}: {error.strerror}; give another with --metrics-port"
            ) from error


def _form(to: str, url: str, *, excerpts: bool) -> Form:
    if not url.startswith(("http://", "https://")):
        # It is not repeated: that of a Slack channel is a secret.
        raise UserError(
            "--url: name the receiver's address, http:// or https://; SG_SINK_URL keeps it out of the process list"
        )
    if to == "alertmanager":
        return alertmanager(url, excerpts=excerpts)
    if to == "slack":
        return slack(url, excerpts=excerpts)
    if to != "webhook":
        raise UserError(f"--to {to}: is none of alertmanager, webhook, slack")
    secret = os.environ.get(KEY, "")
    if file := os.environ.get(f"{KEY}_FILE"):
        try:
            secret = Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise UserError(f"{KEY}_FILE: {file}: {error.strerror}; name another file") from error
    try:
        return webhook(url, secret, excerpts=excerpts)
    except SecretError as error:
        raise UserError(f"{KEY}: {error}") from error
