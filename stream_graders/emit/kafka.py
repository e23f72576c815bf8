"""The sink that agents use: the journal, by way of aiokafka."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any, Self

from ..security import UNSECURED, Ear, Security, SecurityError
from .encoding import Record
from .sinks import THREAD, Fault

TOPIC = "agent.events.v1"
LINGER_MS = 20
REQUEST_TIMEOUT_MS = 20_000
"""Milliseconds that an answer, or a topic that nobody made yet, is waited for before it counts as a fault."""

_NEXT_STEPS = {
    "UnknownTopicOrPartitionError": "the topic is not there; create it: stream-graders topics apply",
    "TopicAuthorizationFailedError": "this client may not write to the topic; grant it WRITE",
}
_FINAL = frozenset({"MessageSizeTooLargeError", "RecordListTooLargeError", "InvalidTopicError"})


class KafkaSink:
    """Delivers to a topic: idempotent, acknowledged by all replicas, keyed by run id and so partitioned by murmur2.

    ``client`` is handed to aiokafka's producer as it is, and wins over what ``security`` says.
    """

    def __init__(self, bootstrap: str, topic: str = TOPIC, *, security: Security = UNSECURED, **client: Any) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self._security = security
        self._client = client
        self._producer: Any = None

    def describe(self) -> str:
        return f"{self.topic} on {self.bootstrap}"

    async def send(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        sent: list[asyncio.Future[Any]] = []
        stopped: Fault | None = None
        try:
            producer = await self._connected()
            for record in records:
                sending = producer.send(self.topic, record.value, key=record.key)
                sent.append(await sending)  # One by one: what was sent before a fault is still waited for.
        except Exception as error:  # noqa: BLE001  (whatever the client raises, the rest is not delivered)
            stopped = _fault(error)
        outcomes = await asyncio.gather(*sent, return_exceptions=True)
        faults = [_fault(outcome) if isinstance(outcome, BaseException) else None for outcome in outcomes]
        faults += [stopped] * (len(records) - len(faults))
        if any(faults):
            # An idempotent producer may not go on after a fault: its numbers no longer fit what the broker has.
            await self.close()
        return faults

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(producer.stop(), timeout=2)

    def renewed(self) -> Self:
        return type(self)(self.bootstrap, self.topic, security=self._security, **self._client)

    async def _connected(self) -> Any:
        if self._producer is None:
            from aiokafka import AIOKafkaProducer  # The agent does not wait for this import: the sender's thread does.

            _quieten()
            producer = AIOKafkaProducer(
                bootstrap_servers=self.bootstrap,
                enable_idempotence=True,
                linger_ms=LINGER_MS,
                request_timeout_ms=REQUEST_TIMEOUT_MS,
                **{**self._security.client(), **self._client},
            )
            _FILTER.ear = Ear()
            try:
                await producer.start()
            except BaseException as error:
                with contextlib.suppress(Exception):
                    await producer.stop()
                if refusal := _FILTER.ear.refusal():
                    raise RefusedError(refusal) from error
                raise
            self._producer = producer
        return self._producer


class RefusedError(Exception):
    """Kafka would not have this client."""


class _FromElsewhere(logging.Filter):
    """Lets through what other threads log: while a broker is away aiokafka says so a hundred times a second."""

    def __init__(self) -> None:
        super().__init__()
        self.ear = Ear()

    def filter(self, record: logging.LogRecord) -> bool:
        if record.threadName != THREAD:
            return True
        if record.levelno >= self.ear.level:
            self.ear.emit(record)
        return False


_FILTER = _FromElsewhere()


def _quieten() -> None:
    for name in list(logging.root.manager.loggerDict):
        if name.startswith("aiokafka"):
            logging.getLogger(name).addFilter(_FILTER)


def _fault(error: BaseException) -> Fault:
    kind = type(error).__name__
    if isinstance(error, RefusedError | SecurityError):
        return Fault(str(error))
    return Fault(_NEXT_STEPS.get(kind, f"{kind}: {error}"), final=kind in _FINAL)
