"""A sink that delivers when the test says so, and one that fails as the test says."""

import asyncio
from collections.abc import Sequence

from stream_graders.emit.encoding import Record
from stream_graders.emit.sinks import Fault, MemorySink


class HeldSink(MemorySink):
    """Delivers nothing until `release`."""

    def __init__(self) -> None:
        super().__init__()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._released = asyncio.Event()

    def release(self) -> None:
        if self._loop is None:
            self._released.set()
        else:
            self._loop.call_soon_threadsafe(self._released.set)

    async def send(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        self._loop = asyncio.get_running_loop()
        await self._released.wait()
        return await super().send(records)


class FaultySink(MemorySink):
    """Refuses for good what holds ``poison``, together with all that is sent with it, as a broker does.

    Before that it reports ``outages`` faults that pass.
    """

    def __init__(self, outages: int = 0, poison: bytes = b"poison") -> None:
        super().__init__()
        self.outages = outages
        self.poison = poison

    async def send(self, records: Sequence[Record]) -> Sequence[Fault | None]:
        if self.outages:
            self.outages -= 1
            return [Fault("broker away")] * len(records)
        if any(self.poison in record.value for record in records):
            return [Fault("too large", final=True)] * len(records)
        return await super().send(records)
