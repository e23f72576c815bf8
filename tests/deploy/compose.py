"""The services of docker-compose.yml as processes of this machine: the same commands, environment and files.

What a container would find under a name of its own (`kafka:19092`, `/suites`, a port of its own) is translated; everything else is as written.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.programs import DEPLOY, ROOT, program
from tests.deploy.servers import faster, replaced
from tests.integration.harness import free_port
from tests.kafka.broker import KafkaBroker

IMAGE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: Mapping[str, Any] = IMAGE["services"]
MEANT_FOR_THE_IMAGE = re.compile(
    r"KAFKA_(LISTENERS|ADVERTISED|CONTROLLER_QUORUM|LOG_DIRS|NODE_ID|LISTENER_SEC|INTER|CONTROLLER_L)"
)
"""Where and who: a broker of the tests says that itself."""


def broker_settings() -> dict[str, str]:
    """The broker's settings as server.properties has them, but for where it listens and keeps its data."""
    told = {name: value for name, value in SERVICES["kafka"]["environment"].items() if name.startswith("KAFKA_")}
    return {
        name.removeprefix("KAFKA_").replace("_", ".").lower(): value
        for name, value in told.items()
        if name not in ("KAFKA_HEAP_OPTS", "KAFKA_PROCESS_ROLES") and not MEANT_FOR_THE_IMAGE.match(name)
    }


def health_check() -> list[str]:
    """The image's own health check."""
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    # The stages share one.
    [told] = re.findall(r"^HEALTHCHECK .*? CMD (\[.*\])$", text, re.MULTILINE)
    command: list[str] = json.loads(told)
    assert command[0] == "python"
    return [sys.executable, *command[1:]]


PLACES = ("worker-0:9808", "worker-1:9808", "judge:9809", "sink:9810", "alertmanager:9093")
"""What Prometheus' file calls by a container's name."""


class System:
    """The services that were started."""

    def __init__(self, folder: Path, broker: KafkaBroker) -> None:
        self.folder = folder
        self.broker = broker
        self.ports = {
            name: free_port() for name in ("worker-0", "worker-1", "judge", "sink", "prometheus", "alertmanager")
        }
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def run(self, service: str) -> int:
        """Run a one-shot service; its exit code."""
        self.start(service)
        return self._running.pop(service).wait(60)

    def start(self, service: str) -> None:
        """Start a service, or start it again."""
        with (self.folder / f"{service}.log").open("ab") as log:
            self._running[service] = subprocess.Popen(
                self.command(service), env=self.environment(service), stdout=log, stderr=log, cwd=self.folder,
                start_new_session=True,
            )  # fmt: skip

    def command(self, service: str) -> list[str]:
        """What a container of this service runs."""
        told = SERVICES[service]
        words = [self._translated(word) for word in told["command"]]
        if told["image"].startswith("stream-graders:"):
            return [str(DEPLOY / "supervised.sh"), sys.executable, "-m", "stream_graders.cli.main", *words]
        listening = f"--web.listen-address=127.0.0.1:{self.ports[service]}"
        return [str(program(service)), *words, listening]

    def environment(self, service: str) -> dict[str, str]:
        """The environment of a container of this service, over this process's own."""
        told = {name: self._translated(value) for name, value in SERVICES[service].get("environment", {}).items()}
        if service in self.ports:
            told["SG_METRICS_PORT"] = told["SG_JUDGE_METRICS_PORT"] = str(self.ports[service])
        return {**os.environ, **told}

    def _translated(self, word: str) -> str:
        places = {
            "kafka:19092": self.broker.bootstrap,
            "http://alertmanager:9093": f"http://127.0.0.1:{self.ports['alertmanager']}",
            "/etc/prometheus": str(self.folder / "prometheus"),
            "/etc/alertmanager": str(self.folder / "alertmanager"),
            "/demo/": f"{ROOT}/stream_graders/demo/",
            "/suites/": f"{ROOT}/suites/",
            "/judges.yaml": str(self.folder / "judges.yaml"),
            "/run/secrets/": f"{self.folder}/secret-",
        }
        for ours, theirs in places.items():
            word = word.replace(ours, theirs)
        return re.sub(r"=/(prometheus|alertmanager)$", lambda found: f"={self.folder}/{found[1]}-data", word)

    def secret(self, name: str, value: str) -> None:
        """Lay out what a service finds as a secret; one that nobody gives is there and empty."""
        (self.folder / f"secret-{name}").write_text(value, encoding="utf-8")

    def configure(self, hook: str) -> None:
        """Lay Prometheus' and Alertmanager's files out: with the addresses that things have here, sixty times as fast."""
        for name in ("prometheus", "alertmanager"):
            (self.folder / name).mkdir()
            for file in sorted((DEPLOY / name).glob("*.yml")):
                (self.folder / name / file.name).write_text(faster(file.read_text(encoding="utf-8")), encoding="utf-8")
        told = self.folder / "prometheus" / "prometheus.yml"
        here = {at: f"127.0.0.1:{self.ports[at.partition(':')[0]]}" for at in PLACES}
        told.write_text(replaced(told.read_text(encoding="utf-8"), here), encoding="utf-8")
        told = self.folder / "alertmanager" / "alertmanager.yml"
        routes = yaml.safe_load(told.read_text(encoding="utf-8"))
        for receiver in routes["receivers"]:
            receiver["webhook_configs"] = [{"url": hook}]
        told.write_text(yaml.safe_dump(routes), encoding="utf-8")

    def is_healthy(self, service: str) -> bool:
        """Does the image's health check say so?"""
        return (
            subprocess.run(health_check(), env=self.environment(service), capture_output=True, check=False).returncode
            == 0
        )

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """What Prometheus answers: labels and value."""
        asked = urllib.parse.urlencode({"query": expression})
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.ports['prometheus']}/api/v1/query?{asked}") as page:
                found = json.load(page)["data"]["result"]
            return [(each["metric"], float(each["value"][1])) for each in found]
        return []

    def alerts(self) -> dict[str, list[dict[str, str]]]:
        """What Alertmanager holds: the labels of each alert, by its name."""
        found: dict[str, list[dict[str, str]]] = {}
        place = f"http://127.0.0.1:{self.ports['alertmanager']}/api/v2/alerts"
        with contextlib.suppress(OSError), urllib.request.urlopen(place) as page:
            for alert in json.load(page):
                found.setdefault(alert["labels"]["alertname"], []).append(alert["labels"])
        return found

    def kill(self, service: str) -> int:
        """kill -9 the process in the container, as the system does when memory is short; what its supervisor saw."""
        process = self._running.pop(service)
        for child in children(process.pid):
            os.kill(child, signal.SIGKILL)
        return process.wait(20)

    def stop(self, service: str) -> int:
        """As `docker stop` does."""
        process = self._running.pop(service)
        process.terminate()
        return process.wait(60)

    def output(self, service: str) -> str:
        """What a service wrote."""
        return (self.folder / f"{service}.log").read_text(encoding="utf-8")

    def close(self) -> None:
        """End whatever runs."""
        for process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def children(pid: int) -> Sequence[int]:
    """The processes that one has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [int(each) for each in listed]


@contextlib.contextmanager
def system(folder: Path) -> Iterator[System]:
    """The services, with a broker of their own that has the settings of the file."""
    with KafkaBroker(folder / "kafka", broker_settings()) as broker:
        made = System(folder, broker)
        for name in IMAGE["secrets"]:
            made.secret(name, "")
        try:
            yield made
        finally:
            made.close()
