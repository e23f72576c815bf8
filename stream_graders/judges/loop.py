"""Reads requests, answers many at once, and commits only what stands before the first one that has no answer yet.

A worker that dies asks those again that it had not answered; the request's id makes the second answer harmless, the cache
makes it free, and nothing is lost. (A Faust agent with tasks of its own, or with ``concurrency``, lost messages when it was
killed: judges.md 5.4.)
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import CommitFailedError, IllegalStateError, RebalanceInProgressError

from ..answers import mac_of
from ..events import SCHEMA, JudgeAnswer, to_json
from ..verdicts import JudgeRequest, identify
from .answering import failed
from .judge import Judge
from .metrics import JudgeMetrics

log = logging.getLogger("stream_graders.judges")

OUTSTANDING = 1_000
"""Requests that may wait for answers together: those of a provider that is down wait here, and hold no slot of another's. What
exceeds its share of them is given up (`Judge.has_no_room`), so that it holds up no reading either."""
COMMIT_EVERY = 0.5
STOP = 25.0
"""Seconds that answers under way are waited for at a stop."""

_DECODER = msgspec.json.Decoder(JudgeRequest)


@dataclass
class Prefix:
    """The offsets of one partition that were read, and which of them are done with."""

    waiting: deque[int] = field(default_factory=deque)
    done: set[int] = field(default_factory=set)
    reached: int | None = None
    """The offset to commit: all before it are done."""

    def read(self, offset: int) -> None:
        """A record was read."""
        self.waiting.append(offset)

    def finish(self, offset: int) -> None:
        """A record is done with; what is done without a gap can be committed."""
        self.done.add(offset)
        while self.waiting and self.waiting[0] in self.done:
            last = self.waiting.popleft()
            self.done.discard(last)
            self.reached = last + 1


class Loop(ConsumerRebalanceListener):
    """One judge worker."""

    def __init__(
        self,
        judge: Judge,
        metrics: JudgeMetrics,
        key: bytes | None,
        kafka: dict[str, Any],
        *,
        group: str,
        requests: str,
        journal: str,
    ) -> None:
        self._judge, self._metrics, self._key = judge, metrics, key
        self._requests, self._journal = requests, journal
        self._consumer = AIOKafkaConsumer(
            group_id=group, enable_auto_commit=False, auto_offset_reset="earliest", session_timeout_ms=10_000,
            heartbeat_interval_ms=1_000, **kafka,
        )  # fmt: skip
        self._producer = AIOKafkaProducer(acks="all", enable_idempotence=True, linger_ms=5, **kafka)
        self._prefixes: dict[TopicPartition, Prefix] = {}
        self._tasks: dict[asyncio.Task[None], int] = {}
        """Answers under way, with when they were asked for."""
        self._waiting: Counter[str] = Counter()
        """How many of them wait for which judge."""
        self._stopping = asyncio.Event()
        self._committed: dict[TopicPartition, int] = {}

    def stop(self) -> None:
        """Take nothing more in; what is under way is finished, for a while."""
        self._stopping.set()

    async def run(self) -> None:
        """Answer requests until told to stop.

        Raises:
            KafkaError: Kafka does not answer, or an answer could not be written: the process should end and be started again.
        """
        await self._producer.start()
        self._consumer.subscribe([self._requests], listener=self)
        await self._consumer.start()
        committing = asyncio.create_task(self._commit_for_ever())
        try:
            while not self._stopping.is_set():
                await self._read()
                for task in [task for task in self._tasks if task.done()]:
                    del self._tasks[task]
                    task.result()  # Whatever it raised ends the process: its request is not committed, and comes again.
                if committing.done():
                    committing.result()
            if self._tasks:
                await asyncio.wait(list(self._tasks), timeout=STOP)
        finally:
            committing.cancel()
            for task in self._tasks:
                task.cancel()
            await self._commit()
            await self._consumer.stop()
            await self._producer.stop()

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Another worker reads on from what is committed; what is under way here is still answered, once too often."""
        await self._commit()
        for place in revoked:
            self._prefixes.pop(place, None)
            self._committed.pop(place, None)

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Read on from what is committed."""

    async def _read(self) -> None:
        room = OUTSTANDING - len(self._tasks)
        assigned = self._consumer.assignment()
        if room <= 0:
            self._consumer.pause(*assigned)
        elif self._consumer.paused():
            self._consumer.resume(*(self._consumer.paused() & assigned))
        batches = await self._consumer.getmany(timeout_ms=200, max_records=max(1, room))
        for place, records in batches.items():
            prefix = self._prefixes.setdefault(place, Prefix())
            for record in records:
                prefix.read(record.offset)
                request = _request_of(record.value)
                if request is None or request.run_id.encode() != record.key:
                    self._metrics.bad.inc()
                    prefix.finish(record.offset)
                    continue
                task = asyncio.create_task(self._answer(place, prefix, record.offset, request))
                self._tasks[task] = request.asked_at
        self._metrics.waiting.set(len(self._tasks))
        self._metrics.oldest.set(min(self._tasks.values(), default=0) / 1000)
        self._judge.tell_used()

    async def _answer(self, place: TopicPartition, prefix: Prefix, offset: int, request: JudgeRequest) -> None:
        if self._judge.is_over(request):
            self._metrics.expired.inc()
        else:
            if self._judge.has_no_room(request, self._waiting[request.model], OUTSTANDING):
                answer = failed("provider_down", "the judge fails, and too many questions wait for it")
                self._metrics.answered(request.grader, answer)
            else:
                self._waiting[request.model] += 1
                try:
                    answer = await self._judge.answer(request)
                finally:
                    self._waiting[request.model] -= 1
            # To the partition number that the request came on: the run lies there, wherever its key belongs.
            event = event_of(request, answer, self._key)
            await self._producer.send_and_wait(
                self._journal, to_json(event), request.run_id.encode(), partition=place.partition
            )
        prefix.finish(offset)

    async def _commit_for_ever(self) -> None:
        while True:
            await asyncio.sleep(COMMIT_EVERY)
            await self._commit()

    async def _commit(self) -> None:
        reached = {place: prefix.reached for place, prefix in self._prefixes.items() if prefix.reached is not None}
        new = {place: offset for place, offset in reached.items() if self._committed.get(place) != offset}
        if not new:
            return
        try:
            await self._consumer.commit(new)
        except (CommitFailedError, IllegalStateError, RebalanceInProgressError) as error:
            log.info("not committed: %s", type(error).__name__)  # Another worker has them, or soon will.
            return
        self._committed |= new


def _request_of(value: bytes | None) -> JudgeRequest | None:
    try:
        return None if value is None else _DECODER.decode(value)
    except (msgspec.MsgspecError, RecursionError):
        return None


def event_of(request: JudgeRequest, answer: dict[str, Any], key: bytes | None) -> JudgeAnswer:
    """The event that carries an answer, signed."""
    mac = None if key is None else mac_of(key, request.id, answer)
    return JudgeAnswer(
        schema=SCHEMA,
        id=identify(request.id, "answer", mac or str(answer)),
        run_id=request.run_id,
        ts=time.time_ns(),
        request_id=request.id,
        answer=answer,
        mac=mac,
    )
