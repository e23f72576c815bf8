"""Wires a worker into Faust and runs it until it is told to stop. The only place that builds the application."""

import asyncio
import gc
import logging
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import faust
from aiokafka.errors import KafkaError
from faust.types import TP

from ..security import Ear, Security
from ..session import StateError
from ..settings import Settings
from ..suites import Fleet
from . import batching, guards, slots, start, ticks
from .guards import WorkerExit
from .observer import Observer
from .rights import RightsError
from .table import StateTable, Tables
from .topics import TopicError
from .worker import Worker

log = logging.getLogger("stream_graders.worker")

REQUEST_BYTES = 8 * 1024 * 1024
"""The producer's own limit, above every topic's."""
METADATA_MS = 30_000
"""After how long at the latest a worker notices that the journal has grown."""
BUFFERED = 32
"""Batches that may wait, each of at most one partition's fetch (1 MiB): more than a second of work, which is how long Faust sleeps when they are
full, and few enough to bound memory whatever the lag."""


class App(faust.App):
    """A Faust application that reads one journal in batches."""

    settings: Settings
    journal: str
    dead_letters: str

    def _new_transport(self) -> Any:
        return batching.Transport(self.conf.broker_consumer, self)

    def _new_producer_transport(self) -> Any:
        return batching.Transport(self.conf.broker_producer, self)

    async def on_stop(self) -> None:
        guards.limit_stop()
        await super().on_stop()

    def owned(self) -> list[int]:
        """The journal's partitions that this worker owns now."""
        return sorted(tp.partition for tp in self.consumer.assignment() if tp.topic == self.journal)

    async def write_down_loss(self, tp: TP, committed: int, first: int) -> None:
        """Write down that records were removed before they were graded, where dead letters go."""
        told = f"{tp.topic}/{tp.partition}: records {committed} to {first - 1} were removed ungraded; loss accepted"
        log.warning(told)
        headers = [("dlq.error.reason", b"loss_accepted"), ("dlq.error.message", told.encode())]
        item = (None, None, headers)
        producer: Any = self.producer
        futures = await batching.send(producer._producer, self.dead_letters, {tp.partition: [item]})
        for future in futures:
            await future

    async def check_slot(self) -> None:
        """End the process if another worker took its place in the group."""
        settings = self.settings
        if await slots.is_taken(settings):
            told = f"another worker runs as slot {settings.slot!r} of {settings.app}: give each its own --slot"
            guards.end(WorkerExit.SETTINGS, told)

    async def check_partitions(self, assigned: set[TP]) -> None:
        """End the process if it was not given the states with the runs: the journal is gone, or has grown."""
        owned = {tp.partition for tp in assigned if tp.topic == self.journal}
        if owned == {tp.partition for tp in assigned if tp.topic in self.tables.changelog_topics}:
            return
        try:
            await start.partitions(self.settings)
        except (start.TopicMisfitError, TopicError) as error:
            guards.end(WorkerExit.DATA, str(error))
        except (RightsError, KafkaError, OSError) as error:
            log.warning("the topics could not be looked at: %s", error)
        guards.end(WorkerExit.FAULT, "the group shared out the journal without the states of its runs; start it again")


def run(settings: Settings, fleet: Fleet) -> int:
    """Run a worker until SIGTERM or SIGINT; its exit code.

    Raises:
        SecurityError: a file or function of the security settings cannot be used.
    """
    quiet = _set_up_logging()
    try:
        with quiet.muted():
            partitions = asyncio.run(start.partitions(settings))
    except (start.TopicMisfitError, TopicError) as error:
        for line in str(error).splitlines():
            log.error(line)
        return WorkerExit.DATA
    except RightsError as error:
        for line in str(error).splitlines():
            log.error(line)
        return WorkerExit.SETTINGS
    except (KafkaError, OSError) as error:
        if refusal := quiet.ear.refusal():
            log.error("%s: %s", settings.bootstrap, refusal)
            return WorkerExit.SETTINGS
        why = quiet.ear.said or error
        log.error("%s: Kafka does not answer (%s); check the address and start again", settings.bootstrap, why)
        return WorkerExit.FAULT
    try:
        app, observer = build(settings, fleet, partitions)
    except OSError as error:
        log.error("metrics port %d: %s; give another with --metrics-port", settings.metrics_port, error.strerror)
        return WorkerExit.SETTINGS
    # Sessions are many, long-lived and without cycles: looking through them at every 700 new objects, as Python does,
    # costs a third of the worker's time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    process = faust.Worker(app, loglevel="info", quiet=True, override_logging=False, redirect_stdouts=False)
    process.spinner = None
    try:
        process.execute_from_commandline()
    except SystemExit as left:
        return WorkerExit.STOPPED if left.code in (0, None) else WorkerExit.FAULT
    finally:
        observer.close()


