"""`stream-graders sink`: violations of a worker reach a receiver, once, whatever befalls either."""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from stream_graders.events import Agent, to_json
from stream_graders.testing import run
from tests.cli.commands import command
from tests.integration.harness import SHOP, STARTED, Metrics, Stage, WorkerProcess, free_port, is_ready, until, written
from tests.kafka.broker import KafkaBroker
from tests.sinks.violations import violation

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef").decode()
pytestmark = pytest.mark.requires_kafka


class Receiver:
    """Takes what is posted, and answers what it is told to."""

    def __init__(self) -> None:
        self.taken: list[tuple[Mapping[str, str], Any]] = []
        self.answers: list[int] = []
        """What to answer next, then 200."""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                answer = receiver.answers.pop(0) if receiver.answers else 200
                if answer == 200:
                    receiver.taken.append((dict(self.headers), json.loads(body)))
                self.send_response(answer)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def kinds(self) -> list[str]:
        """What kinds of notices it took."""
        return [notice["kind"] for _, notice in self.taken]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


class SinkProcess:
    """A sink as a process."""

    def __init__(self, stage: Stage, url: str, to: str = "webhook", *options: str) -> None:
        self.port = free_port()
        self.log = Path(os.environ.get("TMPDIR", "/tmp")) / f"{stage.app}-sink.log"
        names = [part for name, physical in stage.names.items() for part in ("--topic", f"{name}={physical}")]
        self.command = [
            sys.executable, "-m", "stream_graders.cli.main", "sink", "--bootstrap", stage.bootstrap, "--app", stage.app,
            "--to", to, "--metrics-port", str(self.port), *names, *options,
        ]  # fmt: skip
        self.environment = {**os.environ, "SG_SINK_URL": url, "SG_SINK_SECRET": SECRET}
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "SinkProcess":
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=self.environment)
        STARTED.append(self.process)
        until(lambda: is_ready(self.port), "the sink being ready")
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(20) == 0, self.log.read_text()

    def kill(self) -> None:
        """kill -9, and see it gone."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()


def tell(stage: Stage, *runs: str, resolved: bool = False) -> None:
    """Write violations to their topic."""
    records = [(name.encode(), to_json(violation(name, resolved=resolved))) for name in runs]
    stage.write("violations", records)


def test_a_workers_violations_reach_people(kafka: KafkaBroker, tmp_path: Path, receiver: Receiver) -> None:
    stage = Stage(kafka.bootstrap).set()
    suite = written(tmp_path / "shop.yaml", SHOP)
    with SinkProcess(stage, receiver.url) as sink, WorkerProcess(stage, [suite]) as worker:
        for n in range(5):
            stage.tell(
                run(f"r{n}").starts(agent=Agent("bot", "2")).asks("hi").calls("find").returns("x").calls("db.drop")
            )
        until(lambda: len(receiver.taken) >= 3, "three notices", worker)
        until(lambda: Metrics(sink.port).of("sink_violations_total") == 5, "all being read", worker)
        assert receiver.kinds() == ["violation"] * 3
        assert Metrics(sink.port).of("sink_posts_total", outcome="posted") == 3
        headers, notice = receiver.taken[0]
        assert (notice["agent"], notice["version"], notice["check"]) == ("bot", "2", "no-drop")
        assert {"webhook-id", "webhook-timestamp", "webhook-signature"} <= {name.lower() for name in headers}


def test_what_was_told_is_not_told_again_after_a_kill_and_nothing_is_left_out(
    kafka: KafkaBroker, receiver: Receiver
) -> None:
    stage = Stage(kafka.bootstrap).set()
    with SinkProcess(stage, receiver.url) as sink:
        tell(stage, "a", "b")
        until(lambda: len(receiver.taken) == 2, "two notices")
        until(lambda: stage.committed(f"{stage.app}-sink-webhook", "violations") == 2, "their commit")
        sink.kill()
    tell(stage, "c", "d")
    with SinkProcess(stage, receiver.url) as sink:
        until(lambda: Metrics(sink.port).of("sink_violations_total") == 2, "what came meanwhile being read")
        tell(stage, "a", resolved=True)
        until(lambda: "taken_back" in receiver.kinds(), "what was taken back")
    assert receiver.kinds() == ["violation"] * 3 + ["taken_back"], "the fourth run is only counted"
    assert [notice["count"] for _, notice in receiver.taken[:3]] == [1, 2, 3]


def test_a_receiver_that_is_away_is_asked_until_it_is_there(kafka: KafkaBroker, receiver: Receiver) -> None:
    stage = Stage(kafka.bootstrap).set()
    receiver.answers = [503, 429]
    with SinkProcess(stage, receiver.url) as sink:
        tell(stage, "a")
        until(lambda: len(receiver.taken) == 1, "the notice")
        until(lambda: Metrics(sink.port).of("sink_posts_total", outcome="posted") == 1, "its count")
        assert Metrics(sink.port).of("sink_posts_total", outcome="failed") == 2
        assert Metrics(sink.port).of("sink_unreachable_since_timestamp_seconds") == 0
        receiver.answers = [400]
        tell(stage, "b", "c")
        until(lambda: len(receiver.taken) == 2, "the one after a refused one")
        until(lambda: Metrics(sink.port).of("sink_posts_total", outcome="refused") == 1, "its count")


def test_a_record_that_is_none_stops_nothing(kafka: KafkaBroker, receiver: Receiver) -> None:
    stage = Stage(kafka.bootstrap).set()
    with SinkProcess(stage, receiver.url) as sink:
        stage.write("violations", [(b"a", b"{"), (b"a", None), (b"a", b'{"schema": "x"}')])
        tell(stage, "a")
        until(lambda: len(receiver.taken) == 1, "the notice")
        until(lambda: Metrics(sink.port).of("sink_unread_records_total") == 3, "three that are none")


def test_what_it_cannot_use_is_told_in_a_line(kafka: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    known = ("sink", "--bootstrap", kafka.bootstrap, "--metrics-port", "0")
    for options, told in (
        (("--to", "pigeon", "--url", "http://x"), "--to pigeon: is none of alertmanager, webhook, slack"),
        (("--to", "slack", "--url", "hooks/T0/B0"), "--url: name the receiver's address"),
        (("--to", "webhook", "--url", "http://x"), "SG_SINK_SECRET: the secret is whsec_ and"),
        (("--to", "slack", "--url", "http://x", "--topic", "agent.violations.v1=no.where"), "has no topic no.where"),
    ):
        done = command(*known, *options)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert told in done.err
        assert "T0" not in done.err
    monkeypatch.setenv("SG_SINK_SECRET_FILE", "/not/there")
    assert "SG_SINK_SECRET_FILE: /not/there" in command(*known, "--to", "webhook", "--url", "http://x").err
