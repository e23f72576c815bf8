"""Writes records to a topic, as fast as it can or at a rate: a process of its own, in an environment with confluent-kafka.

    feeder.py BOOTSTRAP TOPIC FILE RATE COUNT TIMES

FILE holds a record a line, key, tab, value. It says that it is ready, and begins at the first line on its standard input. It sends
COUNT records, at RATE 0 as fast as it can, and goes over the file again, with other keys, when it comes to its end. To TIMES it
writes when each record was sent (seconds since 1970, doubles); to standard output, at last, what it reached.
"""

import json
import sys
import time
from array import array
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import Producer

PAUSE = 0.002
"""Seconds between two looks at the clock: what is due meanwhile is sent together."""


def records(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The file's records; then the same again under other run ids, for ever."""
    lines = [line.rstrip(b"\n").split(b"\t", 1) for line in path.open("rb")]
    yield from ((key, value) for key, value in lines)
    turn = 0
    while True:
        turn += 1
        for key, value in lines:
            new = b"%d-%s" % (turn, key)
            yield new, value.replace(b'"' + key, b'"' + new)


def main(bootstrap: str, topic: str, path: Path, rate: float, count: int, times: str) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,  # Else a retry may overtake what was sent after it, and a run is out of order.
            "partitioner": "murmur2_random",
            "log_level": 3,
            "linger.ms": 2 if rate else 20,
            "batch.size": 100_000,
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 2_000_000,
        }
    )
    waiting = records(path)
    sent, latest = array("d"), 0.0
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.time()
    while len(sent) < count:
        now = time.time()
        due = min(count, int((now - began) * rate)) if rate else min(count, len(sent) + 1_000)
        if rate and due > len(sent):
            latest = max(latest, now - began - len(sent) / rate)
        while len(sent) < due:
            key, value = next(waiting)
            _send(producer, topic, key, value)
            sent.append(time.time())
        producer.poll(0)
        if rate:
            time.sleep(PAUSE)
    took = time.time() - began
    producer.flush()
    with open(times, "wb") as out:  # noqa: PTH123  (array writes to a plain file)
        sent.tofile(out)
    told = {"sent": count, "seconds": took, "rate": count / took, "latest": latest, "cpu": time.process_time()}
    print(json.dumps(told), flush=True)


def _send(producer: Producer, topic: str, key: bytes, value: bytes) -> None:
    while True:
        try:
            producer.produce(topic, value, key)
        except BufferError:
            producer.poll(0.1)
        else:
            return


if __name__ == "__main__":
    bootstrap, topic, path, rate, count, times = sys.argv[1:]
    main(bootstrap, topic, Path(path), float(rate), int(count), times)
