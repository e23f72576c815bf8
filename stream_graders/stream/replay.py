"""Grades a journal again, as a worker did or would: the same bytes, and nothing written.

That works because grading is a pure function of the journal and the suites (design 2). A run is whole if the records hold its
beginning and it ends in them; others are told apart, not graded: what came before is not there to grade them by.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ..events import Event, RunStart
from ..session import kept_phase
from ..suites import Fleet
from ..verdicts import RunVerdict, Verdict, Violation
from ..wire import Refused, decode
from .desk import Counts, Desk, Record

ENDED = frozenset({"ended", "gone", "unselected"})
"""Phases of a run that no event changes any more; one that is ``closed`` has its verdicts, and may be amended."""


@dataclass
class Beginnings:
    """Which runs' beginnings a stretch of the journal holds."""

    first: dict[int, int]
    """Of each partition, the first offset of the stretch."""
    whole: set[bytes] = field(default_factory=set)
    cut: set[bytes] = field(default_factory=set)
    """Runs that began before."""

    def holds(self, partition: int, record: Record) -> bool:
        """May a record be graded: is it none of a run that began before the stretch?"""
        key = record.key
        if key in self.whole:
            return True
        if key in self.cut:
            return False
        read = decode(record.value, record.key)
        event = read.taken if isinstance(read, Refused) else read
        if not isinstance(event, Event):
            return True  # A tick, or what will be buried: of no run.
        run = event.run_id.encode()
        if run not in self.whole and run not in self.cut:
            begins = isinstance(event, RunStart) or event.seq == 0 or self.first[partition] == 0
            (self.whole if begins else self.cut).add(run)
        return run in self.whole


class Replay:
    """The journal under a fleet of suites, from records that are handed in."""

    def __init__(self, fleet: Fleet, journal: str, partitions: int) -> None:
        self.fleet = fleet
        self.counts = Counts()
        self._place = (journal, partitions)
        self._kept: dict[int, dict[bytes, bytes]] = defaultdict(dict)
        self._desks: dict[int, Desk] = {}

    def take(self, partition: int, records: Iterable[Record]) -> Iterator[Verdict | RunVerdict | Violation]:
        """Grade records of a partition, in their order; what a worker would have published."""
        journal, partitions = self._place
        desk = self._desks.get(partition)
        kept = self._kept[partition]
        if desk is None:
            desk = self._desks[partition] = Desk(self.fleet, (journal, partition, partitions), kept, self.counts)
        desk.grade(records)
        while True:
            desk.advance()
            # Nobody commits here, and nobody will read a record again: what was read is done with.
            for key, state in desk.take(desk.read + 1).states.items():
                if state is None:
                    kept.pop(key, None)
                else:
                    kept[key] = state
            yield from (record for record, _ in self.counts.published)
            self.counts.published.clear()
            if not desk.behind:
                return

    def going_on(self, *, amendable: bool) -> set[str]:
        """The runs that go on at the end of what was read; with ``amendable`` those too that may still be amended."""
        ended = ENDED if amendable else ENDED | {"closed"}
        states = (item for kept in self._kept.values() for item in kept.items())
        return {key.decode() for key, state in states if kept_phase(state) not in ended}
