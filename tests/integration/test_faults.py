"""What befalls a worker in operation, on Apache Kafka: late writers, brokers and workers that come and go, edited suites."""

import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from aiokafka.structs import ConsumerRecord

from stream_graders.events import from_json
from stream_graders.session import watermark
from stream_graders.testing import run
from tests.integration.harness import (
    SHOP,
    Feed,
    Metrics,
    Stage,
    WorkerProcess,
    differing,
    expected,
    free_port,
    graded_by,
    hold,
    is_ready,
    stories,
    unreachable_since,
    until,
    verdicts,
    written,
)
from tests.kafka.broker import KafkaBroker

BRIEF = SHOP + "completion: {idle_agent: 2s, amend_window: 1s, remember: 1s}\n"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "shop.yaml", SHOP)


def last_states(stage: Stage) -> dict[bytes, ConsumerRecord[bytes, bytes]]:
    """The last record of each key in the changelog."""
    return {record.key or b"": record for record in stage.read("changelog")}


def values(states: dict[bytes, ConsumerRecord[bytes, bytes]]) -> dict[bytes, bytes | None]:
    return {key: record.value for key, record in states.items()}


def told_in(stage: Stage, role: str) -> list[dict[str, Any]]:
    return [from_json(record.value or b"") for record in stage.read(role)]


def test_an_old_state_written_over_a_newer_one_changes_no_verdict_and_does_not_stay(
    kafka: KafkaBroker, suite: Path
) -> None:
    stage = Stage(kafka.bootstrap).set()
    events = stories(0, 24)
    first, second = len(events) // 4, len(events) // 2
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(events[:first])
        until(lambda: stage.committed() == first, "a quarter being graded", worker)
        old = last_states(stage)
        stage.tell(events[first:second])
        until(lambda: stage.committed() == second, "a half being graded", worker)
    new = last_states(stage)
    assert all(watermark(old[key].value or b"") < watermark(new[key].value or b"") for key in new)
    stage.write_states(old.values())
    assert values(last_states(stage)) == values(old)
    with worker:
        until(lambda: values(last_states(stage)) == values(new), "the newer states being written again", worker)
        stage.tell(events[second:])
        until(lambda: stage.committed() >= len(events), "the rest being graded", worker)
    assert verdicts(stage) == expected(suite, events)


def test_an_old_state_written_after_the_removal_does_not_revive_its_run(kafka: KafkaBroker, tmp_path: Path) -> None:
    suite = written(tmp_path / "brief.yaml", BRIEF)
    stage = Stage(kafka.bootstrap, partitions=1).set()
    stage.tell(run("done").starts().asks("hello"))
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: values(last_states(stage)) == {b"done": None}, "the state being removed", worker)
    old = stage.read("changelog")[0]
    assert b'"open"' in (old.value or b"")
    stage.write_states([old])
    stage.tell(run("open").starts().asks("hello"))
    with worker:
        # What is due first is said first: a revived run would have been silent for longer than this one.
        until(lambda: len(told_in(stage, "run_verdicts")) > 1, "the other run falling silent", worker)
        until(lambda: last_states(stage)[b"done"].value is None, "the removal being written again", worker)
    found = [(value["run_id"], value["completion"]) for value in told_in(stage, "run_verdicts")]
    assert found == [("done", "silence"), ("open", "silence")]


def test_a_worker_that_stood_still_for_45_seconds_neither_changes_a_verdict_nor_revives_a_run(
    kafka: KafkaBroker, tmp_path: Path
) -> None:
    suite = written(tmp_path / "brief.yaml", SHOP + "completion: {amend_window: 1s, remember: 1s}\n")
    stage = Stage(kafka.bootstrap).set()
    events = stories(0, 1_200)
    ports = {"a": free_port(), "b": free_port()}
    one, two = (WorkerProcess(stage, [suite], slot, "--metrics-port", str(port)) for slot, port in ports.items())
    with one, two, Feed(stage, events) as feed:
        until(lambda: is_ready(ports["a"]) and graded_by(ports["a"]) > 0, "the first worker being at work", one)
        before = graded_by(ports["a"])
        until(lambda: graded_by(ports["a"]) > before, "progress", one)
        one.signal(signal.SIGSTOP)
        hold(45, lambda: Metrics(ports["b"]).of("runs_completed_total") > 0, "the other worker going on", two)
        feed.finish(two)
        until(lambda: len(stage.read("run_verdicts")) >= 1_200, "a verdict on each run", two)
        until(lambda: set(values(last_states(stage)).values()) == {None}, "every state being removed", two)
        one.signal(signal.SIGCONT)
        assert one.wait() == 3
        assert any("stood still for" in line for line in one.output().splitlines())
        one.start()
        until(lambda: is_ready(ports["a"]), "the first worker being back", one)
        assert set(values(last_states(stage)).values()) == {None}
    assert not differing(verdicts(stage), expected(suite, events))


