"""The files in deploy/ and docker-compose.yml: what `make check` says of them as they are, and of each with a fault planted."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.cli.commands import command

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv-deploy" / "bin" / "python"
PARTS = ("docker-compose.yml", "deploy", "topics", "suites", "docs/asyncapi.yaml", ".ci")
CHART = "deploy/helm/stream-graders"

FAULTS = {
    "a condition that Compose does not know": (
        "docker-compose.yml",
        "docker-compose.yml",
        "condition: service_healthy",
        "condition: service_ok",
        "service_ok",
    ),
    "a volume that nobody declares": (
        "docker-compose.yml",
        "docker-compose.yml",
        "grafana-data: {}",
        "other-data: {}",
        "grafana-data",
    ),
    "an image without a version": (
        "deploy/Dockerfile",
        "deploy/Dockerfile",
        "FROM python:3.11-slim-bookworm AS run",
        "FROM python:latest AS run",
        "DL3007",
    ),
    "a variable that nobody sets": ("shell", "deploy/supervised.sh", 'exit "$code"', 'exit "$cod"', "SC2154"),
    "a key given twice": ("YAML", "topics/agent.events.v1.yaml", "owner:", "name: again\nowner:", "key-duplicates"),
    "a setting that systemd does not know": (
        "deploy/systemd",
        "deploy/systemd/stream-graders-worker@.service",
        "Restart=on-failure",
        "Restart=on-falure",
        "on-falure",
    ),
    "a count as text": ("deploy/strimzi", "deploy/strimzi/topics.yaml", "partitions: 12", "partitions: '12'", "'12'"),
    "an operation that Kafka does not know": (
        "deploy/strimzi",
        "deploy/strimzi/topics.yaml",
        "- Read\n",
        "- Reed\n",
        "'Reed'",
    ),
    "a binding with a count as text": (
        "docs/asyncapi.yaml",
        "docs/asyncapi.yaml",
        "partitions: 12",
        "partitions: '12'",
        "'12' is not of type 'integer'",
    ),
    "a schema that is not there": (
        "docs/asyncapi.yaml",
        "docs/asyncapi.yaml",
        "'#/components/schemas/Violation'",
        "'#/components/schemas/Violations'",
        "leads nowhere",
    ),
    "a template that does not close": (
        "deploy/helm",
        f"{CHART}/templates/topics.yaml",
        "{{- if .Values.topics.apply }}",
        "{{- if .Values.topics.apply }}{{ if }}",
        "missing value for if",
    ),
    "a field that Kubernetes does not know": (
        "deploy/helm",
        f"{CHART}/templates/workers.yaml",
        "serviceAccountName:",
        "serviceAcountName:",
        "serviceAcountName",
    ),
    "a field of the judge that Kubernetes does not know": (
        "deploy/helm",
        f"{CHART}/templates/judge.yaml",
        "claimName:",
        "claimedName:",
        "claimName",
    ),
    "a field that the Prometheus operator does not know": (
        "deploy/helm",
        f"{CHART}/templates/monitoring.yaml",
        "sampleLimit: 30000",
        "samplesLimit: 30000",
        "samplesLimit: there is no such field",
    ),
    "a value that the chart does not take": (
        "deploy/helm",
        f"{CHART}/values.schema.json",
        '"minimum": 1},\n        "resources"',
        '"minimum": 3},\n        "resources"',
        "replicas",
    ),
    "rules of the chart's own": (
        "deploy/helm",
        f"{CHART}/templates/monitoring.yaml",
        '.Files.Get "files/rules.yml" |',
        '.Files.Get "files/rules.yml" | replace "severity" "level" |',
        "not those of deploy/prometheus/rules.yml",
    ),
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    if not PYTHON.exists():
        told = "needs .venv-deploy: run `make check` once"
        if os.environ.get("CI"):
            pytest.fail(told)
        pytest.skip(told)
    for part in PARTS:
        place = tmp_path / part
        place.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, place, symlinks=True)
        else:
            shutil.copy(ROOT / part, place)
    return tmp_path


def checked(root: Path, part: str) -> tuple[int, str]:
    done = subprocess.run(
        [PYTHON, ROOT / "deploy" / "check.py", "--root", root, "--only", part],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(checkout: Path, fault: str) -> None:
    part, file, before, after, told = FAULTS[fault]
    place = checkout / file
    text = place.read_text(encoding="utf-8")
    assert before in text
    place.write_text(text.replace(before, after, 1), encoding="utf-8")
    code, said = checked(checkout, part)
    if code == 0 and "is not installed" in said:
        pytest.skip(said.strip())
    assert code == 1
    assert told in said


def test_strimzis_and_asyncapis_files_are_what_the_topics_give() -> None:
    for form, file in (("strimzi", "deploy/strimzi/topics.yaml"), ("asyncapi", "docs/asyncapi.yaml")):
        made = command("topics", "export", form)
        assert made.code == 0
        assert (ROOT / file).read_text(encoding="utf-8") == made.out, f"stream-graders topics export {form} > {file}"


def test_a_name_of_ones_own_goes_into_both() -> None:
    for form in ("strimzi", "asyncapi"):
        made = command("topics", "export", form, "--topic", "agent.events.v1=acme.agents", "--app", "acme").out
        assert "acme.agents" in made
        assert "stream-graders" not in made.replace("owner: stream-graders", "")


def test_what_there_is_no_form_of_is_told() -> None:
    assert command("topics", "export", "terraform").err == "terraform: is none of strimzi, asyncapi\n"
    assert command("topics", "export", "strimzi", "--topic", "agent.event.v1=a").code == 2


def test_the_schema_of_strimzi_knows_what_the_export_makes() -> None:
    schema = (ROOT / "deploy" / "strimzi" / "kafka.strimzi.io-v1.schema.json").read_text(encoding="utf-8")
    made = list(yaml.safe_load_all((ROOT / "deploy" / "strimzi" / "topics.yaml").read_text(encoding="utf-8")))
    assert {resource["kind"] for resource in made} == {"KafkaTopic", "KafkaUser"}
    assert all(f'"{resource["kind"]}"' in schema for resource in made)
    names = [resource["metadata"]["name"] for resource in made]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9.-]+", name) for name in names)


@pytest.mark.parametrize(("code", "left"), [(0, 0), (2, 2), (3, 3), (78, 0)])
def test_what_must_not_be_started_again_ends_quietly(code: int, left: int) -> None:
    done = subprocess.run(
        [ROOT / "deploy" / "supervised.sh", "sh", "-c", f"exit {code}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == left
    assert ("not started again" in done.stderr) == (code == 78)


def test_a_signal_reaches_what_is_supervised() -> None:
    story = "trap 'sleep 0.2; exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    with subprocess.Popen(
        [ROOT / "deploy" / "supervised.sh", "sh", "-c", story], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(20) == 7, "its own code, not the signal's"
