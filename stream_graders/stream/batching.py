"""Faust at the speed of its client: one Faust message per partition and fetch, and ready-made record batches out.

Stock Faust pays four asyncio tasks and a changelog send for every event. Here a message carries the list of records
that one fetch brought of one partition, acknowledged as a whole, and what is written goes out as batches whose
acknowledgement is awaited. Along the way some defects of Faust 0.15 are mended, each said where it is. The private names
that this leans on are pinned by a test.
"""

import time
from asyncio import Future
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aiokafka.errors import TopicAuthorizationFailedError
from faust.serializers.schemas import Schema
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from . import guards, rights

BATCH = 2_000
"""Records in one Faust message."""
FETCH_WAIT_MS = 100
"""How long a fetch may wait. Faust's own 1.5 s holds busy partitions up behind idle ones, for one fetch is in flight."""
FETCH_BYTES = 64 * 1024
"""How much a patient fetch waits for, if not for `FETCH_WAIT_MS`."""
EAGER = 2_000
"""Records a second from which on a fetch takes what is there at once."""
MAX_BATCH_BYTES = 256 * 1024

Item = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes]]]


class Batch:
    """Looks like one Kafka record to Faust; its value is a list of records."""

    headers: tuple[()] = ()
    key = checksum = None
    serialized_key_size = serialized_value_size = 0

    def __init__(self, records: list[Any]) -> None:
        last = records[-1]
        self.value = records
        self.topic, self.partition, self.offset = last.topic, last.partition, last.offset
        self.timestamp, self.timestamp_type = last.timestamp, last.timestamp_type


class BatchSchema(Schema[Any, Any]):
    """Hands a batch through undecoded: `wire` decodes, where a bad record can be told from a good one."""

    def compile(self, app: Any, **_: Any) -> Any:
        async def decode(message: Any, **_: Any) -> Any:
            return app.create_event(message.key, message.value, None, message)

        return decode


class Pace:
    """Whether fetches wait for more: a batch costs the same writes whether one record is in it or a hundred.

    Under a small load a worker that takes each record at once spends its time on writes; under a large one there is enough
    in every batch, and waiting would only be felt.
    """

    def __init__(self, now: float) -> None:
        self.is_patient = False
        self._since, self._count = now, 0

    def note(self, records: int, now: float) -> None:
        """So many records came, possibly none; the pace is taken anew every second."""
        self._count += records
        passed = now - self._since
        if passed >= 1.0:
            self.is_patient = self._count < EAGER * passed
            self._since, self._count = now, 0


class _Thread(driver.AIOKafkaConsumerThread):
    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS
        return consumer


