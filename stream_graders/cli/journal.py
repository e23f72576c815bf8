"""A topic of Kafka as a place where runs lie: read without a group, from its oldest record to the end it has when it is opened."""

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError
from aiokafka.structs import ConsumerRecord

from ..events import Event, RunStart
from ..security import from_environment, listening
from ..session import At, Effect
from ..stream.rights import READ, missing
from ..stream.topics import partition_of
from ..wire import Refused, decode
from .errors import UserError, unreachable
from .runs import Graded

Record = ConsumerRecord[bytes, bytes]
Span = tuple[int, int]
"""Offsets of a partition: the first, and the one behind the last."""
Refuse = Callable[[str, str], None]
"""Told of each record that is no event: its reason, and its place with the fault."""

NAMES = 10_000
"""Runs beside the one that is looked for, whose ids are kept for a hint."""


@dataclass
class Log:
    """A topic as it was when it was opened. What comes later is not seen: so a live one has an end."""

    topic: str
    spans: Mapping[int, Span]
    """What of each partition is read."""
    fetch: Callable[[Mapping[int, Span]], Iterator[Record]]
    now: int = 0
    """The latest log time that was read."""
    whole: dict[str, int] = field(default_factory=dict)
    """The runs that were read from their beginning, with their partitions."""
    cut: set[str] = field(default_factory=set)
    """Runs that began before what was read."""

    def records(self) -> Iterator[Record]:
        """Its records, each partition in its order."""
        return self.fetch(self.spans)

    def of_run(self, run_id: str, refuse: Refuse, others: set[str]) -> Iterator[tuple[Event, At]]:
        """The events of a run: from the partition that its id belongs to, or else from another that has it.

        Args:
            run_id: the run.
            refuse: told of records that may have been this run's.
            others: takes ids of the runs beside it.
        """
        key = run_id.encode("utf-8", "replace")
        home = partition_of(key, len(self.spans))
        for partition in (home, *(other for other in self.spans if other != home)):
            for record in self.fetch({partition: self.spans[partition]}):
                self.now = max(self.now, record.timestamp)
                if record.key is not None and record.key != key:
                    if len(others) < NAMES:
                        others.add(record.key.decode("utf-8", "replace"))
                    continue
                event = self._event(record, refuse)
                if event is not None and event.run_id == run_id:
                    self._note(event, record)
                    yield event, _at(record, misplaced=partition != home)
            if run_id in self.whole or run_id in self.cut:
                return

    def last(self, count: int, refuse: Refuse) -> Iterator[tuple[Event, At]]:
        """The events of the last records, equally many of each partition, but of runs that began before them."""
        share = -(-count // len(self.spans))
        self.spans = {partition: (max(first, end - share), end) for partition, (first, end) in self.spans.items()}
        for record in self.records():
            self.now = max(self.now, record.timestamp)
            event = self._event(record, refuse)
            if event is None:
                continue
            self._note(event, record)
            known = self.whole.get(event.run_id)
            if known == record.partition:
                home = partition_of(event.run_id.encode(), len(self.spans))
                yield event, _at(record, misplaced=known != home)
            elif known is not None:
                refuse("wrong_partition", f"{self._place(record)}: run {event.run_id} lies on partition {known} too")

    def graded(self, count: int, graded: Graded) -> Iterator[Effect]:
        """What grading the last records gives. Log time stands where they end: what is open then stays open."""
        for event, at in self.last(count, graded.refuse):
            yield from graded.feed(event, at)
        for session in graded.sessions.values():
            yield from session.advance(self.now)

    def _event(self, record: Record, refuse: Refuse) -> Event | None:
        read = decode(record.value, record.key)
        if isinstance(read, Refused):
            refuse(read.reason, f"{self._place(record)}: {read.detail}")
        event = read.taken if isinstance(read, Refused) else read
        return event if isinstance(event, Event) else None  # A tick has told the time, and that is all.

    def _note(self, event: Event, record: Record) -> None:
        """Is a run that was not seen before here from its beginning?"""
        if event.run_id in self.whole or event.run_id in self.cut:
            return
        if isinstance(event, RunStart) or event.seq == 0 or self.spans[record.partition][0] == 0:
            self.whole[event.run_id] = record.partition
        else:
            self.cut.add(event.run_id)

    def _place(self, record: Record) -> str:
        return f"{self.topic}, partition {record.partition}, offset {record.offset}"


def _at(record: Record, *, misplaced: bool) -> At:
    return At(record.timestamp, record.offset, len(record.value or b""), misplaced)


@contextmanager
def opened(bootstrap: str, topic: str, since: int | None = None, until: int | None = None) -> Iterator[Log]:
    """A topic to read, or what was appended to it from one log time on and before another, in milliseconds.

    Raises:
        UserError: Kafka does not answer, or there is no such topic.
    """
    # A runner of our own: commands go through events one by one, and only the fetching is asynchronous.
    with asyncio.Runner() as runner:
        consumer = runner.run(started(bootstrap))

        def fetch(spans: Mapping[int, Span]) -> Iterator[Record]:
            places = {TopicPartition(topic, partition): span for partition, span in spans.items() if span[0] < span[1]}
            runner.run(_placed(consumer, places))
            waiting = set(places)
            while waiting:
                with _mendable(bootstrap):
                    found, passed = runner.run(_fetched(consumer, waiting))
                for place, records in found.items():
                    yield from (record for record in records if record.offset < places[place][1])
                waiting -= {place for place, position in passed.items() if position >= places[place][1]}

        try:
            with _mendable(bootstrap):
                spans = runner.run(_spans(consumer, bootstrap, topic))
                for end, time in enumerate((since, until)):
                    if time is not None:
                        spans = runner.run(_cut_at(consumer, topic, spans, time, end))
            yield Log(topic, spans, fetch)
        finally:
            runner.run(consumer.stop())


async def started(bootstrap: str, *topics: str, where: str = "earliest") -> AIOKafkaConsumer:
    """A consumer without a group; whoever asked for it stops it.

    Raises:
        UserError: Kafka does not answer.
    """
    # It tells on standard error, through no handler, what we tell in a line.
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    client = from_environment().client()
    consumer = AIOKafkaConsumer(*topics, bootstrap_servers=bootstrap, group_id=None, auto_offset_reset=where, **client)
    try:
        with _mendable(bootstrap):
            await consumer.start()
    except ValueError as error:
        await consumer.stop()
        raise UserError(f"--bootstrap {bootstrap}: is no address; write host:port, several with commas") from error
    except BaseException:
        await consumer.stop()
        raise
    return consumer


async def _placed(consumer: AIOKafkaConsumer, places: Mapping[TopicPartition, Span]) -> None:
    consumer.assign(list(places))
    for place, (first, _) in places.items():
        consumer.seek(place, first)


async def _fetched(
    consumer: AIOKafkaConsumer, waiting: set[TopicPartition]
) -> tuple[dict[TopicPartition, list[Record]], dict[TopicPartition, int]]:
    found = await consumer.getmany(*waiting, timeout_ms=500)
    return found, {place: await consumer.position(place) for place in waiting}


async def _spans(consumer: AIOKafkaConsumer, bootstrap: str, topic: str) -> dict[int, Span]:
    # Not `partitions_for_topic`: it knows the topics that were asked for before, and asking for one may create it.
    known = (await consumer._client.fetch_all_metadata()).partitions_for_topic(topic)
    if not known:
        raise UserError(
            f"{bootstrap} has no topic {topic}; check the names you gave, or run stream-graders topics apply"
        )
    parts = [TopicPartition(topic, partition) for partition in sorted(known)]
    consumer.assign(parts)
    firsts, ends = await consumer.beginning_offsets(parts), await consumer.end_offsets(parts)
    return {part.partition: (firsts[part], ends[part]) for part in parts}


async def _cut_at(
    consumer: AIOKafkaConsumer, topic: str, spans: Mapping[int, Span], time: int, end: int
) -> dict[int, Span]:
    """What of the spans lies behind (``end`` 0) or before (1) the first record at or after a log time."""
    places = {TopicPartition(topic, partition): time for partition in spans}
    found = await consumer.offsets_for_times(places)
    cut = {}
    for place in places:
        first, last = spans[place.partition]
        at = found[place]
        offset = last if at is None else min(max(at.offset, first), last)
        cut[place.partition] = (first, offset) if end else (offset, last)
    return cut


@contextmanager
def _mendable(bootstrap: str) -> Iterator[None]:
    with listening() as ear:
        try:
            yield
        except TopicAuthorizationFailedError as error:
            raise UserError(missing("topic", str(error.args[0]), READ)) from error
        except (KafkaError, OSError) as error:
            raise unreachable(bootstrap, error, ear) from error
