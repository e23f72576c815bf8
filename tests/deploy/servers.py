"""Prometheus, Alertmanager and somebody who listens to alerts, as processes on this machine, from the files in deploy/."""

import json
import re
import subprocess
import threading
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.deploy.programs import DEPLOY, program
from tests.integration.harness import free_port, until

FASTER = 60
"""How many times faster than in production the chain runs: an hour is a minute."""
SHORTEST = 1_000
"""Milliseconds that no duration becomes shorter than: the time between two scrapes."""
MILLISECONDS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION = re.compile(r"(\[|(?:for|interval|wait): )(\d+)([smhd])\b")
"""Windows of expressions, how long an alert waits, and how often something is looked at, sent or sent again."""


def faster(text: str) -> str:
    """A shipped file with all its durations divided by `FASTER`; nothing else is changed, thresholds neither.

    >>> faster("for: 15m"), faster("rate(x[1h])"), faster("scrape_interval: 15s"), faster("group_wait: 0s")
    ('for: 15000ms', 'rate(x[60000ms])', 'scrape_interval: 1000ms', 'group_wait: 0s')
    """

    def shorter(found: re.Match[str]) -> str:
        told = int(found[2]) * MILLISECONDS[found[3]]
        return f"{found[1]}{max(SHORTEST, told // FASTER)}ms" if told else found[0]

    return DURATION.sub(shorter, text)


def replaced(text: str, places: Mapping[str, str]) -> str:
    """A text with addresses replaced, each of which has to be in it."""
    for there, here in places.items():
        assert there in text, f"{there} is not in the file"
        text = text.replace(there, here)
    return text


class Notice(NamedTuple):
    """An alert as a receiver heard of it."""

    receiver: str
    status: str
    labels: dict[str, str]
    annotations: dict[str, str]


class Receiver:
    """Hears what Alertmanager posts."""

    def __init__(self) -> None:
        notices: list[Notice] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:  # (the base class's own name)
                told = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                notices.extend(
                    Notice(told["receiver"], alert["status"], alert["labels"], alert["annotations"])
                    for alert in told["alerts"]
                )
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """What was posted is in the list."""

        self.notices = notices
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def heard(self, alert: str, status: str = "firing") -> list[Notice]:
        """What it heard of an alert, in order."""
        return [told for told in list(self.notices) if told.labels["alertname"] == alert and told.status == status]

    def close(self) -> None:
        """Hear no more."""
        self._server.shutdown()
        self._server.server_close()


class Server:
    """A process with a port of this machine, and what it answers."""

    def __init__(self, name: str, folder: Path, port: int, arguments: Sequence[str]) -> None:
        self.address = f"http://127.0.0.1:{port}"
        self._command = [str(program(name)), f"--web.listen-address=127.0.0.1:{port}", *arguments]
        self._folder, self._output = folder, folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, stdout=output, stderr=output, start_new_session=True
            )
        try:
            until(self._is_ready, f"the start of {self._command[0]}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def output(self) -> str:
        """What it wrote."""
        return self._output.read_text(errors="replace")

    def get(self, path: str, **query: str) -> Any:
        """What it answers."""
        told = urllib.parse.urlencode(query)
        with urllib.request.urlopen(f"{self.address}{path}?{told}") as page:
            return json.loads(page.read())

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"it ended\n{self.output()[-4000:]}"
        try:
            with urllib.request.urlopen(f"{self.address}/-/ready") as page:
                return bool(page.status == 200)
        except OSError:
            return False


def _webhook(name: str, receiver: Receiver) -> str:
    resolved = str(name != "deadman").lower()
    return f"  - name: {name}\n    webhook_configs: [{{url: '{receiver.address}', send_resolved: {resolved}}}]"


class Alertmanager(Server):
    """Alertmanager with the shipped routes, `FASTER`."""

    def __init__(self, folder: Path, receiver: Receiver) -> None:
        self.port = free_port()
        shipped = (DEPLOY / "alertmanager" / "alertmanager.yml").read_text(encoding="utf-8")
        config = folder / "alertmanager.yml"
        told = {f"  - name: {name}": _webhook(name, receiver) for name in ("page", "ticket", "deadman")}
        config.write_text(faster(replaced(shipped, told)), encoding="utf-8")
        # Without an address for its cluster it would look for others on every network of the machine.
        arguments = [
            f"--config.file={config}",
            f"--storage.path={folder / 'alertmanager'}",
            "--cluster.listen-address=",
        ]
        super().__init__("alertmanager", folder, self.port, arguments)

    def alerts(self) -> list[dict[str, Any]]:
        """Every alert that it knows, silenced ones too."""
        found: list[dict[str, Any]] = self.get("/api/v2/alerts")
        return found


class Prometheus(Server):
    """Prometheus with the shipped rules, `FASTER`."""

    def __init__(self, folder: Path, workers: Sequence[int], sink: int, alertmanager: Alertmanager) -> None:
        shipped = DEPLOY / "prometheus"
        places = {f"worker-{n}:9808": f"127.0.0.1:{port}" for n, port in enumerate(workers)}
        places["sink:9810"] = f"127.0.0.1:{sink}"
        places["alertmanager:9093"] = f"127.0.0.1:{alertmanager.port}"
        config = replaced((shipped / "prometheus.yml").read_text(encoding="utf-8"), places)
        (folder / "prometheus.yml").write_text(faster(config), encoding="utf-8")
        rules = (shipped / "rules.yml").read_text(encoding="utf-8")
        (folder / "rules.yml").write_text(faster(rules), encoding="utf-8")
        arguments = [
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'prometheus'}",
            "--enable-feature=exemplar-storage",
            # What it tells before it knows of an Alertmanager is lost, and told again after this; a minute by default.
            "--rules.alert.resend-delay=5s",
            "--log.level=warn",
        ]
        super().__init__("prometheus", folder, free_port(), arguments)

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The samples that an expression gives now.

        Raises:
            HTTPError: Prometheus refuses the expression.
        """
        found: list[dict[str, Any]] = self.get("/api/v1/query", query=expression)["data"]["result"]
        return found

    def firing(self) -> set[str]:
        """The alerts that fire now, but the one that always does."""
        alerts = self.get("/api/v1/alerts")["data"]["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"} - {"Watchdog"}

    def troubles(self) -> list[str]:
        """Rules that could not be evaluated."""
        groups = self.get("/api/v1/rules")["data"]["groups"]
        return [f"{r['name']}: {r.get('lastError')}" for group in groups for r in group["rules"] if r["health"] != "ok"]
