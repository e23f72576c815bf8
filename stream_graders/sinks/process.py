"""Reads the violations of a topic and posts what people are to hear of them, until it is told to stop.

A record's offset is committed once what it gave rise to was posted, so nothing is lost; after a crash a notice may be posted
again, with the same id. At a start the hour before the committed offset is read again, without posting: it holds what the
groups were.
"""

import asyncio
import email.utils
import logging
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError
from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics

from ..metrics import PREFIX, Server
from ..security import UNSECURED, Security
from ..verdicts import Violation
from .forms import Form, Request
from .violations import QUIET_MS, SUMMARY_MS, Groups, Notice

log = logging.getLogger("stream_graders.sink")

PATIENCE = 10.0
"""Seconds that a receiver may take to answer."""
PAUSES = (1.0, 60.0)
"""Seconds until a receiver that is away is tried again: at first, and at the most."""
LOOK = 1.0
"""Seconds after which time passes although no record comes."""
_DECODER = msgspec.json.Decoder(Violation)


@dataclass(frozen=True)
class SinkSettings:
    """What a sink must be told."""

    bootstrap: str
    topic: str
    group: str
    """Under which offsets are committed: one for each receiver."""
    form: Form
    metrics_port: int = 9810
    """Where /metrics, /healthz and /readyz are served; 0 for none."""
    metrics_host: str = "127.0.0.1"
    security: Security = UNSECURED


