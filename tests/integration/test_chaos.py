"""`chaos`, in short: each fault once, seeded; the long form is the command."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from stream_graders.chaos import Disturbed
from stream_graders.stream.steps import Step
from tests.cli.commands import command
from tests.kafka.broker import KafkaBroker


def test_a_journal_is_disturbed_alike_each_time() -> None:
    one, other = Disturbed(7, 2_000), Disturbed(7, 2_000)
    assert list(one) == list(other) != list(Disturbed(8, 2_000))
    assert one.counts == other.counts
    assert all(one.counts.values())


@pytest.mark.timeout(600)
def test_whatever_befalls_workers_every_run_gets_exactly_its_verdicts(kafka: KafkaBroker) -> None:
    faults = 4 + len(Step)
    done = command("chaos", "--bootstrap", kafka.bootstrap, "--events", "3000", "--faults", str(faults), "--json")
    result = json.loads(done.out)
    assert (done.code, result["lost"], result["different"]) == (0, 0, 0), done.err
    assert result["verdicts"] > 8 * result["runs"] * 0.9
    assert set(result["died_at"]) == set(Step)
    assert set(result["faults"]) == {"kill", "kill all", "restart", "stop", *(f"die at {step}" for step in Step)}


@pytest.mark.requires_kafka
@pytest.mark.timeout(600)
def test_a_broker_that_is_killed_costs_nothing_either(tmp_path: Path) -> None:
    with KafkaBroker(tmp_path / "kafka") as broker, restarted(broker, tmp_path / "restart") as shell:
        options = ["--events", "1200", "--faults", "4", "--seed", "9", "--no-stops", "--broker", shell]
        done = command("chaos", "--bootstrap", broker.bootstrap, *options, "--json")
    result = json.loads(done.out)
    assert (done.code, result["lost"], result["different"]) == (0, 0, 0), done.err
    assert result["faults"]["broker"] == 1  # The second of the four that this seed draws.


@contextmanager
def restarted(broker: KafkaBroker, wish: Path) -> Iterator[str]:
    """A command that has the broker killed and started again, and ends when it is back."""
    over = threading.Event()

    def serve() -> None:
        while not over.wait(0.1):
            if wish.exists():
                broker.kill()
                broker.start()
                wish.unlink()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"touch {wish} && while [ -e {wish} ]; do sleep 0.1; done"
    finally:
        over.set()
        thread.join()
