"""What processes cost is read right, and none is left behind."""

import sys
from pathlib import Path

import pytest

from benchmarks.machine import Started, cpu_of

SPINS = "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', 'while True: pass']); child.wait()"


def test_the_work_of_a_child_counts_and_the_child_is_ended(tmp_path: Path) -> None:
    program = Started([sys.executable, "-c", SPINS], tmp_path / "log")
    try:
        while program.sample() < 0.3:
            program.check()
        assert cpu_of(program.pid) < 0.3 <= program.sample()
        assert program.peak >= program.memory() * 0.5 > 0
    finally:
        program.kill()
    assert program.memory() == 0


def test_a_program_that_ended_is_told_with_its_output(tmp_path: Path) -> None:
    program = Started([sys.executable, "-c", "raise SystemExit('no such thing')"], tmp_path / "log")
    program.process.wait()
    with pytest.raises(SystemExit, match="no such thing"):
        program.check()
    program.kill()