class SinkMetrics:
    """What a sink counts."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # the library leaves this one out
        self.registry = CollectorRegistry()
        known: dict[str, Any] = {"namespace": PREFIX, "registry": self.registry}
        self.read = Counter("sink_violations", "Violations read, what was told before a start left out.", **known)
        self.notices = Counter("sink_notices", "What people were told.", ("kind",), **known)
        self.posts = Counter("sink_posts", "Posts to the receiver: posted, refused, failed.", ("outcome",), **known)
        self.unread = Counter("sink_unread_records", "Records that are no violations.", **known)
        self.lost = Counter("sink_lost_records", "Records that retention removed before they were read.", **known)
        self.groups = Gauge("sink_groups", "Groups of violations that are going on.", **known)
        self.away = Gauge(
            "sink_unreachable_since_timestamp_seconds", "Since when the receiver takes nothing; 0 if it does.", **known
        )
        for outcome in ("posted", "refused", "failed"):
            self.posts.labels(outcome)


class Sink:
    """Violations on their way from Kafka to one receiver."""

    def __init__(self, settings: SinkSettings) -> None:
        self.settings = settings
        self.metrics = SinkMetrics()
        self._form = settings.form
        self._groups = Groups()
        self._first: dict[TopicPartition, int] = {}
        """Offsets before which a record was told of before."""
        self._is_ready = False
        self._is_away = False
        self._beat = time.monotonic()
        self._repeated = 0.0

    async def run(self) -> None:
        """Post until SIGTERM or SIGINT.

        Raises:
            KafkaError: Kafka cannot be reached or refuses.
            LookupError: there is no such topic.
            OSError: the metrics port is taken.
        """
        settings = self.settings
        server = None
        if settings.metrics_port:
            address = (settings.metrics_host, settings.metrics_port)
            server = Server(self.metrics, address, self._is_alive, lambda: self._is_ready)
        consumer = AIOKafkaConsumer(
            bootstrap_servers=settings.bootstrap,
            group_id=settings.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            **settings.security.client(),
        )
        reading = asyncio.current_task()
        assert reading is not None
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, reading.cancel)
        try:
            await consumer.start()
            await self._place(consumer)
            async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=PATIENCE)) as http:
                while True:
                    await self._round(consumer, http)
        except asyncio.CancelledError:
            log.info("stopped")
        finally:
            await consumer.stop()
            if server is not None:
                server.close()

    async def _place(self, consumer: AIOKafkaConsumer) -> None:
        """Begin an hour before what was committed; with nothing committed, at the end: who starts a sink knows the past."""
        topic = self.settings.topic
        # Not `partitions_for_topic`: it knows the topics that were asked for before, and asking for one may create it.
        partitions = (await consumer._client.fetch_all_metadata()).partitions_for_topic(topic)
        if not partitions:
            raise LookupError(topic)
        places = [TopicPartition(topic, partition) for partition in sorted(partitions)]
        consumer.assign(places)
        begins, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
        hour = await consumer.offsets_for_times({place: int(time.time() * 1000) - QUIET_MS for place in places})
        for place in places:
            committed = await consumer.committed(place)
            first = ends[place] if committed is None else committed
            if not begins[place] <= first <= ends[place]:
                log.warning("%s/%s: committed %s, the log holds %s to %s", *place, first, begins[place], ends[place])
                self.metrics.lost.inc(max(0, begins[place] - first))
                first = begins[place]
            self._first[place] = first
            recent = hour[place]
            consumer.seek(place, first if recent is None else max(begins[place], min(first, recent.offset)))
        await self._recall(consumer)
        await consumer.commit(self._first)

    async def _recall(self, consumer: AIOKafkaConsumer) -> None:
        """Read what was told of before, of every partition, and only then what is new: a group's runs lie on all of them."""
        told, waiting = (
            list[Any](),
            {place for place in self._first if await consumer.position(place) < self._first[place]},
        )
        while waiting:
            for place, batch in (await consumer.getmany(*waiting, timeout_ms=500)).items():
                told += [record for record in batch if record.offset < self._first[place]]
            waiting = {place for place in waiting if await consumer.position(place) < self._first[place]}
        for record in sorted(told, key=lambda record: record.timestamp):
            self._taken(record, is_new=False)
        for place, first in self._first.items():
            consumer.seek(place, first)

    async def _round(self, consumer: AIOKafkaConsumer, http: aiohttp.ClientSession) -> None:
        found = await consumer.getmany(timeout_ms=int(LOOK * 1000))
        self._beat = time.monotonic()
        # In the order in which they were written, as far as one fetch shows it: a group's runs lie on all partitions.
        records = sorted((record for batch in found.values() for record in batch), key=lambda record: record.timestamp)
        for record in records:
            await self._tell(self._taken(record, is_new=True), http)
        self._is_ready = True
        now = int(time.time() * 1000)
        await self._tell([*self._groups.passed(now)], http)
        if self._form.is_repeated and time.monotonic() - self._repeated > SUMMARY_MS / 1000:
            self._repeated = time.monotonic()
            groups = self._groups.groups.values()
            going_on = [Notice("violation", group, group.verdict, group.last) for group in groups]
            await self._post(self._form.put(going_on, now), http)
        self.metrics.groups.set(len(self._groups.groups))
        if found:
            offsets = {place: batch[-1].offset + 1 for place, batch in found.items()}
            try:
                await consumer.commit(offsets)
            except KafkaError as error:
                if not error.retriable:
                    raise
                log.warning("offsets were not committed (%s); the next commit holds them too", error)

    def _taken(self, record: Any, *, is_new: bool) -> Sequence[Notice]:
        try:
            violation = _DECODER.decode(record.value or b"")
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            if is_new:
                self.metrics.unread.inc()
                # Not the error's own words, which may quote the record.
                told = type(error).__name__
                log.warning("%s/%s offset %s is no violation (%s)", record.topic, record.partition, record.offset, told)
            return ()
        if is_new:
            self.metrics.read.inc()
        return self._groups.take(violation, record.timestamp)

    async def _tell(self, notices: Sequence[Notice], http: aiohttp.ClientSession) -> None:
        for notice in notices:
            await self._post(self._form.put([notice], int(time.time() * 1000)), http)
            self.metrics.notices.labels(notice.kind).inc()

    async def _post(self, requests: Sequence[Request], http: aiohttp.ClientSession) -> None:
        for request in requests:
            pause, most = PAUSES
            while (wait := await self._posted(request, http)) is not None:
                self._beat = time.monotonic()
                await asyncio.sleep(min(most, max(wait, pause)))
                pause = min(most, 2 * pause)
            self._beat = time.monotonic()

    async def _posted(self, request: Request, http: aiohttp.ClientSession) -> float | None:
        """Post once: None if that is done, else the seconds after which the receiver wants to be asked again."""
        headers = {"content-type": "application/json", **request.headers}
        try:
            async with http.post(request.url, data=request.body, headers=headers, allow_redirects=False) as answer:
                status, after = answer.status, answer.headers.get("retry-after", "")
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            return self._failed(type(error).__name__)
        if status in (408, 425, 429) or status >= 500:
            return self._failed(f"it answers {status}", _seconds(after))
        if 200 <= status < 300:
            self.metrics.posts.labels("posted").inc()
        else:  # The same request would be refused again.
            self.metrics.posts.labels("refused").inc()
            log.error(
                "the receiver refuses a notice with %s, which is dropped; check its address and what it takes", status
            )
        self._is_away = False
        self.metrics.away.set(0)
        return None

    def _failed(self, why: str, after: float = 0.0) -> float:
        self.metrics.posts.labels("failed").inc()
        if not self._is_away:
            self._is_away = True
            self.metrics.away.set(time.time())
            log.warning("the receiver takes nothing (%s); it is asked again until it does", why)
        return after

    def _is_alive(self) -> bool:
        return time.monotonic() - self._beat < PATIENCE + PAUSES[1] + LOOK


def _seconds(after: str) -> float:
    """The seconds of a Retry-After header, a number or a date."""
    if after.isdigit():
        return float(after)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(after).timestamp() - time.time())
    except (ValueError, TypeError):
        return 0.0