def build(settings: Settings, fleet: Fleet, partitions: int) -> tuple[App, Observer]:
    """The application, with a worker in it, and who observes that.

    Raises:
        OSError: the metrics port is taken.
    """
    topics = start.physical(settings)
    folder = Path(tempfile.gettempdir()) / "stream-graders" / f"{settings.app}-{settings.slot}"
    folder.mkdir(parents=True, exist_ok=True)
    app = App(
        settings.app,
        broker=[f"kafka://{address.strip()}" for address in settings.bootstrap.split(",")],
        broker_credentials=credentials(settings.security),
        store="memory://",
        datadir=folder,
        Table=StateTable,
        TableManager=Tables,
        # Any exception ends the process: with Faust's own supervisor an agent that failed skips its batch.
        agent_supervisor="mode.CrashingSupervisor",
        topic_partitions=partitions,
        topic_allow_declare=False,
        web_enabled=False,
        worker_redirect_stdouts=False,
        key_serializer="raw",
        value_serializer="raw",
        producer_max_batch_size=batching.MAX_BATCH_BYTES,
        producer_max_request_size=REQUEST_BYTES,
        broker_commit_interval=0.5,
        broker_session_timeout=settings.session_timeout,
        broker_heartbeat_interval=1.0,
        broker_rebalance_timeout=10.0,
        broker_request_timeout=20.0,
        consumer_auto_offset_reset="earliest",
        consumer_metadata_max_age_ms=METADATA_MS,
        consumer_group_instance_id=slots.member_name(settings.app, settings.slot),
        stream_buffer_maxsize=BUFFERED,
        table_standby_replicas=0,
    )
    app.settings, app.journal, app.dead_letters = settings, topics["journal"], topics["dead_letters"]
    schema = batching.BatchSchema()
    events = app.topic(app.journal, schema=schema, partitions=partitions)
    table: Any = app.Table(
        start.TABLE, schema=schema, key_type=bytes, value_type=bytes, partitions=partitions, recovery_buffer_size=8
    )
    worker = Worker(app, table, fleet, topics, partitions)
    observer = Observer(settings, app, worker, table)

    @app.agent(events)
    async def grade(stream: Any) -> None:
        try:
            await worker.run(stream, observer.observe)
        except StateError as error:
            guards.end(WorkerExit.DATA, str(error))
        except Exception as error:
            log.exception("grading failed")
            guards.end(WorkerExit.FAULT, f"{type(error).__name__}: {error}; start it again")

    async def pass_time() -> None:
        await ticks.tick(app, worker, table)

    app.task(worker.stall.beat)
    app.task(pass_time)
    app.task(observer.watch)

    return app, observer


def credentials(security: Security) -> Any:
    """Faust's form of the security settings: it has a class for each way, and makes of it again what aiokafka takes."""
    client = security.client()
    if not client:
        return None
    context, mechanism = client["ssl_context"], client.get("sasl_mechanism")
    if mechanism is None:
        return faust.SSLCredentials(context)
    if "sasl_oauth_token_provider" in client:
        return faust.OAuthCredentials(oauth_cb=client["sasl_oauth_token_provider"], ssl_context=context)
    user, password = client["sasl_plain_username"], client["sasl_plain_password"]
    return faust.SASLCredentials(username=user, password=password, mechanism=mechanism, ssl_context=context)


class _Once(logging.Filter):
    """Lets a message of the Kafka client through once in half a minute: it says some a hundred times a second."""

    def __init__(self) -> None:
        super().__init__()
        self._told: dict[str, float] = {}
        self.ear = Ear()
        """Has heard what the Kafka client said while it was muted."""
        self._muted = False

    @contextmanager
    def muted(self) -> Iterator[None]:
        """Keep what the Kafka client says for somebody who tells it on in one line."""
        self._muted = True
        try:
            yield
        finally:
            self._muted = False

    def filter(self, record: logging.LogRecord) -> bool:
        if self._muted and record.name.startswith("aiokafka"):
            self.ear.emit(record)
            return False
        key, now = f"{record.name}{record.msg}", time.monotonic()
        if now - self._told.get(key, -60.0) < 30.0:
            return False
        self._told[key] = now
        return True


def _set_up_logging() -> _Once:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    quiet = _Once()
    handler.addFilter(quiet)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    log.setLevel(logging.INFO)
    return quiet
