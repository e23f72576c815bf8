"""Runs the benchmarks side by side on one Apache Kafka and prints their tables.

Ratios are what counts: they are taken in turn on the same broker and data. Raw results go to
``benchmarks/results.json``.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient

from stream_graders.stream.topics import Placement, apply, load_topics, place
from tests.kafka.broker import KafkaBroker

from . import data

SUITE = data.ROOT / "tests" / "integration" / "tau.yaml"
RESULTS = data.ROOT / "benchmarks" / "results.json"
PARTITIONS = 4


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--events", type=int, default=200_000, help="journal records to grade")
    parser.add_argument("--rounds", type=int, default=3, help="times each is measured, in turn")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, KafkaBroker(Path(folder)) as broker:
        records = data.records(options.events)
        asyncio.run(_topics(broker.bootstrap, "bench"))
        asyncio.run(_fill(broker.bootstrap, records))
        found: dict[str, list[dict[str, Any]]] = {"bare": [], "worker, 0 checks": [], "worker, 12 checks": []}
        for _ in range(options.rounds):
            found["bare"].append(_run("benchmarks.bare", broker.bootstrap, "agent.events.v1", str(len(records))))
            for name, suite in (("worker, 0 checks", ""), ("worker, 12 checks", str(SUITE))):
                group = f"bench-{uuid.uuid4().hex[:8]}"
                asyncio.run(_topics(broker.bootstrap, group))
                told = (broker.bootstrap, group, "agent.events.v1", suite, str(len(records)))
                found[name].append(_run("benchmarks.worker", *told))
    core = [_run("benchmarks.core", str(SUITE), "100000") for _ in range(options.rounds)]
    size = sum(len(value) for _, value in records) / len(records)
    RESULTS.write_text(
        json.dumps({"events": len(records), "bytes": size, "kafka": found, "core": core}, indent=1) + "\n"
    )
    _print(found, core, len(records), size)


def _print(found: dict[str, list[dict[str, Any]]], core: list[dict[str, Any]], count: int, size: float) -> None:
    load = os.getloadavg()[0]
    print(
        f"\n{count:,} events of {size:.0f} B on average, {PARTITIONS} partitions; load of the machine at the end {load:.1f}"
    )
    print(f"{'':20} {'k events/s':>12} {'range':>14} {'CPU µs/event':>13} {'of bare':>8}")
    bare = [run["events"] / run["wall"] for run in found["bare"]]
    for name, runs in found.items():
        rates = [run["events"] / run["wall"] for run in runs]
        cpu = statistics.median(run["cpu"] / run["events"] * 1e6 for run in runs)
        ratio = statistics.median(rate / of for rate, of in zip(rates, bare, strict=True))
        spread = f"{min(rates) / 1e3:.0f} to {max(rates) / 1e3:.0f}"
        print(f"{name:20} {statistics.median(rates) / 1e3:12.1f} {spread:>14} {cpu:13.1f} {ratio:8.2f}")
    each = statistics.median(run["us_per_event"] for run in core)
    growth = statistics.median(run["growth"] for run in core)
    print(f"core alone, 12 checks: {each:.1f} µs of CPU an event; message 200 of a run costs {growth:.2f} × message 2")


def _run(module: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=data.ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{module} failed:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


async def _topics(bootstrap: str, group: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await apply(admin, place(load_topics(), Placement(app=group, partitions=PARTITIONS, replication=1)))
    await admin.close()


async def _fill(bootstrap: str, records: list[tuple[bytes, bytes]]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=20)
    await producer.start()
    for start in range(0, len(records), 20_000):
        futures = [await producer.send("agent.events.v1", value, key) for key, value in records[start : start + 20_000]]
        await asyncio.gather(*futures)
    await producer.stop()


if __name__ == "__main__":
    main()
