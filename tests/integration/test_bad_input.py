"""Every way a record can be bad, on Apache Kafka: what happens is told, the stream goes on, and nothing vanishes."""

import urllib.request
from collections import Counter
from pathlib import Path

import pytest
from msgspec import structs

from stream_graders.events import UNSENT, Agent, Custom, Event, RunOutcome, from_json, to_json
from stream_graders.testing import Story, run
from tests.integration.harness import Metrics, Stage, WorkerProcess, free_port, until
from tests.kafka.broker import KafkaBroker

SUITE = """
suite: shop
select: {agent: 'agent-*'}
completion: {idle_user: 4s, idle_agent: 4s, idle_tool: 4s, amend_window: 2s, remember: 3s}
checks:
  - {check: no-drop, grader: agentlasso.tool_not_called, severity: critical, settings: {tool: db.drop}}
  - {check: polite, grader: vally.transcript_contains, severity: minor, settings: {substring: welcome}}
"""

FATES = ("graded", "dead_lettered", "duplicate", "skipped", "unselected")
HEAD = b'{"schema":"stream_graders.event/1","id":"x","run_id":"bad","ts":1,'


def bad_values() -> dict[str, list[tuple[bytes | None, bytes | None]]]:
    """Key and value of records that are no events, by the reason they are dead-lettered for."""
    deep = b"[" * 250 + b"]" * 250
    return {
        "not_json": [
            (b"bad", b"{nope"),
            (b"bad", HEAD + b'"type":"tool.result","result":NaN}'),
            (b"bad", HEAD + b'"type":"tool.result","result":"\\ud800"}'),
        ],
        "not_utf8": [(b"bad", b'"\xff"')],
        "too_deep": [(b"bad", HEAD + b'"type":"tool.result","result":' + deep + b"}")],
        "registry_framing": [(b"bad", b"\x00\x00\x00\x00\x07{}")],
        "no_value": [(b"bad", None)],
        "not_an_event": [(b"bad", b"[1]")],
        "schema_unknown": [(b"bad", HEAD.replace(b"event/1", b"event/9") + b'"type":"message","role":"user"}')],
        "no_run_id": [(None, b'{"schema":"stream_graders.event/1","type":"message","id":"x","ts":1,"role":"user"}')],
        "invalid": [(b"bad", HEAD + b'"type":"message","role":7}'), (b"bad", HEAD + b'"type":"message","seq":"1"}')],
        "key_mismatch": [(b"other", HEAD + b'"type":"message","role":"user","content":"hi"}')],
        "oversized": [(b"big", to_json(run("big").asks("x" * 1_048_600).events[0]))],
    }


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(SUITE)
    return path


def odd_runs() -> dict[str, list[Event]]:
    """Runs that are odd and whose events are events; the shop's suite selects all but the stranger."""
    agent = {"agent": None}
    restarted = run("restarted").starts().says("welcome")
    unnamed = run("unnamed", agent=None).starts().asks("hello").says("welcome")
    unnamed.ends(agent=Agent("agent-1"))
    silenced = run("silenced").starts().asks(UNSENT).calls("orders.find").says(UNSENT).ends()
    tenants = run("tenants").starts(tenant="acme").asks("hi", tenant="other")
    return {
        "good": list(run("good").starts().asks("hello").says("welcome").ends()),
        "lonely": list(run("lonely").starts().adds(Custom, name="note").returns("nobody asked").says("welcome").ends()),
        "far": list(run("far", seq=20_000).asks("from the future")),
        "tenants": list(tenants.says("welcome", seq=1).ends(seq=2, last_seq=2)),
        "restarted": [*restarted, *later(run("restarted").starts().says("again").ends())],
        "unnamed": list(unnamed),
        "silenced": list(silenced),
        "stranger": list(run("stranger", agent=Agent("x")).asks("hi")),
        "label": list(run("good", **agent).adds(RunOutcome, name="reward", value=1.0, seq=None)),
    }


