"""`explain`, `capture` and `check --against`: looking into runs that one has."""

import json
from pathlib import Path

import pytest
import yaml

from stream_graders.events import Custom
from stream_graders.testing import run
from tests.cli.commands import command
from tests.cli.test_grade import BAD, GOOD, POOR, SUITE, story, written


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "support.yaml"
    path.write_text(SUITE)
    return path


def test_each_event_shows_what_it_moved(tmp_path: Path, suite: Path) -> None:
    told = (
        run("r")
        .starts()
        .asks("hi")
        .says("a refund,\nperhaps")
        .calls("refund", {"n": 1})
        .returns("ok", is_error=True)
        .ends()
    )
    done = command("explain", "r", written(tmp_path / "runs.jsonl", GOOD, told), "-s", suite)
    assert done.code == 0
    assert done.out.splitlines() == [
        "   0  run.start",
        "        keeps-from-saying: open, fail so far (no_messages) no assistant messages in transcript to check",
        "        refunds: open, skipped so far (not_applicable) the condition did not come true: said refund",
        "   1  message, user: hi",
        "   2  message, assistant: a refund, perhaps",
        "        keeps-from-saying: open, pass so far (not_found) 'guarantee' NOT found in transcript",
        "        refunds: open, fail so far (not_called) refund was never called. The agent called no tools.",
        '   3  tool.call refund: {"n":1}',
        "        refunds: pass (called) refund was called.",
        "   4  tool.result refund (error): ok",
        "   5  run.end, ok",
        "keeps-from-saying: final pass (not_found), decided by seq 5: 'guarantee' NOT found in transcript",
        "refunds: final pass (called), decided by seq 3: refund was called.",
        "suite support: pass (all_passed), complete by run_end",
    ]


def test_it_says_the_same_as_json(tmp_path: Path, suite: Path) -> None:
    done = command("explain", "bad", written(tmp_path / "runs.jsonl", BAD), "-s", suite, "--json")
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["seq"] for line in lines if "event" in line] == [0, 1, 2, 3]
    assert [one["check"] for one in lines[2]["moved"]] == ["keeps-from-saying"]
    assert lines[-1]["run_verdict"]["outcome"] == "fail"


WHY_NOT = {
    "not there": (GOOD, "goood", "no event of run goood is in these files; the nearest of 1 runs: good"),
    "nothing like it": (GOOD, "x", "no event of run x is in these files; 1 runs are there"),
}


@pytest.mark.parametrize(("told", "run_id", "said"), WHY_NOT.values(), ids=list(WHY_NOT))
def test_a_run_that_is_not_there(tmp_path: Path, suite: Path, told: object, run_id: str, said: str) -> None:
    done = command("explain", run_id, written(tmp_path / "runs.jsonl", told), "-s", suite)  # type: ignore[arg-type]  # a story is events
    assert (done.code, done.err.strip()) == (4, said)


def test_why_a_run_has_no_verdict(tmp_path: Path, suite: Path) -> None:
    suite.write_text(SUITE.replace("checks:", "select: {agent: other}\nchecks:"))
    done = command("explain", "good", written(tmp_path / "runs.jsonl", GOOD), "-s", suite)
    assert done.code == 4
    assert done.out.splitlines()[-1] == (
        "no verdict: no suite grades it: support: agent is agent-1, the suite selects other"
    )
    done = command("explain", "r", written(tmp_path / "runs.jsonl", run("r").adds(Custom, name="x")), "-s", suite)
    assert done.code == 4
    assert "no event opened it" in done.out


def test_a_gap_is_shown_where_it_holds_events_back(tmp_path: Path, suite: Path) -> None:
    events = [event for event in story("r", "a", "b") if event.seq != 2]
    done = command("explain", "r", written(tmp_path / "runs.jsonl", events), "-s", suite)
    assert "        waits: an event before it has not come yet" in done.out.splitlines()
    assert done.out.splitlines()[-1].endswith("flags: incomplete")


def test_a_captured_run_is_a_case_that_passes(tmp_path: Path, suite: Path) -> None:
    told = (
        run("r/1", environment="production").starts(labels={"prompt": "v7"}).asks("hi", step=0).says("a refund", turn=0)
        .calls("refund", {"n": 1}).returns({"ok": True}, is_error=False).pauses().resumes().ends_turn()
        .adds(Custom, name="note", body=[1]).asks([{"type": "text", "content": "x"}]).says(None).ends(output="done")
    )  # fmt: skip
    bare = list(run("bare").asks("hi").says("I guarantee it"))
    file = written(tmp_path / "runs.jsonl", told, bare)
    cases = tmp_path / "support.test.yaml"
    for run_id in ("r/1", "bare"):
        done = command("capture", run_id, file, "-s", suite, "--as-test", cases)
        assert (done.code, done.err) == (0, "")
    assert command("test", cases).out == "2 of 2 cases passed\n"
    first, second = yaml.safe_load(cases.read_text())["runs"]
    assert first["expect"] == {"keeps-from-saying": "pass", "refunds": "pass"}
    assert second["outcome"] == "fail"
    assert command("capture", "bare", file, "-s", suite, "--as-test", cases).code == 2
    printed = command("capture", "r/1", file, "-s", suite).out
    assert yaml.safe_load(printed)["runs"][0] == first


def test_a_run_without_a_verdict_cannot_be_captured(tmp_path: Path, suite: Path) -> None:
    file = written(tmp_path / "runs.jsonl", GOOD)
    assert command("capture", "nobody", file, "-s", suite).code == 2
    suite.write_text(SUITE.replace("checks:", "select: {agent: other}\nchecks:"))
    assert "has no verdict on run good" in command("capture", "good", file, "-s", suite).err


def test_checks_are_tried_on_runs(tmp_path: Path, suite: Path) -> None:
    many = [story(f"good-{n}", "fine") for n in range(5)]
    done = command("check", suite, "--against", written(tmp_path / "runs.jsonl", *many, POOR, BAD))
    assert done.code == 0
    assert done.out.splitlines()[1:] == [
        "support: keeps-from-saying: 85.7% of 7  (1 fail)",
        "    pass: good-0: 'guarantee' NOT found in transcript",
        "    pass: good-1: 'guarantee' NOT found in transcript",
        "    pass: good-2: 'guarantee' NOT found in transcript",
        "    fail: bad: 'guarantee' found in transcript",
        "support: refunds: 0.0% of 1  (1 fail, 6 skipped)",
        "    fail: poor: refund was never called. The agent called no tools.",
        *(f"    skipped: good-{n}: the condition did not come true: said refund" for n in range(3)),
    ]
    as_json = command("check", suite, "--against", tmp_path / "runs.jsonl", "--json")
    counts = [json.loads(line)["counts"] for line in as_json.out.splitlines()]
    assert counts == [{"pass": 6, "fail": 1}, {"skipped": 6, "fail": 1}]


def test_checks_that_no_run_is_for_are_told(tmp_path: Path, suite: Path) -> None:
    suite.write_text(SUITE.replace("checks:", "select: {agent: other}\nchecks:"))
    done = command("check", suite, "--against", written(tmp_path / "runs.jsonl", GOOD))
    assert (done.code, done.err.splitlines()) == (
        4,
        [
            "no run was graded: there is none that a suite selects and that has ended",
            "4 events are of runs that no suite selects",
        ],
    )
