"""Quix Streams: a function with a state per key in RocksDB and a changelog topic; at least once, as it comes."""

from pathlib import Path
from typing import Any

from quixstreams import Application

from benchmarks.peers.programs.fold import BOOTSTRAP, GROUP, JOURNAL, PLACE, VERDICTS, begun, fold, fresh


def grade(event: dict[str, Any], state: Any) -> list[dict[str, Any]]:
    begun()
    known = state.get("run") or fresh()
    verdicts = fold(known, event)
    if verdicts is None:
        state.set("run", known)
        return []
    state.delete("run")
    return verdicts


def main() -> None:
    app = Application(
        broker_address=BOOTSTRAP,
        consumer_group=GROUP,
        auto_offset_reset="earliest",
        state_dir=Path(PLACE, "states"),
        processing_guarantee="at-least-once",
        loglevel="WARNING",
    )
    journal = app.topic(JOURNAL, value_deserializer="json")
    verdicts = app.topic(VERDICTS, value_serializer="json")
    app.dataframe(journal).apply(grade, stateful=True, expand=True).to_topic(verdicts)
    app.run()


if __name__ == "__main__":
    main()
