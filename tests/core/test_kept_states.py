"""A worker that was upgraded goes on from the states that the version before it kept."""

import pytest

from stream_graders.session import STATE_VERSION, Ledger, Session, kept_phase, watermark
from tests.core.kept_states import KEPT, Kept, fleet_of, states_of, went_on

VERSIONS = sorted(int(path.stem) for path in KEPT.glob("*.jsonl"))
STATES = [(version, kept) for version in VERSIONS for kept in states_of(version)]


def test_states_of_every_version_were_recorded() -> None:
    assert list(range(1, STATE_VERSION + 1)) == VERSIONS, "record this version: python -m tests.core.kept_states"


@pytest.mark.parametrize(("version", "kept"), STATES, ids=[f"{version}, {kept.name}" for version, kept in STATES])
def test_a_run_goes_on_from_a_state_of_an_older_version(version: int, kept: Kept) -> None:
    fleet = fleet_of(version)
    data = kept.state.encode()
    assert watermark(data) < min((offset for _, _, offset in kept.rest), default=10**9)
    assert kept_phase(data) == Session.resume(fleet, kept.run_id, data, Ledger()).phase
    # A check whose grader means something else since then ends as not graded; nothing else may change.
    [suite] = fleet
    same = {check.name for check in suite.checks} & {row[0] for row in kept.said if (row[0], row[1]) in suite.by_key}
    assert [row for row in went_on(fleet, kept) if row[0] in same] == [row for row in kept.said if row[0] in same]
    assert bool(same) == bool(kept.said), "no check is as it was then"


def test_every_phase_was_recorded() -> None:
    for version in VERSIONS:
        phases = {kept_phase(kept.state.encode()) for kept in states_of(version)}
        since_2 = {"judging"} if version >= 2 else set()
        assert phases == {"new", "waiting", "open", "closed", "ended", "unselected"} | since_2
