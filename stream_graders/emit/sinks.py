"""Where records go: what a sink promises, and two that need no broker."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from ..events import Event
from ..wire import decode
from .encoding import Record

THREAD = "stream-graders-emit"
"""The name of the one thread that sinks are called from."""


@dataclass(frozen=True)
class Fault:
    """Why a record was not delivered. One that is ``final`` would not be next time either."""

    reason: str
    final: bool = False


class Sink(Protocol):
    """Delivers records. All calls come from one thread and one event loop, never two at a time."""

    def describe(self) -> str:
        """Where the records go, for messages to people."""

    async def send(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        """Deliver records in their order; for each, None once it is durable, or why it is not. Does not raise."""

    async def close(self) -> None:
        """Let go of what is open. A later `send` may open it again."""

    def renewed(self) -> Self:
        """This sink for a forked child: the same place, with nothing open. What the parent opened stays the parent's."""


@dataclass
class MemorySink:
    """Keeps the records, for tests."""

    records: list[Record] = field(default_factory=list)

    @property
    def events(self) -> list[Any]:
        """The records as readers see them."""
        return [decode(record.value, record.key) for record in self.records]

    def events_of(self, run_id: str) -> list[Event]:
        """The events of one run."""
        return [event for event in self.events if event.run_id == run_id]

    def describe(self) -> str:
        return "memory"

    async def send(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        self.records += records
        return [None] * len(records)

    async def close(self) -> None:
        pass

    def renewed(self) -> Self:
        return type(self)()


@dataclass
class FileSink:
    """Appends the events to a file, one a line: what `stream-graders grade` reads."""

    path: Path

    def describe(self) -> str:
        return str(self.path)

    async def send(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        try:
            # No event loop waits for the disk: this one serves the sink alone.
            with self.path.open("ab") as file:
                file.writelines(record.value + b"\n" for record in records)
        except OSError as error:
            return [Fault(str(error))] * len(records)
        return [None] * len(records)

    async def close(self) -> None:
        pass

    def renewed(self) -> Self:
        return self