@pytest.mark.requires_kafka
def test_a_broker_that_dies_and_comes_back_costs_neither_a_verdict_nor_the_worker(tmp_path: Path, suite: Path) -> None:
    events = stories(0, 240)
    half = len(events) // 2
    port = free_port()
    with KafkaBroker(tmp_path / "kafka") as broker:
        stage = Stage(broker.bootstrap).set()
        with WorkerProcess(stage, [suite], "a", "--metrics-port", str(port)) as worker:
            assert worker.process is not None
            process = worker.process
            stage.tell(events[:half])
            until(lambda: stage.committed() > 0, "progress", worker)
            stage.tell(events[half : half + 500])
            broker.kill()
            until(lambda: unreachable_since(port) > 0, "the worker missing the broker", worker)
            broker.start()
            until(lambda: unreachable_since(port) == 0, "the worker having a broker again", worker)
            stage.tell(events[half + 500 :])
            until(lambda: stage.committed() == len(events), "the journal being read to its end", worker)
            assert (worker.process, process.poll()) == (process, None)
        assert verdicts(stage) == expected(suite, events)


@pytest.mark.requires_kafka
def test_asked_to_stop_while_the_broker_is_away_it_does_not_wait_for_it(tmp_path: Path, suite: Path) -> None:
    events = stories(0, 120)
    with KafkaBroker(tmp_path / "kafka") as broker:
        stage = Stage(broker.bootstrap).set()
        with WorkerProcess(stage, [suite]) as worker:
            stage.tell(events[:500])
            until(lambda: stage.committed() > 0, "progress", worker)
            stage.tell(events[500:])
            broker.kill()
            worker.signal(signal.SIGTERM)
            assert worker.wait(30) == 0
            broker.start()
            worker.start()
            until(lambda: stage.committed() == len(events), "the journal being read to its end", worker)
        assert verdicts(stage) == expected(suite, events)


