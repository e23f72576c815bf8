"""One day at the demo's shop, and what a worker says of it."""

from pathlib import Path
from typing import Any

from stream_graders.config import load
from stream_graders.demo import agents
from stream_graders.demo.agents import Shop, Truth
from stream_graders.demo.board import Board
from stream_graders.emit import Emitter
from stream_graders.emit.sinks import MemorySink
from stream_graders.events import to_json
from stream_graders.session import At, Ledger, Session
from stream_graders.suites import Fleet
from stream_graders.testing import run_verdicts_of, verdicts_of
from stream_graders.verdicts import RunVerdict, Verdict

SUITE = load(Path(agents.__file__).parent / "shop.yaml")


def _day(customers: int) -> tuple[dict[str, Truth], list[Verdict], list[RunVerdict]]:
    """What the agents did, and what a worker says of it."""
    sink = MemorySink()
    emitter = Emitter(sink)
    shop = Shop(emitter, seed=3)
    for _ in range(customers):
        shop.open()
    shop.finish()
    emitter.close(timeout=60)
    sessions: dict[str, Session] = {}
    effects: list[Any] = []
    for offset, event in enumerate(sink.events):
        session = sessions.setdefault(event.run_id, Session(Fleet((SUITE,)), event.run_id, Ledger()))
        effects += session.feed(event, At(1_000, offset, 500))
    return shop.truths, verdicts_of(effects), run_verdicts_of(effects)


TRUTHS, VERDICTS, RUNS = _day(60)


def heard() -> Board:
    """A board that has heard all of it."""
    board = Board()
    for verdict in VERDICTS:
        board.hear(to_json(verdict), of_run=False)
    for run in RUNS:
        board.hear(to_json(run), of_run=True)
    return board
