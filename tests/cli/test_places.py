"""A topic in place of files: what can be told without Kafka. The rest is in tests/integration/test_journal.py."""

from pathlib import Path

import pytest

from tests.cli.commands import command

NAMED = "name Kafka's address too, with --bootstrap or in SG_BOOTSTRAP_SERVERS"
WRONG = {
    "no address": (("kafka:journal",), (), f"kafka:journal: {NAMED}"),
    "a file beside it": (
        ("runs.jsonl", "kafka:journal"), ("--bootstrap", "localhost:1"),
        "runs.jsonl, kafka:journal: name files, or one topic like kafka:agent.events.v1",
    ),
    "no name": (
        ("kafka:",), ("--bootstrap", "localhost:1"), "kafka:: name files, or one topic like kafka:agent.events.v1",
    ),
    "an address that is none": (
        ("kafka:journal",), ("--bootstrap", "localhost:port"),
        "--bootstrap localhost:port: is no address; write host:port, several with commas",
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nobody_names_kafka(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SG_BOOTSTRAP_SERVERS", raising=False)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "s.yaml"
    path.write_text("suite: s\nchecks:\n  - {check: ended, grader: trajectory.bad_end, severity: info}\n")
    return path


@pytest.mark.parametrize(("places", "options", "said"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_is_told_in_a_line(
    suite: Path, places: tuple[str, ...], options: tuple[str, ...], said: str
) -> None:
    named = [word for place in places for word in ("--from", place)]
    against = [word for place in places for word in ("--against", place)]
    commands: list[tuple[str | Path, ...]] = [
        ("explain", "r", *places, "-s", suite),
        ("capture", "r", *places, "-s", suite),
        ("init", *named),
        ("check", suite, *against),
    ]
    for words in commands:
        done = command(*words, *options)
        assert (done.code, done.err) == (2, f"{said}\n")


def test_kafka_that_does_not_answer_is_told_in_a_line(suite: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for words in (("explain", "r", "kafka:x", "-s", suite), ("tail",), ("tail", "--open", "-s", suite)):
        done = command(*words, "--bootstrap", "localhost:1")
        assert (done.code, len(done.err.splitlines())) == (2, 1)
        assert done.err.startswith("localhost:1: Kafka does not answer (")
    assert capfd.readouterr().err == ""


def test_the_environment_names_kafka(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SG_BOOTSTRAP_SERVERS", "localhost:1")
    assert command("explain", "r", "kafka:x", "-s", suite).err.startswith("localhost:1: Kafka does not answer")


def test_a_number_of_records_needs_a_topic(suite: Path) -> None:
    said = "--last counts records of a topic; name one, like kafka:agent.events.v1, or leave it out\n"
    for words in (("init", "--from", "runs.jsonl"), ("check", suite, "--against", "runs.jsonl"), ("check", suite)):
        done = command(*words, "--last", "5")
        assert (done.code, done.err) == (2, said)
