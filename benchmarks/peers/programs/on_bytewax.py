"""Bytewax: its Kafka source, a step with a state per run, its Kafka sink. With ``--recover``, a snapshot each second."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import bytewax.operators as op
import orjson
from bytewax.connectors.kafka import KafkaSinkMessage
from bytewax.connectors.kafka import operators as kafka
from bytewax.dataflow import Dataflow
from bytewax.recovery import RecoveryConfig, init_db_dir
from bytewax.run import cli_main

from benchmarks.peers.programs.fold import BOOTSTRAP, JOURNAL, PLACE, VERDICTS, begun, fold, fresh

PARTS = 4
"""Of the recovery store, as many as the topic has partitions."""


def read(record: Any) -> tuple[str, dict[str, Any]]:
    begun()
    event = orjson.loads(record.value)
    return event["run_id"], event


def grade(state: dict[str, Any] | None, event: dict[str, Any]) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    state = fresh() if state is None else state
    verdicts = fold(state, event)
    return (state, []) if verdicts is None else (None, verdicts)


def written(item: tuple[str, dict[str, Any]]) -> Any:
    run, verdict = item
    return KafkaSinkMessage(run.encode(), orjson.dumps(verdict))


def flow() -> Any:
    dataflow = Dataflow("peers")
    source = kafka.input("journal", dataflow, brokers=[BOOTSTRAP], topics=[JOURNAL], tail=True)
    events = op.map("read", source.oks, read)
    verdicts = op.stateful_flat_map("grade", events, grade)
    kafka.output("verdicts", op.map("written", verdicts, written), brokers=[BOOTSTRAP], topic=VERDICTS)
    return dataflow


def recovery() -> Any:
    store = Path(PLACE, "recovery")
    if not store.exists():
        store.mkdir()
        init_db_dir(store, PARTS)
    return RecoveryConfig(str(store), timedelta(0))


if __name__ == "__main__":
    if "--recover" in sys.argv:
        cli_main(flow(), epoch_interval=timedelta(seconds=1), recovery_config=recovery())
    else:
        cli_main(flow(), epoch_interval=timedelta(seconds=10))  # Its own default.
