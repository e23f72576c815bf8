"""Faust as its manual shows it: an agent, a table with a changelog, a send that is awaited."""

from pathlib import Path
from typing import Any

import faust

from benchmarks.peers.programs.fold import BOOTSTRAP, GROUP, JOURNAL, PLACE, VERDICTS, begun, fold, fresh

app = faust.App(
    GROUP or "peers",
    broker=f"kafka://{BOOTSTRAP}",
    store="memory://",
    datadir=Path(PLACE, "faust"),
    topic_partitions=4,
    topic_replication_factor=1,
    consumer_auto_offset_reset="earliest",
    value_serializer="json",
)
journal = app.topic(JOURNAL or "journal", key_type=str, key_serializer="raw", value_serializer="json")
verdicts = app.topic(VERDICTS or "verdicts", key_type=str, key_serializer="raw", value_serializer="json")
runs = app.Table("runs", default=fresh, partitions=4)


@app.agent(journal)
async def grade(stream: Any) -> None:
    async for event in stream:
        begun()
        run = event["run_id"]
        state = runs[run]
        told = fold(state, event)
        if told is None:
            runs[run] = state
            continue
        for verdict in told:
            await verdicts.send(key=run, value=verdict)
        if run in runs:  # Its pop with a default raises where the key is absent.
            del runs[run]


if __name__ == "__main__":
    app.main()