def test_a_second_worker_that_comes_and_goes_under_load_changes_no_verdict(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    events = stories(0, 1_500)
    port = free_port()
    with WorkerProcess(stage, [suite], "a") as one, Feed(stage, events) as feed:
        until(lambda: stage.committed() > 0, "progress", one)
        with WorkerProcess(stage, [suite], "b", "--metrics-port", str(port)) as two:
            until(lambda: is_ready(port) and graded_by(port) > 0, "the second worker having its share", two)
        assert two.stop() == 0
        before = stage.committed()
        until(lambda: stage.committed() > before, "the work going on", one)
        feed.finish(one)
    assert verdicts(stage) == expected(suite, events)


def test_a_worker_without_a_partition_waits_until_it_is_needed(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap, partitions=1).set()
    events = stories(0, 48)
    half = len(events) // 2
    ports = {"a": free_port(), "b": free_port()}
    workers = {slot: WorkerProcess(stage, [suite], slot, "--metrics-port", str(port)) for slot, port in ports.items()}
    with workers["a"], workers["b"]:
        for slot, port in ports.items():
            until(lambda port=port: is_ready(port), "a worker being ready", workers[slot])  # type: ignore[misc]  # a default keeps the loop's value
        stage.tell(events[:half])
        until(lambda: stage.committed() == half, "a half being graded")
        [owner] = [slot for slot, port in ports.items() if graded_by(port)]
        [other] = set(ports) - {owner}
        workers[owner].kill()
        stage.tell(events[half:])
        until(lambda: stage.committed() == len(events), "the other one taking over", workers[other])
        assert graded_by(ports[other]) > 0
    assert verdicts(stage) == expected(suite, events)


def test_asked_to_stop_in_the_middle_of_work_it_stops_and_goes_on_at_its_next_start(
    kafka: KafkaBroker, suite: Path
) -> None:
    stage = Stage(kafka.bootstrap).set()
    events = stories(0, 800)
    with WorkerProcess(stage, [suite]) as worker, Feed(stage, events) as feed:
        for _ in range(3):
            before = stage.committed()
            until(lambda before=before: stage.committed() > before, "progress", worker)  # type: ignore[misc]  # as above
            worker.signal(signal.SIGTERM)
            assert worker.wait() == 0
            worker.start()
        feed.finish(worker)
    assert verdicts(stage) == expected(suite, events)


def test_of_two_workers_with_one_slot_the_later_one_stays(kafka: KafkaBroker, suite: Path, tmp_path: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    events = stories(0, 800)
    port = free_port()
    later = WorkerProcess(stage, [suite], "a", "--metrics-port", str(port))
    later.log = tmp_path / "later.log"
    with WorkerProcess(stage, [suite], "a") as earlier, Feed(stage, events) as feed:
        until(lambda: stage.committed() > 0, "progress", earlier)
        with later:
            assert earlier.wait() == 2
            assert earlier.output().splitlines()[-1] == (
                f"stream-graders worker: another worker runs as slot 'a' of {stage.app}: give each its own --slot"
            )
            until(lambda: is_ready(port), "the later one being ready", later)
            feed.finish(later)
    assert verdicts(stage) == expected(suite, events)


def test_a_worker_that_starts_while_the_broker_is_away_says_so_in_one_line(suite: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    worker = WorkerProcess(Stage(address), [suite]).start()
    assert worker.wait() == 3
    [line] = worker.output().splitlines()
    assert f"{address}: Kafka does not answer (Unable connect" in line
    assert "start again" in line


def test_runs_that_are_open_when_a_suite_is_edited_keep_what_was_not(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    events, later = stories(0, 24), stories(24, 36)
    half = len(events) // 2
    before = {key: value for key, value in by_check(expected(suite, events).values()).items() if key[1] != "polite"}
    assert len(before) == 24 * 3
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(events[:half])
        until(lambda: stage.committed() == half, "a half being graded", worker)
    added = "  - {check: brief, grader: vally.transcript_not_contains, severity: minor, settings: {substring: bye}}\n"
    written(suite, SHOP.replace("substring: welcome", "substring: goodbye") + added)
    with worker:
        stage.tell([*events[half:], *later])
        until(lambda: stage.committed() == len(events) + len(later), "the rest being graded", worker)
    told = by_check(verdicts(stage).values())
    edited = {key: value for key, value in told.items() if key[0] in {event.run_id for event in events}}
    assert {key for key in edited if key[1] != "polite"} == before.keys(), (
        "a new check does not join a run that is open"
    )
    for key, value in edited.items():
        assert value["flags"] == ["suite_changed"]
        if key[1] == "polite":
            assert (value["outcome"], value["reason"]) == ("not_graded", "suite_changed")
        else:
            assert substance(value) == substance(before[key])
    new = {key: value for key, value in told.items() if key not in edited}
    assert new == by_check(expected(suite, later).values()), "the next runs are graded by the edited suite"


def substance(verdict: dict[str, Any]) -> dict[str, Any]:
    """A verdict without what tells of the suite around the check."""
    return {name: value for name, value in verdict.items() if name not in ("suite_version", "flags")}


def by_check(found: Iterable[bytes]) -> dict[tuple[str, str], dict[str, Any]]:
    """Final verdicts by run and check."""
    told = (from_json(value) for value in found)
    return {(value["run_id"], value["check"]): value for value in told if "check" in value}


def test_late_events_amend_verdicts_tell_of_a_violation_and_take_one_back(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    rude = run("rude").starts().asks("hello").says("bye").ends(last_seq=3).says("welcome").events
    wild = run("wild").starts().asks("hello").says("welcome").ends(last_seq=3).calls("db.drop").events
    port = free_port()
    with WorkerProcess(stage, [suite], "a", "--metrics-port", str(port)) as worker:
        stage.tell([*rude[:4], *wild[:4]])
        until(lambda: len(stage.read("run_verdicts")) == 2, "the first verdicts", worker)
        stage.tell([*rude[4:], *wild[4:]])
        until(lambda: len(stage.read("run_verdicts")) == 4, "the amended ones", worker)
        until(lambda: stage.committed() == len(rude) + len(wild), "the batch being counted", worker)
        seen = Metrics(port)
    assert history(told_in(stage, "verdicts"), "check") == {
        ("rude", "polite"): [("final", 1, "fail"), ("amended", 2, "pass")],
        ("rude", "no-drop"): [("final", 1, "pass")],
        ("rude", "real-id"): [("final", 1, "fail")],
        ("rude", "finds-first"): [("final", 1, "skipped")],
        ("wild", "polite"): [("final", 1, "pass")],
        ("wild", "no-drop"): [("final", 1, "pass"), ("amended", 2, "fail")],
        ("wild", "real-id"): [("final", 1, "fail")],
        ("wild", "finds-first"): [("final", 1, "skipped"), ("amended", 2, "fail")],
    }
    assert history(told_in(stage, "run_verdicts"), "suite") == {
        ("rude", "shop"): [("final", 1, "pass"), ("amended", 2, "pass")],
        ("wild", "shop"): [("final", 1, "pass"), ("amended", 2, "fail")],
    }
    violations = [(v["verdict"]["run_id"], v["verdict"]["check"], v["resolved"]) for v in told_in(stage, "violations")]
    assert sorted(violations) == [
        ("rude", "polite", False),
        ("rude", "polite", True),
        ("wild", "no-drop", False),
    ]
    assert seen.of("amended_verdicts_total", check="no-drop", outcome="fail") == 1
    assert seen.of("verdicts_total", check="no-drop", outcome="fail") == 0, "the rate counts a check once"
    assert seen.of("verdicts_total", check="no-drop", outcome="pass") == 2


def history(records: Iterable[dict[str, Any]], name: str) -> dict[tuple[str, str], list[tuple[str, int, str]]]:
    """State, revision and outcome of what was said of a run, in order."""
    told: dict[tuple[str, str], list[tuple[str, int, str]]] = {}
    for record in records:
        said = (record["state"], record["revision"], record["outcome"])
        told.setdefault((record["run_id"], record[name]), []).append(said)
    return told