class Consumer(driver.Consumer):
    """Coalesces fetches, commits only what was acknowledged in order, and ends the worker where events were lost."""

    app: Any
    """Our `App`; Faust declares its own interface, which lacks what we added."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held: frozenset[TP] = frozenset()
        self._inflight: dict[TP, deque[int]] = {}
        self._next: dict[TP, int] = {}
        self._has_joined = False
        self._pace = Pace(time.monotonic())

    def _new_consumer_thread(self) -> _Thread:
        return _Thread(self, loop=self.loop, beacon=self.beacon)

    def _is_batched(self, topic: str) -> bool:
        return topic == self.app.journal or topic in self.app.tables.changelog_topics

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109  (Faust's own signature)
        # A copy: Faust empties its live set while the fetcher waits, and aiokafka reads an empty one as "all".
        active: Any = active_partitions and frozenset(active_partitions)
        try:
            got = await super()._getmany(active, timeout)
        except TopicAuthorizationFailedError as error:
            rights.lost(error, rights.READ)
        for tp, records in got.items():
            if tp.topic == self.app.journal and records:
                await self._check_gap(tp, records)
        self._pace.note(sum(map(len, got.values())), time.monotonic())
        thread: Any = self._thread
        thread._consumer._fetcher._fetch_min_bytes = FETCH_BYTES if self._pace.is_patient else 1
        return {
            tp: [Batch(records[n : n + BATCH]) for n in range(0, len(records), BATCH)]
            if self._is_batched(tp.topic)
            else records
            for tp, records in got.items()
        }

    async def _check_gap(self, tp: TP, records: list[Any]) -> None:
        """A jump in offsets is a transaction marker, or records that retention took from under a lagging worker.

        A jump back is a rebalance, or another log that is shorter than what was read.
        """
        expected = self._next.get(tp)
        self._next[tp] = records[-1].offset + 1
        if expected is not None and records[0].offset < expected:
            last = (await self.highwaters(tp))[tp]
            if last < expected:
                guards.made_anew(f"{tp.topic}/{tp.partition}", expected, last)
        if expected is not None and records[0].offset > expected:
            first = (await self.earliest_offsets(tp))[tp]
            if first > expected:
                guards.lost_while_running(f"{tp.topic}/{tp.partition}", expected, first)

    def _to_message(self, tp: TP, record: Any) -> Any:
        if tp.topic == self.app.journal:
            self._inflight.setdefault(tp, deque()).append(record.offset)
        return super()._to_message(tp, record)

    async def _add_gap(self, tp: TP, offset_from: int, offset_to: int) -> None:
        # Coalesced offsets look like gaps to Faust, which would commit one batch an interval.
        if not self._is_batched(tp.topic):
            await super()._add_gap(tp, offset_from, offset_to)

    def _new_offset(self, tp: TP) -> int | None:
        """Commit the acknowledged prefix, in the order of delivery (faust-streaming#606 commits past the rest)."""
        if not self._is_batched(tp.topic):
            return super()._new_offset(tp)
        waiting, acked, last = self._inflight.get(tp), self._acked_index[tp], None
        self._acked[tp].clear()
        while waiting and waiting[0] in acked:
            last = waiting.popleft()
            acked.discard(last)
        return None if last is None else last + 1

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        # Faust resumes the sources before it seeks and clears the queues (faust-streaming#596): what was fetched in
        # between would be lost. They are held until the flow resumes.
        asked = set(tps)
        hold = {tp for tp in asked if tp.topic not in self.app.tables.changelog_topics}
        self._held |= hold
        super().resume_partitions(asked - hold)

    def resume_flow(self) -> None:
        super().resume_flow()
        held, self._held = self._held, frozenset()
        if held:
            super().resume_partitions(held & self.assignment())

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        self._held = frozenset()
        thread: Any = self._thread
        if self._has_joined and not thread._consumer._coordinator.member_id:
            await self.app.check_slot()  # At the last heartbeat the group did not know this worker.
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        self._has_joined = True
        await self.app.check_partitions(assigned)
        await super().on_partitions_assigned(assigned, generation_id)

    async def perform_seek(self) -> None:
        self._inflight, self._next = {}, {}
        await super().perform_seek()

    async def seek_to_committed(self) -> Mapping[TP, int]:
        offsets = dict(await super().seek_to_committed())
        await self._check_committed(offsets)
        # aiokafka moves only partitions that have a commit; one without goes on from where a fetch left it.
        new = [tp for tp, offset in offsets.items() if not offset and tp.topic == self.app.journal]
        if new:
            for tp, offset in (await self.earliest_offsets(*new)).items():
                self._thread.seek(tp, offset)
        return offsets

    async def _check_committed(self, offsets: dict[TP, int]) -> None:
        """Refuse to go on from an offset outside the log: retention overtook the worker, or the topic is another."""
        tps = [tp for tp, offset in offsets.items() if offset and tp.topic == self.app.journal]
        if not tps:
            return
        first, last = await self.earliest_offsets(*tps), await self.highwaters(*tps)
        for tp in tps:
            if first[tp] <= offsets[tp] <= last[tp]:
                continue
            if offsets[tp] > last[tp] or not self.app.settings.accept_loss:
                guards.lost_at_start(f"{tp.topic}/{tp.partition}", offsets[tp], first[tp], last[tp])
            await self.app.write_down_loss(tp, offsets[tp], first[tp])
            self._thread.seek(tp, first[tp])
            offsets[tp] = first[tp]


class Producer(driver.Producer):
    """Writes that are acknowledged by all replicas, and that a retry cannot double."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {"acks": "all", "enable_idempotence": True}


class Transport(driver.Transport):
    """Faust's transport with our consumer and producer."""

    Consumer = Consumer
    Producer = Producer


async def send(producer: Any, topic: str, by_partition: Mapping[int, Iterable[Item]]) -> list["Future[Any]"]:
    """Write records as ready-made batches; the futures of their acknowledgements."""
    futures = []
    for partition, items in by_partition.items():
        batch = producer.create_batch()
        for key, value, headers in items:
            if batch.append(key=key, value=value, timestamp=None, headers=headers) is None:
                futures.append(await producer.send_batch(batch, topic, partition=partition))
                batch = producer.create_batch()
                batch.append(key=key, value=value, timestamp=None, headers=headers)
        if batch.record_count():
            futures.append(await producer.send_batch(batch, topic, partition=partition))
    return futures


def end_of(app: Any, partition: int) -> int | None:
    """Where a journal partition ends, as the last fetch told; None if that is not known, or it is another's by now."""
    try:
        end: int | None = app.consumer.highwater(TP(app.journal, partition))
    except AssertionError:  # The consumer's thread gave it up in a rebalance that this one has not heard of yet.
        return None
    return end


def is_connected(consumer: Any) -> bool:
    """Has the consumer a connection to any broker?"""
    connections = list(consumer._thread._consumer._client._conns.values())  # A copy: it lives in another thread.
    return any(connection.connected() for connection in connections)


def queued(app: Any, stream: Any) -> Any | None:
    """The next batch that already waits in the stream's queue, taken as the stream itself would; None without one."""
    queue = stream.channel.queue
    while not queue.empty():
        event = queue.get_nowait()
        message = event.message
        if message.generation_id == app.consumer_generation_id and app.flow_control.is_active():
            message.tracked = True
            app.consumer._unacked_messages.add(message)
            return event
    return None