def test_bad_records_are_buried_with_their_reason_and_every_event_is_accounted_for(
    kafka: KafkaBroker, suite: Path
) -> None:
    stage = Stage(kafka.bootstrap, message_bytes=4_000_000).set()
    odd, bad = odd_runs(), [item for items in bad_values().values() for item in items]
    moody = b'{"schema":"stream_graders.event/1","type":"agent.mood","id":"m","run_id":"moody","ts":1,"seq":0}'
    told = [*odd["good"], *(event for events in odd.values() for event in events)]
    stage.tell(told)
    stage.send([*bad, (b"moody", moody)])
    total = len(told) + len(bad) + 1
    with WorkerProcess(stage, [suite], "a", "--metrics-port", str(port := free_port())) as worker:
        until(lambda: stage.committed() >= total, "the journal being read to its end", worker)
        until(lambda: Metrics(port).of("events_held") == 0, "the held events being graded", worker)
        seen = Metrics(port)
        fates = {fate: seen.of("events_total", fate=fate) for fate in FATES}
        assert sum(fates.values()) == total + seen.of("events_consumed_total", type="tick")
        assert seen.of("ledger_difference_events") == 0
        assert (fates["duplicate"], fates["unselected"]) == (len(odd["good"]), 1)
        for page in ("healthz", "readyz"):
            assert urllib.request.urlopen(f"http://127.0.0.1:{port}/{page}").status == 200
        assert worker.stop() == 0
    buried = stage.read("dead_letters")
    reasons = Counter(dict(record.headers)["dlq.error.reason"].decode() for record in buried)
    expected = Counter({reason: len(items) for reason, items in bad_values().items()})
    assert reasons == expected + Counter({"seq_far_ahead": 1, "tenant_mismatch": 1})
    assert fates["dead_lettered"] == len(buried)
    assert {record.value for record in buried} >= {value for _, value in bad}, "a dead letter keeps its bytes"
    assert "nope" not in worker.output(), "a log line repeats no content"
    runs = {told["run_id"]: told for record in stage.read("run_verdicts") if (told := from_json(record.value or b""))}
    assert {
        name: runs[name]["outcome"] for name in ("good", "tenants", "lonely", "restarted", "unnamed")
    } == dict.fromkeys(("good", "tenants", "lonely", "restarted", "unnamed"), "pass")
    assert "result_unpaired" in runs["lonely"]["flags"]
    assert "seq_restarted" in runs["restarted"]["flags"]
    outcomes = {line["check"]: (line["outcome"], line["reason"]) for line in runs["silenced"]["checks"]}
    assert outcomes == {"no-drop": ("pass", "not_called"), "polite": ("not_graded", "content_missing")}


def test_a_run_on_the_wrong_partition_is_graded_as_incomplete(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    story = run("astray").starts().asks("hello").says("welcome").ends()
    items = [(event.run_id.encode(), to_json(event)) for event in story]
    for partition in range(2):  # On one of two partitions it is astray.
        stage.send(items, partition=partition)
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: len(stage.read("run_verdicts")) == 2, "two run verdicts", worker)
    found = [from_json(record.value or b"") for record in stage.read("run_verdicts")]
    astray = [value for value in found if "wrong_partition" in value["flags"]]
    assert astray
    for value in astray:
        outcomes = {line["check"]: (line["outcome"], line["reason"]) for line in value["checks"]}
        assert outcomes == {"no-drop": ("not_graded", "incomplete"), "polite": ("pass", "found")}


def test_a_run_that_falls_silent_is_completed_by_ticks_and_forgotten(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    stage.tell(run("silent").starts().asks("hello").says("welcome"))
    with WorkerProcess(stage, [suite]) as worker:
        until(lambda: len(stage.read("run_verdicts")) == 1, "a run verdict without any more events", worker)
        worker.kill()
        worker.start()
        until(
            lambda: any(record.value is None for record in stage.read("changelog")), "the state being removed", worker
        )
    (verdict,) = [from_json(record.value or b"") for record in stage.read("run_verdicts")]
    assert (verdict["completion"], verdict["outcome"]) == ("silence", "not_graded")
    assert any(b'"tick"' in (record.value or b"") for record in stage.read("journal"))


def test_an_event_after_the_amend_window_opens_a_segment(kafka: KafkaBroker, tmp_path: Path) -> None:
    patient = tmp_path / "patient.yaml"
    patient.write_text(SUITE.replace("remember: 3s", "remember: 1h"))
    stage = Stage(kafka.bootstrap).set()
    with WorkerProcess(stage, [patient]) as worker:
        stage.tell(run("again").starts().asks("hello").says("welcome").ends())
        until(lambda: _phase(stage) == "ended", "the amend window closing", worker)
        stage.tell(later(run("again", producer="p2").asks("one more thing").says("you are welcome").ends()))
        until(lambda: len(stage.read("run_verdicts")) == 2, "the segment's verdict", worker)
    first, second = [from_json(record.value or b"") for record in stage.read("run_verdicts")]
    assert first["id"] != second["id"]
    assert ["resumed" in value["flags"] for value in (first, second)] == [False, True]


def test_an_event_after_the_tombstone_opens_a_new_run(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(run("again").starts().asks("hello").says("welcome").ends())
        until(lambda: any(r.value is None for r in stage.read("changelog")), "the state being removed", worker)
        stage.tell(later(run("again", producer="p2").asks("back after days").says("welcome").ends()))
        until(lambda: len(stage.read("run_verdicts")) == 2, "the new run's verdict", worker)
    first, second = [from_json(record.value or b"") for record in stage.read("run_verdicts")]
    assert first["id"] != second["id"]
    assert ["resumed" in value["flags"] for value in (first, second)] == [False, False]


def later(story: Story) -> list[Event]:
    """The story's events under ids of their own, as every event has them."""
    return [structs.replace(event, id=f"{event.id}-later") for event in story]


def _phase(stage: Stage) -> str:
    values = [record.value for record in stage.read("changelog")]
    return str(from_json(values[-1])[3]) if values and values[-1] is not None else ""
