"""A loop over aiokafka with the runs in a dict: no state survives it."""

import asyncio
from typing import Any

import orjson
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from benchmarks.peers.programs.fold import BOOTSTRAP, GROUP, JOURNAL, VERDICTS, begun, fold, fresh


async def main() -> None:
    consumer = AIOKafkaConsumer(JOURNAL, bootstrap_servers=BOOTSTRAP, group_id=GROUP, auto_offset_reset="earliest")
    producer = AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, linger_ms=5, max_batch_size=131_072)
    await consumer.start()
    await producer.start()
    runs: dict[bytes, dict[str, Any]] = {}
    while True:
        batches: dict[Any, list[Any]] = await consumer.getmany(timeout_ms=200, max_records=5_000)
        for batch in batches.values():
            begun()
            for record in batch:
                key = record.key
                state = runs.get(key)
                if state is None:
                    state = runs[key] = fresh()
                verdicts = fold(state, orjson.loads(record.value))
                if verdicts is not None:
                    del runs[key]
                    for verdict in verdicts:
                        await producer.send(VERDICTS, orjson.dumps(verdict), key)


if __name__ == "__main__":
    asyncio.run(main())
