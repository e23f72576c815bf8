"""`init`, `check --against`, `explain` and `capture` on a topic: what lies in the journal, without a worker."""

import json
from pathlib import Path

import pytest
import yaml

from stream_graders.events import Event, to_json
from stream_graders.stream.topics import partition_of
from stream_graders.testing import run
from tests.cli.commands import command
from tests.integration.harness import Stage, WorkerProcess, until
from tests.kafka.broker import KafkaBroker

SUITE = """
suite: shop
completion: {idle_agent: 1s, idle_user: 1s, idle_tool: 1s}
checks:
  - {check: polite, grader: vally.transcript_contains, severity: critical, settings: {substring: welcome}}
  - {check: no-drop, grader: agentlasso.tool_not_called, severity: minor, settings: {tool: db.drop}}
"""


TICK = b'{"schema": "stream_graders.event/1", "type": "tick"}'


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(SUITE.replace("completion: {idle_agent: 1s, idle_user: 1s, idle_tool: 1s}\n", ""))
    return path


@pytest.fixture
def stage(kafka: KafkaBroker) -> Stage:
    return Stage(kafka.bootstrap).set()


def place(stage: Stage) -> str:
    return f"kafka:{stage.topic('journal')}"


def whole(run_id: str, said: str = "welcome") -> list[Event]:
    told = run(run_id).starts().asks("hello").calls("orders.find", {"n": 1}).returns({"id": "A-1"})
    return list(told.says(said).ends())


def test_a_run_is_explained_from_its_partition(stage: Stage, suite: Path) -> None:
    stage.tell(event for n in range(8) for event in whole(f"r-{n}"))
    stage.tell(whole("sought", "goodbye"))
    done = command("explain", "sought", place(stage), "--bootstrap", stage.bootstrap, "-s", suite)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-5:] == [
        "   4  message, assistant: goodbye",
        "   5  run.end, ok",
        "polite: final fail (not_found), decided by seq 5: 'welcome' NOT found in transcript",
        "no-drop: final pass (not_called), decided by seq 5: db.drop was never called. The agent called: orders.find.",
        "suite shop: fail (critical_failed), complete by run_end",
    ]


def test_a_run_that_is_not_in_the_topic_is_told_with_what_is_near(stage: Stage, suite: Path) -> None:
    stage.tell(whole("sought-1"))
    done = command("explain", "sought-2", place(stage), "--bootstrap", stage.bootstrap, "-s", suite)
    assert (done.code, done.out) == (4, "")
    assert done.err == (
        f"no event of run sought-2 is in {place(stage)} any more, or yet; the nearest of 1 runs: sought-1\n"
    )
    done = command("capture", "x", place(stage), "--bootstrap", stage.bootstrap, "-s", suite)
    assert (done.code, done.err) == (2, f"no event of run x is in {place(stage)} any more, or yet; 1 runs are there\n")


def test_an_open_run_stays_open_and_a_silent_one_ends_by_log_time(stage: Stage, tmp_path: Path, suite: Path) -> None:
    events = whole("sought")[:-1]
    stage.tell(events)
    done = command("explain", "sought", place(stage), "--bootstrap", stage.bootstrap, "-s", suite)
    assert done.code == 4
    assert done.out.splitlines()[-1].startswith("no verdict: it goes on; without another event something is due at 20")
    hasty = tmp_path / "hasty.yaml"
    hasty.write_text(SUITE)

    def later() -> str:  # Log time passes with whatever is appended, as with a worker's ticks.
        stage.send([(None, TICK)], partition_of(b"sought", stage.partitions))
        return command("explain", "sought", place(stage), "--bootstrap", stage.bootstrap, "-s", hasty).out

    until(lambda: "complete by silence; flags: incomplete" in later(), "the run's silence")


def test_it_says_what_a_worker_said(stage: Stage, suite: Path) -> None:
    first, *rest = whole("sought", "goodbye")
    stage.tell([first, *rest[1:3], rest[0], *rest[3:]])
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: len(stage.read("run_verdicts")) == 1, "the run's verdict", worker)
    published = [json.loads(record.value or b"") for record in stage.read("verdicts")]
    done = command("explain", "sought", place(stage), "--bootstrap", stage.bootstrap, "-s", suite, "--json")
    told = [json.loads(line)["verdict"] for line in done.out.splitlines() if '"verdict"' in line]
    assert told == published


def test_a_run_on_a_wrong_partition_is_found_and_flagged(stage: Stage, suite: Path) -> None:
    wrong = (partition_of(b"sought", stage.partitions) + 1) % stage.partitions
    stage.send([(None, to_json(event)) for event in whole("sought")], wrong)
    done = command("explain", "sought", place(stage), "--bootstrap", stage.bootstrap, "-s", suite)
    assert done.code == 0
    assert done.out.splitlines()[-1].endswith("flags: incomplete, wrong_partition")


def test_records_that_are_no_events_are_counted_and_told(stage: Stage, suite: Path) -> None:
    partition = partition_of(b"sought", stage.partitions)
    stage.send([(None, b"{"), (b"sought", b"no"), (b"other", b"no")], partition)
    stage.tell(whole("sought"))
    common = ("--bootstrap", stage.bootstrap)
    done = command("explain", "sought", place(stage), *common, "-s", suite)
    first = f"the first: {stage.topic('journal')}, partition {partition}, offset 0: "
    assert done.code == 0
    assert done.err.startswith(f"2 records cannot be read, {first}")
    done = command("check", suite, "--against", place(stage), *common)
    assert (done.code, done.err.partition(": ")[0]) == (0, "3 records cannot be read, the first")
    assert "3 records cannot be read: 3 not_json" in command("init", "--from", place(stage), *common).out


