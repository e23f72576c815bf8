"""Room for the names that producers choose: a fleet has its own series, and no name makes the page grow."""

import gc
import tracemalloc
from collections.abc import Callable, Iterable

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from stream_graders.events import Agent
from stream_graders.gradebook import Publish
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.metrics import Metrics
from stream_graders.metrics.groups import IDLE, OTHER, SERIES, Labels, Room
from stream_graders.suites import Check
from stream_graders.testing import fed, run, session_of, suite_of
from stream_graders.verdicts import Identity, Outcome

CHECKS = 12
SUITE = suite_of(*(Check(f"check-{n}", TranscriptContains("welcome"), "minor", "ticket") for n in range(CHECKS)))
AGENTS, ENVIRONMENTS, VERSIONS = 40, ("production", "staging"), 200
HOSTILE: list[Callable[[int], str]] = [
    lambda n: f"agent-{n}",
    lambda n: f'a"{n}\\',
    lambda n: f"line\nline-{n}",
    lambda n: f"{n}-" + "x" * 500,
    lambda n: f"代理-{n}\u2028\x00",
]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def room(limit: int) -> tuple[Room[Labels], Clock, list[Labels]]:
    clock, dropped = Clock(), list[Labels]()
    return Room(lambda labels: labels, dropped.append, limit, clock), clock, dropped


def opens(metrics: Metrics, agents: Iterable[str], version: str = "1", environment: str = "production") -> None:
    for agent in agents:
        metrics.opened(Identity(agent=Agent(agent, version), environment=environment), [SUITE])


def series(metrics: Metrics) -> list[dict[str, str]]:
    """The labels of every series that a run can begin."""
    return [s.labels for family in metrics.registry.collect() for s in family.samples if "suite" in s.labels]


# -- room ----------------------------------------------------------------------------------------------------------------


def test_whoever_comes_first_has_room_and_the_next_ones_are_other() -> None:
    rooms, _, dropped = room(20)
    assert rooms.of("a", "prod", "s", 10) == (("a", "prod", "s"), True)
    assert rooms.of("b", "prod", "s", 10) == (("b", "prod", "s"), True)
    assert rooms.of("c", "prod", "s", 10) == ((OTHER, OTHER, "s"), False)
    assert rooms.of("a", "prod", "s", 10) == (("a", "prod", "s"), True)
    assert dropped == []


def test_a_group_gives_way_once_nobody_has_heard_of_it_for_a_day() -> None:
    rooms, clock, dropped = room(20)
    rooms.of("a", "prod", "s", 10)
    rooms.of("b", "prod", "s", 10)
    clock.now = IDLE - 1
    rooms.of("a", "prod", "s", 10)
    assert rooms.of("c", "prod", "s", 10)[1] is False
    clock.now = IDLE
    assert rooms.of("c", "prod", "s", 10) == (("c", "prod", "s"), True)
    assert dropped == [("b", "prod", "s")], "a was heard of a second ago"
    assert rooms.of("d", "prod", "s", 10)[1] is False


def test_a_suite_that_has_no_room_at_all_is_counted_all_the_same() -> None:
    rooms, clock, _ = room(20)
    for clock.now in (0.0, 2 * IDLE):
        assert rooms.of("a", "prod", "large", 30) == ((OTHER, OTHER, "large"), False)


def test_an_agent_that_is_called_other_is_counted_with_the_others() -> None:
    rooms, _, _ = room(20)
    assert rooms.of(OTHER, OTHER, "s", 10) == ((OTHER, OTHER, "s"), False)
    assert rooms.of(OTHER, "prod", "s", 10) == ((OTHER, "prod", "s"), True)


# -- a fleet -------------------------------------------------------------------------------------------------------------


def test_forty_agents_with_twelve_checks_in_two_environments_have_series_of_their_own() -> None:
    metrics = Metrics([SUITE])
    for version in range(VERSIONS):
        for environment in ENVIRONMENTS:
            opens(metrics, (f"agent-{n}" for n in range(AGENTS)), f"2.{version}", environment)
    told = series(metrics)
    assert OTHER not in {labels.get("agent") for labels in told}
    verdicts = [labels for labels in told if "outcome" in labels and "check" in labels]
    assert len(verdicts) == AGENTS * CHECKS * len(Outcome) * len(ENVIRONMENTS) <= SERIES
    assert not any("version" in label for labels in verdicts for label in labels), "releases come and go"


@pytest.mark.parametrize("named", HOSTILE)
def test_names_that_are_new_with_every_run_neither_grow_the_page_nor_break_it(named: Callable[[int], str]) -> None:
    metrics = Metrics([SUITE])
    opens(metrics, map(named, range(500)))
    before = len(series(metrics))
    folded = metrics.registry.get_sample_value("stream_graders_labels_folded_total", {"suite": "suite"})
    opens(metrics, map(named, range(500, 3_000)))
    assert len(series(metrics)) == before <= 3 * SERIES
    assert folded
    assert metrics.registry.get_sample_value("stream_graders_labels_folded_total", {"suite": "suite"}) == folded + 2_500
    others = {"agent": OTHER, "environment": OTHER, "suite": "suite"}
    assert metrics.registry.get_sample_value("stream_graders_runs_started_total", others) == folded + 2_500
    total = sum(s.value for f in metrics.started.collect() for s in f.samples)
    assert total == 3_000, "folded runs are counted, not lost"


@pytest.mark.parametrize("named", HOSTILE)
def test_a_page_with_such_names_can_be_read(named: Callable[[int], str]) -> None:
    metrics = Metrics([SUITE])
    opens(metrics, map(named, range(3)), environment=named(4))
    page = generate_latest(metrics.registry).decode()
    read = [
        s.labels
        for f in text_string_to_metric_families(page)
        for s in f.samples
        if s.name.endswith("runs_started_total")
    ]
    assert len(read) == len({labels["agent"] for labels in read})
    assert all(len(labels["agent"]) <= 64 and labels["agent"].isprintable() for labels in read)


def test_memory_stays_however_many_names_come() -> None:
    metrics = Metrics([SUITE])
    opens(metrics, (f"agent-{n}" for n in range(500)))
    tracemalloc.start()
    try:
        opens(metrics, (f"agent-{n}" for n in range(500, 1_500)))
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        opens(metrics, (f"agent-{n}" for n in range(1_500, 21_500)))
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 10_000, "twenty thousand names, less than a byte each"


def test_a_group_that_gave_way_takes_all_of_its_series_along() -> None:
    metrics = Metrics([SUITE])
    clock = metrics._room._now = Clock()
    session = session_of(SUITE)
    late = run(environment="production").starts().says("bye").ends(last_seq=2).says("welcome")
    for effect in fed(session, late):
        assert isinstance(effect, Publish)
        metrics.published(effect.record)
    names = {labels["agent"] for labels in series(metrics) if "agent" in labels}
    assert names == {"agent-1"}
    clock.now = IDLE
    opens(metrics, (f"new-{n}" for n in range(100)))
    names = {labels["agent"] for labels in series(metrics) if "agent" in labels}
    assert "agent-1" not in names
    assert "new-0" in names
    opens(metrics, ["agent-1"])  # It comes back, and finds no room.
    others = {"agent": OTHER, "environment": OTHER, "suite": "suite"}
    assert metrics.registry.get_sample_value("stream_graders_runs_started_total", others)
