"""`stream-graders tail`: verdicts as they lie in the topic, and the checks of a run that is still open."""

import json
from pathlib import Path

import pytest

from stream_graders.testing import run
from tests.cli.commands import command
from tests.integration.harness import Stage, WorkerProcess, until
from tests.kafka.broker import KafkaBroker

SUITE = """
suite: shop
checks:
  - {check: polite, grader: vally.transcript_contains, severity: critical, settings: {substring: welcome}}
  - {check: no-drop, grader: agentlasso.tool_not_called, severity: minor, settings: {tool: db.drop}}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "shop.yaml"
    path.write_text(SUITE)
    return path


def names(stage: Stage) -> list[str]:
    return [word for name, physical in stage.names.items() for word in ("--topic", f"{name}={physical}")]


def test_verdicts_and_open_runs_are_shown(kafka: KafkaBroker, suite: Path) -> None:
    stage = Stage(kafka.bootstrap).set()
    with WorkerProcess(stage, [suite]) as worker:
        stage.tell(run("done").starts().asks("hello").says("goodbye").ends())
        stage.tell(run("open").starts().asks("hello").calls("find"))
        until(lambda: len(stage.read("verdicts")) >= 2, "two verdicts", worker)
        common = ("--bootstrap", kafka.bootstrap, *names(stage))
        told = command("tail", *common, "--from-start", "--count", "2")
        assert sorted(told.out.splitlines()) == [
            "fail       final   done  shop/polite: 'welcome' NOT found in transcript",
            "pass       final   done  shop/no-drop: db.drop was never called. The agent called no tools.",
        ]
        fails = command("tail", *common, "--from-start", "--count", "1", "--fails", "--json")
        assert [json.loads(line)["check"] for line in fails.out.splitlines()] == ["polite"]
        now = ("--open", "-s", suite, "--app", stage.app)
        until(lambda: "open  shop/no-drop" in command("tail", *common, *now).out, "the open run's state", worker)
        assert sorted(command("tail", *common, *now).out.splitlines()) == [
            "open  shop/no-drop: pass so far (not_called) db.drop was never called. The agent called: find.",
            "open  shop/polite: fail so far (not_found) 'welcome' NOT found in transcript",
        ]
    assert command("tail", *common, "--open").code == 2


def test_what_is_not_there_is_told_in_a_line(kafka: KafkaBroker, suite: Path) -> None:
    done = command("tail", "--bootstrap", kafka.bootstrap, "--open", "-s", suite, "--app", "nobody")
    assert done.code == 2
    assert done.err == (
        f"{kafka.bootstrap} has no topic nobody-runs-changelog; check the names you gave, or run stream-graders topics apply\n"
    )