def test_of_a_run_on_two_partitions_one_is_read(stage: Stage, suite: Path) -> None:
    told = [(None, to_json(event)) for event in whole("sought")]
    stage.send(told, 0)
    stage.send(told, 1)
    done = command("check", suite, "--against", place(stage), "--bootstrap", stage.bootstrap)
    assert done.code == 0
    assert "shop: polite: 100.0% of 1" in done.out
    assert done.err.startswith("6 records cannot be read, the first: ")
    assert done.err.endswith(" too\n")


def test_a_captured_run_is_a_case_that_passes(stage: Stage, suite: Path, tmp_path: Path) -> None:
    stage.tell(whole("sought", "goodbye"))
    cases = tmp_path / "shop.test.yaml"
    done = command("capture", "sought", place(stage), "--bootstrap", stage.bootstrap, "-s", suite, "--as-test", cases)
    assert (done.code, done.err) == (0, "")
    assert yaml.safe_load(cases.read_text())["runs"][0]["expect"] == {"polite": "fail", "no-drop": "pass"}
    assert command("test", cases).out == "1 of 1 cases passed\n"


def test_a_first_suite_from_a_topic_is_tried_on_it(stage: Stage, tmp_path: Path) -> None:
    stage.tell(event for n in range(8) for event in whole(f"r-{n}"))
    stage.tell(whole("open")[:3])
    first = tmp_path / "first.yaml"
    common = ("--bootstrap", stage.bootstrap)
    done = command("init", "--from", place(stage), *common, "-o", first)
    assert (done.code, done.err) == (0, "")
    told = done.out.splitlines()
    assert told[:2] == ["9 runs, 51 events", "1 of the runs may go on"]
    assert not any("run.end" in line or "without a result" in line for line in told)
    assert "tool orders.find(n: number) -> {id}: 9 calls, 0 errors" in told
    assert told[-1].endswith(f"stream-graders check {first} --against {place(stage)} --bootstrap {stage.bootstrap}")
    done = command("check", first, "--against", place(stage), *common)
    assert done.code == 0
    assert "agent-1: ended-badly: 100.0% of 8" in done.out
    assert done.err == "1 runs go on: not counted\n"


def test_of_the_last_records_runs_that_began_before_are_left_out(stage: Stage, suite: Path) -> None:
    run_ids = [name for name in map(str, range(100)) if partition_of(name.encode(), stage.partitions) == 0][:3]
    for run_id in run_ids:
        stage.tell(whole(run_id))
    common = ("--bootstrap", stage.bootstrap, "--last", f"{stage.partitions * 8}")
    done = command("check", suite, "--against", place(stage), *common)
    assert (done.code, done.err) == (0, "1 runs began before the records that were read: left out\n")
    assert "shop: polite: 100.0% of 1" in done.out
    assert command("init", "--from", place(stage), *common).out.splitlines()[:2] == [
        "# 1 runs, 6 events",
        "# 1 more runs began before the records that were read: left out",
    ]
    done = command("init", "--from", place(stage), "--bootstrap", stage.bootstrap, "--last", "1")
    assert (done.code, done.err) == (2, f"{place(stage)}: no run begins there; read more with --last\n")


def test_what_was_removed_before_a_run_is_told(stage: Stage, suite: Path) -> None:
    stage.tell(whole("sought"))
    stage.remove({partition_of(b"sought", stage.partitions): 3})
    done = command("explain", "sought", place(stage), "--bootstrap", stage.bootstrap, "-s", suite)
    assert done.err == (
        f"{place(stage)} does not hold the beginning of run sought any more: read what follows with that in mind\n"
    )
    assert done.out.splitlines()[0].startswith("   3  tool.result")


def test_a_topic_that_is_not_there_is_told_in_a_line(kafka: KafkaBroker, suite: Path) -> None:
    for words in (("explain", "r"), ("capture", "r")):
        done = command(*words, "kafka:nowhere", "--bootstrap", kafka.bootstrap, "-s", suite)
        assert done.code == 2
        assert done.err == (
            f"{kafka.bootstrap} has no topic nowhere; check the names you gave, or run stream-graders topics apply\n"
        )


def test_what_judging_a_topics_runs_will_cost_is_estimated(stage: Stage, tmp_path: Path) -> None:
    judged = tmp_path / "judged.yaml"
    judged.write_text(
        "suite: s\njudge: {sample: 1, budget: {calls: 100}}\nchecks:\n"
        "  - {check: accurate, grader: ai_eval.accuracy_grader, severity: minor}\n"
    )
    stage.tell(event for n in range(8) for event in whole(f"r-{n}"))
    asked = ("judge", "estimate", "--from", place(stage), "--bootstrap", stage.bootstrap, "-s", judged, "--json")
    told = json.loads(command(*asked, "--runs-a-day", "800").out)
    assert (told["runs"], told["asked"], told["calls_a_day"]) == (8, 8, 800)
    # By log time: eight runs within some seconds are very many a day.
    assert json.loads(command(*asked).out)["calls_a_day"] > 8 * 86_400 / 60
