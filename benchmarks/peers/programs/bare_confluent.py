"""A loop over confluent-kafka with the runs in a dict: no state survives it."""

from typing import Any

import orjson
from confluent_kafka import Consumer, Producer

from benchmarks.peers.programs.fold import BOOTSTRAP, GROUP, JOURNAL, VERDICTS, begun, fold, fresh


def main() -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": BOOTSTRAP,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "fetch.queue.backoff.ms": 5,  # The default second starves a loop that is faster than its fetches.
        }
    )
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "linger.ms": 5, "enable.idempotence": True})
    consumer.subscribe([JOURNAL])
    runs: dict[bytes, dict[str, Any]] = {}
    while True:
        for record in consumer.consume(1_000, 0.1):
            if record.error():
                continue
            begun()
            key = record.key()
            state = runs.get(key)
            if state is None:
                state = runs[key] = fresh()
            verdicts = fold(state, orjson.loads(record.value()))
            if verdicts is not None:
                del runs[key]
                for verdict in verdicts:
                    producer.produce(VERDICTS, orjson.dumps(verdict), key)
        producer.poll(0)


if __name__ == "__main__":
    main()
