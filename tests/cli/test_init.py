"""`stream-graders init`: what runs show of agents, and a first suite that can be used as it is."""

import json
from pathlib import Path

import pytest
import yaml

from stream_graders.config import read
from stream_graders.events import UNSENT
from stream_graders.testing import run
from tests.cli.commands import command
from tests.cli.test_grade import written


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    whole = (
        run("whole", environment="production").starts().asks("refund it").calls("orders.find", {"mail": "a@b", "n": 1})
        .returns({"order_id": "O-1", "lines": []}, is_error=False).calls("payments.refund", {"order": "O-1"})
        .returns("done", is_error=True).says("O-1 is refunded").ends()
    )  # fmt: skip
    poor = run("poor", seq=None).calls("orders.find", [1]).returns(UNSENT).calls("what is: this?", {"x": True})
    return written(tmp_path / "runs.jsonl", whole, poor)


def test_it_tells_what_it_saw(runs: Path) -> None:
    done = command("init", "--from", runs)
    assert done.code == 0
    told = [line[2:] for line in done.out.splitlines() if line.startswith("# ")]
    assert told[:6] == [
        "2 runs, 11 events",
        "agent agent-1: 1.0 (2 runs)",
        "tool orders.find(mail: text, n: number) -> {order_id, lines} or nothing: 2 calls, 0 errors",
        "tool payments.refund(order: text) -> text: 1 calls, 1 errors, likely a write",
        "tool what is: this?(x: boolean) -> nothing: 1 calls, 0 errors",
        "missing: 1 of 2 runs have no run.start: silence is not a fact: without `reports` no check can say that a tool was not called",
    ]
    assert [line.partition(":")[0] for line in told[6:10]] == ["missing"] * 4 + [
        "1 of 2 runs have a call without a result"
    ][:0]
    assert "missing: 1 of 2 runs have a call without a result" in told


def test_the_suite_is_good_and_has_nothing_critical(runs: Path, tmp_path: Path) -> None:
    suite = tmp_path / "first.yaml"
    done = command("init", "--from", runs, "-o", suite)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1].startswith(f"{suite}: a first suite; try it: stream-graders check")
    loaded, problems = read(suite)
    assert (loaded is not None, [str(problem) for problem in problems]) == (True, [])
    checks = {check["check"]: check for check in yaml.safe_load(suite.read_text())["checks"]}
    assert {check["severity"] for check in checks.values()} == {"minor", "info"}
    assert checks["writes"]["settings"]["writes"] == ["payments.refund"]
    assert checks["orders-find-order-id-is-real"]["when"] == {"called": "orders.find"}
    assert checks["known-tools"]["settings"]["tools"] == ["orders.find", "payments.refund", "what is: this?"]
    assert command("check", suite, "--against", runs).code == 0
    assert command("init", "--from", runs, "-o", suite).code == 2


def test_the_facts_as_json(runs: Path) -> None:
    facts = json.loads(command("init", "--from", runs, "--json").out)
    assert facts["agents"] == {"agent-1": {"1.0": 2}}
    assert facts["environments"] == ["production"]
    assert facts["tools"]["payments.refund"] == {
        "calls": 1, "errors": 1, "args": {"order": ["text"]}, "results": {"text": 1}, "write": True,
    }  # fmt: skip


def test_files_without_events_are_told(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    done = command("init", "--from", tmp_path / "empty.jsonl")
    assert (done.code, len(done.err.splitlines())) == (2, 1)


def test_recorded_runs_give_suites_that_grade_them(real_data: Path, tmp_path: Path) -> None:
    for n, file in enumerate(sorted(real_data.glob("tau*_bench/*.jsonl.gz"))[:4]):
        suite = tmp_path / f"s{n}.yaml"
        assert command("init", "--from", file, "-o", suite).code == 0
        assert command("check", suite, "--against", file).code == 0
