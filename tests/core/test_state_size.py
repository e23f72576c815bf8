"""What a run's state weighs under many checks, on the recorded runs (design 5)."""

from pathlib import Path

import pytest

from benchmarks import data
from stream_graders.config import load
from stream_graders.session import At, Ledger, Session
from stream_graders.suites import Fleet, Suite

FORTY = load(Path(data.__file__).parent / "forty.yaml")


@pytest.mark.parametrize(("checks", "most"), [(30, 8_000), (40, 20_000)])
def test_state_stays_small_on_every_recorded_run(real_data: Path, checks: int, most: int) -> None:
    """Thirty checks fit into 8 kB; the ten beside them remember words that were heard, to find values from nowhere."""
    fleet = Fleet((Suite("many", FORTY.checks[:checks]),))
    for events in data.runs():
        session = Session(fleet, events[0].run_id, Ledger())
        for n, event in enumerate(events):
            session.feed(event, At(1_000 + n, n, 300))
            if n % 8 == 0 or n > len(events) - 3:
                size = len(session.snapshot())
                assert size <= most, (events[0].run_id, n, size)
