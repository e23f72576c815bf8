"""The runs' states: bytes by run id, kept in the changelog, recovered in batches."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import faust

from ..session import watermark
from .desk import newest

GONE = "sg-watermark"
"""The header of a removal: how far the removed state had read."""


class StateTable(faust.Table[bytes, bytes]):
    """A Faust table in its recovery and its place in the rebalance; reads and writes go by partition and batch."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepare()

    def prepare(self) -> None:
        """Hold nothing; apart from the constructor, so that recovery can be told without Faust."""
        self.kept: dict[int, dict[bytes, bytes]] = defaultdict(dict)
        self.stale: dict[int, set[bytes]] = defaultdict(set)
        """Keys whose newest state is not the last in the changelog: it is to be written again."""
        self._removed: dict[int, dict[bytes, int]] = defaultdict(dict)
        self._forgotten: set[int] = set()
        self.size = 0
        """Bytes of all states."""
        self.recovered = False
        """False from the start of a rebalance until every owned partition is read."""

    def apply_changelog_batch(self, batch: Iterable[Any]) -> None:
        """Take recovered records in. The state that has read further wins, whichever comes last (design 8, zombies)."""
        for event in batch:
            partition = event.message.partition
            for record in event.value:
                self._recover(partition, record)

    def put(self, partition: int, states: Mapping[bytes, bytes | None]) -> None:
        """Take over what is durable in the changelog."""
        kept = self.kept[partition]
        for key, value in states.items():
            old = kept.pop(key, b"")
            self.size += len(value or b"") - len(old)
            if value is not None:
                kept[key] = value

    def rewrites(self, partition: int) -> dict[bytes, bytes]:
        """The states to be written again after a recovery; each is given once."""
        stale = self.stale.pop(partition, set())
        return {key: self.kept[partition][key] for key in stale if key in self.kept[partition]}

    def persisted_offset(self, tp: Any) -> int | None:
        """Where recovery starts: at the beginning for a partition that was forgotten, whatever Faust remembers of it."""
        return -1 if tp.partition in self._forgotten else None

    async def on_rebalance(self, assigned: Any, revoked: Any, newly_assigned: Any, generation_id: int = 0) -> None:
        """Forget the partitions that another worker may write to from now on."""
        self.recovered = False
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

    def _recover(self, partition: int, record: Any) -> None:
        kept, removed = self.kept[partition], self._removed[partition]
        key, value = record.key, record.value
        if value is None:
            mark = next((int(told) for name, told in record.headers if name == GONE), -1)
            old = kept.get(key)
            if old is None or watermark(old) <= mark or mark < 0:
                kept.pop(key, None)
                removed[key] = max(mark, removed.get(key, -1), -1 if old is None else watermark(old))
            return
        if watermark(value) <= removed.get(key, -1):
            return  # Written late by a worker that stood still, after the run was done with.
        old = kept.get(key)
        kept[key] = newest(old, value)
        if kept[key] is not value:
            self.stale[partition].add(key)
        else:
            self.stale[partition].discard(key)
