"""The runs' states: bytes by run id, kept in the changelog, recovered in batches."""

import time
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import faust
from faust.tables.manager import TableManager

from ..session import watermark
from .steps import Step, reached

GONE = "sg-watermark"
"""The header of a removal: how far the removed state had read."""
LATE_MS = 3_600_000
"""How much later than a removal an old state may be written: a worker that stood still ends before it writes, so it can
only be on its way, and the network gives up sooner."""


class Tables(TableManager):
    """Faust's tables, which are there when the worker starts: the second that Faust waits for others is not waited."""

    async def on_start(self) -> None:
        if not self.should_stop:
            await self._update_channels()
            await self.recovery.start()


class StateTable(faust.Table[bytes, bytes]):
    """A Faust table in its recovery and its place in the rebalance; reads and writes go by partition and batch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepare()

    def prepare(self) -> None:
        """Hold nothing; apart from the constructor, so that recovery can be told without Faust."""
        self.kept: dict[int, dict[bytes, bytes]] = defaultdict(dict)
        self.stale: dict[int, set[bytes]] = defaultdict(set)
        """Keys whose newest state, or removal, is not the last in the changelog: it is to be written again."""
        self._removed: dict[int, OrderedDict[bytes, tuple[int, int]]] = defaultdict(OrderedDict)
        """Of removals, in their order, how far the removed state had read and when it was removed."""
        self._forgotten: set[int] = set()
        self.size = 0
        """Bytes of all states."""
        self.recovered = False
        """False from the start of a rebalance until every owned partition is read."""
        self.rebalances = 0
        self.recoveries: list[float] = []
        """How long recoveries took, in seconds, since somebody last took them, for metrics."""
        self._since = time.monotonic()

    def apply_changelog_batch(self, batch: Iterable[Any]) -> None:
        """Take recovered records in. The state that has read further wins, whichever comes last (design 8, zombies)."""
        for event in batch:
            partition = event.message.partition
            for record in event.value:
                self._recover(partition, record)
        reached(Step.RECOVERY)

    def put(self, partition: int, states: Mapping[bytes, bytes | None]) -> None:
        """Take over what is durable in the changelog."""
        kept = self.kept[partition]
        for key, value in states.items():
            old = kept.pop(key, b"")
            self.size += len(value or b"") - len(old)
            if value is not None:
                kept[key] = value

    def rewrites(self, partition: int) -> tuple[dict[bytes, bytes | None], dict[bytes, int]]:
        """What is to be written again after a recovery, and of removals how far they had read; each is given once."""
        stale = self.stale.pop(partition, set())
        kept, removed = self.kept[partition], self._removed[partition]
        states = {key: kept.get(key) for key in stale if key in kept or key in removed}
        return states, {key: removed[key][0] for key, value in states.items() if value is None}

    def persisted_offset(self, tp: Any) -> int | None:
        """Where recovery starts: at the beginning for a partition that was forgotten, whatever Faust remembers of it."""
        return -1 if tp.partition in self._forgotten else None

    async def on_rebalance(self, assigned: Any, revoked: Any, newly_assigned: Any, generation_id: int = 0) -> None:
        """Forget the partitions that another worker may write to from now on."""
        if self.recovered:
            self._since = time.monotonic()
        self.recovered = False
        self.rebalances += 1
        reached(Step.REBALANCE)
        for tp in revoked:
            if tp.topic == self.changelog_topic_name:
                self._forgotten.add(tp.partition)
                for held in (self.kept, self.stale, self._removed):
                    held.pop(tp.partition, None)

    async def on_recovery_completed(self, active_tps: set[Any], standby_tps: set[Any]) -> None:
        """What was recovered is known again."""
        self.size = sum(len(value) for kept in self.kept.values() for value in kept.values())
        self._forgotten -= {tp.partition for tp in active_tps if tp.topic == self.changelog_topic_name}
        self.recovered = True
        self.recoveries.append(time.monotonic() - self._since)

    def _recover(self, partition: int, record: Any) -> None:
        key, value = record.key, record.value
        kept, stale = self.kept[partition], self.stale[partition]
        old = kept.get(key)
        read = -1 if old is None else watermark(old)
        removed = self._removed[partition].get(key, (-1, 0))[0]
        if value is None:
            mark = next((int(told) for name, told in record.headers if name == GONE), read)
            if mark < read:
                stale.add(key)  # The run came back before this removal was written.
                return
            kept.pop(key, None)
            self._remove(partition, key, max(mark, removed), record.timestamp)
        elif watermark(value) <= removed:
            stale.add(key)  # Written late by a worker that stood still, after the run was done with.
            return
        elif watermark(value) < read:
            stale.add(key)
            return
        else:
            kept[key] = value
        stale.discard(key)

    def _remove(self, partition: int, key: bytes, mark: int, when: int) -> None:
        """Remember a removal for as long as an older state may come after it."""
        removed = self._removed[partition]
        removed.pop(key, None)
        removed[key] = (mark, when)
        while removed and next(iter(removed.values()))[1] < when - LATE_MS:
            removed.popitem(last=False)
