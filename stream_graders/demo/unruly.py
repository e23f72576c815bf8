"""Delivers as real pipelines do: some records late, some twice."""

from collections.abc import Sequence
from typing import Self

from ..emit.encoding import Record
from ..emit.sinks import Fault, Sink
from .agents import seeded

LATE = 0.05
"""How often a record comes after later ones."""
TWICE = 0.03
"""How often a record comes again."""
FARTHEST = 20
"""Records by which one may be displaced; a reader waits for 64 of its run."""


class UnrulySink:
    """Shuffles and doubles on the way to another sink; nothing is lost."""

    def __init__(self, sink: Sink, seed: int) -> None:
        self._sink = sink
        self._seed = seed
        self._random = seeded(f"unruly/{seed}")
        self.late = 0
        """Records that came after later ones."""
        self.twice = 0
        """Records that came again."""

    def describe(self) -> str:
        return self._sink.describe()

    async def send(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        order = self._disturbed(len(records))
        reported = await self._sink.send([records[n] for n in order])
        faults: dict[int, Fault | None] = {}
        for n, fault in zip(order, reported, strict=True):
            faults[n] = faults.get(n) or fault  # Sent again whole if one of its copies was not delivered.
        return [faults[n] for n in range(len(records))]

    async def close(self) -> None:
        await self._sink.close()

    def renewed(self) -> Self:
        return type(self)(self._sink.renewed(), self._seed)

    def _disturbed(self, count: int) -> list[int]:
        """The places of the records in the order in which they go out."""
        placed: list[tuple[int, int]] = []
        for n in range(count):
            late = self._random.random() < LATE
            placed.append((n + self._random.randint(1, FARTHEST) if late else n, n))
            if self._random.random() < TWICE:
                placed.append((n + self._random.randint(1, FARTHEST), n))
        placed.sort(key=lambda each: each[0])
        return self._counted([n for _, n in placed])

    def _counted(self, order: list[int]) -> list[int]:
        seen: set[int] = set()
        highest = -1
        for n in order:
            self.twice += n in seen
            self.late += n not in seen and n < highest
            seen.add(n)
            highest = max(highest, n)
        return order
