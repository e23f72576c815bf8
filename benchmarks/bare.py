"""The bare consumer loop that a worker is measured against: getmany and orjson, nothing kept, nothing written."""

import asyncio
import json
import sys
import time

import orjson
from aiokafka import AIOKafkaConsumer


async def main(bootstrap: str, topic: str, count: int) -> None:
    consumer = AIOKafkaConsumer(
        topic, bootstrap_servers=bootstrap, enable_auto_commit=False, auto_offset_reset="earliest"
    )
    await consumer.start()
    read, began, cpu = 0, 0.0, 0.0
    while read < count:
        for batch in (await consumer.getmany(timeout_ms=1000, max_records=5000)).values():
            if not began:
                began, cpu = time.perf_counter(), time.process_time()
            for record in batch:
                orjson.loads(record.value or b"")
            read += len(batch)
    print(json.dumps({"events": read, "wall": time.perf_counter() - began, "cpu": time.process_time() - cpu}))
    await consumer.stop()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
