"""The loop: batches of records in, verdicts out, states kept, offsets acknowledged.

The order is what makes a crash harmless: outputs are durable, then states, then the offsets may be committed. A worker
that dies in between repeats verdicts, with the same ids and bytes; it loses and changes none.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from aiokafka.errors import MessageSizeTooLargeError, TopicAuthorizationFailedError
from faust.types import TP

from ..suites import Fleet
from . import batching, guards, overload, rights
from .desk import Counts, Desk, Output, Outputs
from .guards import WorkerExit
from .steps import Step, reached
from .table import GONE, StateTable

RECORDS = 8_000
BYTES = 8 * 1024 * 1024
SECONDS = 0.5
"""A batch ends at the first of these; no result depends on where."""


class Worker:
    """Grades one journal under one fleet of suites."""

    def __init__(self, app: Any, table: StateTable, fleet: Fleet, topics: Mapping[str, str], partitions: int) -> None:
        self.app = app
        self.table = table
        self.fleet = fleet
        self.topics = topics
        self.partitions = partitions
        self.counts = Counts()
        self.stall = guards.StallGuard()
        self.desks: dict[int, Desk] = {}
        self.generation = -1
        self.since = 0
        """A log time after which no earlier generation read, however clocks differ."""
        self.took: dict[str, float] = {}
        """Seconds that the stages of the last batch took, for metrics."""

    async def run(self, stream: Any, observe: Callable[[], None]) -> None:
        """Grade for ever, and call ``observe`` after each batch. An exception that leaves this loop ends the process."""
        stream.enable_acks = False
        async for first in stream.events():
            generation = self.app.consumer_generation_id
            self.begin(generation)
            self._look_behind(first, first.value[0])
            if not await self._mark(generation):
                continue
            began = time.monotonic()
            events = self._grade(stream, first)
            graded = time.monotonic()
            reached(Step.GRADED)
            partitions = {event.message.partition for event in events}
            if not await self._write(self._taken(partitions), generation):
                continue
            for event in events:
                event.ack()
            reached(Step.ACKED)
            self.took = {"grade": graded - began, "write": time.monotonic() - graded}
            observe()
            while behind := {partition for partition in partitions if self.desk(partition).behind}:
                began = time.monotonic()
                self.advance(behind)
                graded = time.monotonic()
                if not await self._write(self._taken(behind), generation):
                    break
                self.took = {"grade": graded - began, "write": time.monotonic() - graded}
                observe()

    def begin(self, generation: int) -> None:
        """A generation starts with what is durable: another worker may have moved any run on."""
        if generation != self.generation:
            self.generation, self.desks = generation, {}
            self.since = round((time.time() + guards.PRODUCE) * 1000)
            self.counts.let_go()

    def committed(self, partition: int) -> int:
        """The committed offset of a journal partition, 0 before the first commit."""
        offset: int | None = self.app.consumer._committed_offset.get(TP(self.topics["journal"], partition))
        return offset or 0

    def desk(self, partition: int) -> Desk:
        """The desk of an owned partition."""
        desk = self.desks.get(partition)
        if desk is None:
            place = (self.topics["journal"], partition, self.partitions)
            desk = self.desks[partition] = Desk(self.fleet, place, self.table.kept[partition], self.counts)
        return desk

    def advance(self, partitions: set[int]) -> None:
        """Move on runs whose deadline passed, a portion of each partition in turn, for as long as a batch may take."""
        ends = time.monotonic() + SECONDS
        while behind := [partition for partition in partitions if self.desk(partition).behind]:
            for partition in behind:
                self.desk(partition).advance()
                if time.monotonic() >= ends:
                    return

    # -- one batch ---------------------------------------------------------------------------------------------------

    def _grade(self, stream: Any, first: Any) -> list[Any]:
        """Grade what has arrived, without an await: nothing else runs between here and the batch's end."""
        events, event = [], first
        records = size = 0
        ends = time.monotonic() + SECONDS
        while event is not None:
            events.append(event)
            self.desk(event.message.partition).grade(event.value)
            self._look_behind(event, event.value[-1])
            records += len(event.value)
            size += sum(len(record.value or b"") for record in event.value)
            if records >= RECORDS or size >= BYTES or time.monotonic() >= ends:
                break
            if any(desk.behind_by for desk in self.desks.values()):
                break  # Each partition is looked at before its next record, which may have come after a long pause.
            event = batching.queued(self.app, stream)
        self.advance({event.message.partition for event in events})
        return events

    def _taken(self, partitions: set[int]) -> dict[int, Outputs]:
        outputs = {partition: self.desk(partition).take(self.committed(partition)) for partition in partitions}
        for partition, output in outputs.items():
            states, removed = self.table.rewrites(partition)
            output.states = {**states, **output.states}
            output.removed = {**removed, **output.removed}
        return outputs

    async def _mark(self, generation: int) -> bool:
        """Write down how far behind the partitions are, where a suite asks and it is another; False as with `_write`."""
        marks = {p: mark for p, desk in self.desks.items() if (mark := desk.mark(self.since)) is not None}
        if marks:
            states: dict[int, list[Output]] = {p: [(overload.KEY, mark, [])] for p, mark in marks.items()}
            await self._durable({self.table.changelog_topic_name: states})
            if self.app.consumer_generation_id != generation:
                return False
            for partition, mark in marks.items():
                self.table.put(partition, {overload.KEY: mark})
        return True

    def _look_behind(self, event: Any, record: Any) -> None:
        """How long ago a record was appended, where a suite asks; it counts once it is written down."""
        if self.fleet.sheds_from:
            desk = self.desk(event.message.partition)
            lag = round(time.time() * 1000 - record.timestamp)
            desk.behind_by = overload.level(lag, desk.behind_by, self.fleet.sheds_from)

    async def _write(self, outputs: Mapping[int, Outputs], generation: int) -> bool:
        """Make outputs durable, then states; False if the group moved on, and another worker reads these records again."""
        kinds = ("verdicts", "run_verdicts", "violations", "judge_requests", "dead_letters")
        await self._durable(
            {self.topics[kind]: {p: getattr(output, kind) for p, output in outputs.items()} for kind in kinds}
        )
        reached(Step.OUTPUTS)
        if self.app.consumer_generation_id != generation:
            return False
        await self._durable({self.table.changelog_topic_name: {p: _states(output) for p, output in outputs.items()}})
        reached(Step.STATES)
        if self.app.consumer_generation_id != generation:
            return False
        for partition, output in outputs.items():
            self.table.put(partition, output.states)
        return True

    async def _durable(self, writes: Mapping[str, Mapping[int, list[Output]]]) -> None:
        """Write, and wait until every record is acknowledged."""
        futures: list[asyncio.Future[Any]] = []
        producer = self.app.producer._producer
        try:
            async with asyncio.timeout(guards.PRODUCE):
                for topic, by_partition in writes.items():
                    self.stall.check()
                    futures += await batching.send(producer, topic, by_partition)
                    reached(Step.SENT)
                for future in futures:
                    await future
        except TimeoutError:
            guards.end(WorkerExit.FAULT, f"a write was not acknowledged within {guards.PRODUCE:.0f} s; start it again")
        except MessageSizeTooLargeError as error:
            told = f"a record was refused for its size ({error}): raise max.message.bytes of {', '.join(writes)}"
            guards.end(WorkerExit.DATA, told)
        except TopicAuthorizationFailedError as error:
            rights.lost(error, rights.WRITE)


def _states(output: Outputs) -> list[Output]:
    return [
        (key, value, [] if value is not None else [(GONE, str(output.removed[key]).encode())])
        for key, value in output.states.items()
    ]
