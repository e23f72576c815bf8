"""Reads a topic of verdicts from a thread, and notes when each record was visible to a reader of what is committed."""

import asyncio
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from aiokafka import AIOKafkaConsumer


class Watch:
    """What lies in topics and what comes, with the time of its arrival. Reads in a group of nobody's."""

    def __init__(self, bootstrap: str, topics: Sequence[str]) -> None:
        self._bootstrap, self._topics = bootstrap, topics
        self._found: list[tuple[float, bytes]] = []
        self._taken = 0
        self._ready, self._over = threading.Event(), threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # It reports each try at a topic that was just made.
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    def new(self) -> Iterator[tuple[float, bytes]]:
        """What came since the last call, in order.

        Raises:
            RuntimeError: it could not read on.
        """
        if self._failed is not None:
            raise RuntimeError("the watch ended") from self._failed
        while self._taken < len(self._found):
            yield self._found[self._taken]
            self._found[self._taken] = (0.0, b"")  # Whoever takes a record keeps what it needs of it.
            self._taken += 1

    def _run(self) -> None:
        try:
            asyncio.run(self._read())
        except Exception as error:  # noqa: BLE001  (told to whoever asks for more)
            self._failed = error
        finally:
            self._ready.set()

    async def _read(self) -> None:
        consumer = AIOKafkaConsumer(
            *self._topics,
            bootstrap_servers=self._bootstrap,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_wait_ms=50,
        )
        await consumer.start()
        try:
            await consumer.end_offsets(list(consumer.assignment()))
            self._ready.set()
            while not self._over.is_set():
                batches = await consumer.getmany(timeout_ms=100)
                now = time.time()
                self._found += [(now, record.value or b"") for batch in batches.values() for record in batch]
        finally:
            await consumer.stop()
