"""What a network that fails does to one of two workers, on Apache Kafka: it writes late, to runs that are another's by then."""

import re
from pathlib import Path

import pytest

from tests.integration.harness import (
    SHOP,
    Feed,
    Metrics,
    Stage,
    WorkerProcess,
    differing,
    expected,
    free_port,
    hold,
    stories,
    until,
    verdicts,
    written,
)
from tests.kafka.network import LinkedBroker

CUT = 17.0
"""Seconds: longer than the session timeout, so that the other worker takes over, and shorter than a request may take, so
that what was under way still arrives."""


@pytest.mark.requires_kafka
@pytest.mark.timeout(600)
def test_a_network_that_is_cut_for_17_seconds_five_times_changes_no_verdict(tmp_path: Path) -> None:
    suite = written(tmp_path / "shop.yaml", SHOP)
    events = stories(0, 3_000, together=300)  # So many runs at a time that each goes on for longer than a cut.
    ports = free_port(), free_port()
    with LinkedBroker(tmp_path / "kafka") as broker, broker.link() as link:
        stage = Stage(broker.bootstrap).set()
        near = WorkerProcess(stage, [suite], "near", "--metrics-port", str(ports[0]))
        far = WorkerProcess(stage, [suite], "far", "--metrics-port", str(ports[1]), bootstrap=broker.linked)
        with near, far, Feed(stage, events, piece=100) as feed:
            for _ in range(5):
                until(lambda: owned(ports[0]) == owned(ports[1]) == 2, "the workers sharing the work", far)
                link.cut_at_write(f"{stage.app}-runs-changelog")
                until(lambda: link.is_cut, "the far one writing states", far)
                hold(CUT, lambda: owned(ports[0]) == 4, "the near one having taken over", far)
                link.mend()
            feed.finish(near)
            assert [each.process and each.process.poll() for each in (near, far)] == [None, None]
        assert not differing(verdicts(stage), expected(suite, events))


def owned(port: int) -> int:
    """The partitions that the worker that serves this port works on; 0 before it serves it."""
    try:
        return len(re.findall(r"^stream_graders_consumer_lag_records\{", Metrics(port).text, re.MULTILINE))
    except OSError:
        return 0
