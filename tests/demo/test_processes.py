"""A supervised process is started again when that helps, and not when it does not."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_graders.demo import processes
from stream_graders.demo.processes import Supervisor, WorkerError, WorkerProcess

WAITS = "import signal; print('up', flush=True); signal.pause()"


def supervised(tmp_path: Path, script: str) -> Supervisor:
    return Supervisor([sys.executable, "-c", script], tmp_path / "output.log")


def watched(supervisor: Supervisor, until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not until():
        supervisor.watch()
        assert time.monotonic() < deadline


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "FIRST_PAUSE", 0.05)


def test_a_fault_is_an_end_to_start_again_from(tmp_path: Path) -> None:
    with supervised(tmp_path, "raise SystemExit(3)") as supervisor:
        watched(supervisor, lambda: supervisor.restarts == 3)


def test_each_pause_is_longer(tmp_path: Path) -> None:
    with supervised(tmp_path, "raise SystemExit(3)") as supervisor:
        began = time.monotonic()
        watched(supervisor, lambda: supervisor.restarts == 3)
        assert time.monotonic() - began > 0.05 + 0.1 + 0.2


def test_a_killed_process_is_started_again(tmp_path: Path) -> None:
    with supervised(tmp_path, WAITS) as supervisor:
        assert supervisor._process is not None
        supervisor._process.kill()
        supervisor._process.wait()
        assert supervisor.pid is None
        watched(supervisor, lambda: supervisor.pid is not None)
        assert supervisor.restarts == 1


@pytest.mark.parametrize("code", [0, 2, 78])
def test_any_other_end_is_final_and_told_with_its_last_words(tmp_path: Path, code: int) -> None:
    with (
        supervised(tmp_path, f"print('first'); print('topics differ'); raise SystemExit({code})") as supervisor,
        pytest.raises(WorkerError, match=f"^the worker ended with exit code {code}: topics differ$"),
    ):
        watched(supervisor, lambda: False)


def test_leaving_sees_the_process_gone(tmp_path: Path) -> None:
    with supervised(tmp_path, WAITS) as supervisor:
        pid = supervisor.pid
    assert supervisor.pid is None
    assert not Path(f"/proc/{pid}").exists()


def test_a_worker_that_is_away_has_no_ledger(tmp_path: Path) -> None:
    worker = WorkerProcess("127.0.0.1:1", [tmp_path / "suite.yaml"], tmp_path / "output.log")
    assert worker.ledger() == {}
    assert not worker.is_ready()


def test_a_ledger_is_read_from_the_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (
        "# TYPE stream_graders_events_total counter\n"
        'stream_graders_events_total{fate="graded"} 12.0\n'
        'stream_graders_events_total{fate="duplicate"} 3.0\n'
        "stream_graders_events_held 1.0\n"
        "stream_graders_ledger_difference_events 0.0\n"
        'stream_graders_events_consumed_total{type="message"} 9.0\n'
    )
    worker = WorkerProcess("127.0.0.1:1", [tmp_path / "suite.yaml"], tmp_path / "output.log")
    monkeypatch.setattr(worker, "_page", lambda name: page)
    assert worker.ledger() == {"graded": 12, "duplicate": 3, "events_held": 1, "ledger_difference_events": 0}
