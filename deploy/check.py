"""Checks the files of deploy/ and docker-compose.yml with the tools that read them elsewhere: a line a problem, and exit code 1.

    .venv-deploy/bin/python deploy/check.py           what `make check` runs
    .venv-deploy/bin/python deploy/check.py --root F  the same of another checkout, as the tests do that plant a fault

Prometheus' and Alertmanager's files are checked by tests, with their own programs.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import helm_python.chart as helm
import kubernetes_validate
import yaml
from cloudcoil.models.prometheus_operator import v1 as operator
from helm_python.errors import HelmError
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.exceptions import best_match

HERE = Path(__file__).resolve().parent
KUBERNETES = ("1.29", "1.37")
"""The oldest and the newest version whose schemas the manifests are held to."""
ALL_ON = {
    "kafka": {
        "bootstrap": "kafka:9093",
        "names": {"agent.events.v1": "acme.agents"},
        "env": {"SG_SECURITY_PROTOCOL": "SSL", "SG_SSL_CA_FILE": "/run/secrets/kafka/ca.crt"},
        "secret": "kafka",
    },
    "suites": {"a.yaml": "suite: a\nchecks: []\n"},
    "worker": {
        "nodeSelector": {"pool": "a"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"nodeAffinity": {}},
        "podAnnotations": {"a": "b"},
    },
    "sink": {"enabled": True, "to": "webhook", "secret": "sink", "excerpts": True},
    "judge": {
        "enabled": True,
        "file": "models: {}\n",
        "secret": "models",
        "keySecret": "judge",
        "storage": {"size": "2Gi", "className": "fast"},
    },
    "podMonitor": {"enabled": True, "labels": {"team": "a"}},
    "prometheusRule": {"enabled": True, "labels": {"team": "a"}},
}
LEAST = {
    "kafka": {"bootstrap": "kafka:9092"},
    "suitesConfigMap": "mine",
    "topics": {"apply": False},
    "serviceAccount": {"name": "mine"},
    "podDisruptionBudget": {"enabled": False},
    "networkPolicy": {"enabled": False},
}
VALUES = {"all on": ALL_ON, "the least": LEAST}
CUSTOM: dict[str, Any] = {"PodMonitor": operator.PodMonitor, "PrometheusRule": operator.PrometheusRule}
YAML = "{extends: default, rules: {line-length: disable, document-start: disable, braces: {max-spaces-inside: 1}, truthy: {check-keys: false}, comments: {min-spaces-from-content: 1}, indentation: {indent-sequences: whatever}}}"


class AbsentError(Exception):
    """A tool is not on this machine."""


def ran(*command: str | Path, at: Path) -> Iterator[str]:
    """What a program that has something to say against a file says."""
    words = [str(word) for word in command]
    found = shutil.which(words[0], path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found is None:
        raise AbsentError(words[0])
    done = subprocess.run([found, *words[1:]], cwd=at, capture_output=True, text=True, check=False)  # noqa: S603  (tools named here)
    if done.returncode:
        yield from ((done.stdout + done.stderr).strip() or f"exit code {done.returncode}").splitlines()


def compose(root: Path) -> Iterator[str]:
    yield from ran("check-jsonschema", "--builtin-schema", "vendor.compose-spec", "docker-compose.yml", at=root)
    yield from ran("docker-compose", "config", "-q", at=root)


def dockerfile(root: Path) -> Iterator[str]:
    yield from ran("hadolint", "deploy/Dockerfile", at=root)


def shell(root: Path) -> Iterator[str]:
    yield from ran("shellcheck", "deploy/supervised.sh", ".ci/run", at=root)


def yaml_files(root: Path) -> Iterator[str]:
    places = ["docker-compose.yml", "deploy/judges.yaml", "topics", "suites", "deploy/strimzi"]
    places += [
        place for place in ("deploy/prometheus", "deploy/alertmanager", "deploy/grafana") if (root / place).is_dir()
    ]
    yield from ran("yamllint", "--strict", "--format", "parsable", "-d", YAML, *places, at=root)


def systemd(root: Path) -> Iterator[str]:
    for unit in sorted((root / "deploy" / "systemd").glob("*.service")):
        # That the program is not installed here is no fault of the unit.
        told = ran("systemd-analyze", "verify", "--recursive-errors=no", unit, at=root)
        yield from (line for line in told if "is not executable" not in line)


def strimzi(root: Path) -> Iterator[str]:
    folder = root / "deploy" / "strimzi"
    schema = json.loads((folder / "kafka.strimzi.io-v1.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    for document in yaml.safe_load_all((folder / "topics.yaml").read_text(encoding="utf-8")):
        kind = document.get("kind")
        part = {**schema, "oneOf": [{"$ref": f"#/$defs/{kind}"}]} if kind in schema["$defs"] else schema
        for error in Draft202012Validator(part).iter_errors(document):
            deepest = best_match(error.context) if error.context else error
            assert deepest is not None
            yield f"{document.get('metadata', {}).get('name')}: {'.'.join(map(str, deepest.absolute_path))}: {deepest.message}"


def asyncapi(root: Path) -> Iterator[str]:
    document = yaml.safe_load((root / "docs" / "asyncapi.yaml").read_text(encoding="utf-8"))
    name = f"{document['asyncapi']}-without-$id.json"
    schema = json.loads((_schemas() / name).read_text(encoding="utf-8"))
    for error in Draft7Validator(schema).iter_errors(document):
        # Of several forms that none fits, the one meant is that which fits longest.
        while error.context:
            error = max(error.context, key=lambda one: len(one.absolute_path))  # noqa: PLW2901  (its way down)
        yield f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
    for place, reference in _references(document):
        if not _is_there(document, reference):
            yield f"{place}: {reference} leads nowhere"


def _schemas() -> Path:
    """AsyncAPI's schemas, from npm."""
    place = HERE.parent / ".cache" / "asyncapi"
    found = place / "node_modules" / "@asyncapi" / "specs" / "schemas"
    if not found.is_dir():
        if shutil.which("npm") is None:
            raise AbsentError("npm")
        place.mkdir(parents=True, exist_ok=True)
        for file in (HERE / "asyncapi").glob("package*.json"):
            shutil.copy(file, place)
        problems = list(ran("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", at=place))
        if problems:
            raise SystemExit("\n".join(["npm ci of deploy/asyncapi failed:", *problems]))
    return found


def _references(value: Any, place: str = "") -> Iterator[tuple[str, str]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        if key == "$ref" and isinstance(each, str):
            yield place, each
        else:
            yield from _references(each, f"{place}.{key}")


def _is_there(document: Any, reference: str) -> bool:
    at = document
    for part in reference.removeprefix("#/").split("/"):
        at = at.get(part) if isinstance(at, dict) else None
    return at is not None


def chart(root: Path) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        # A copy, in which the link to the rules is a file: Helm says at each reading that it followed one.
        place = Path(folder) / "stream-graders"
        shutil.copytree(root / "deploy" / "helm" / "stream-graders", place)
        yield from _chart(root, place)


def _chart(root: Path, place: Path) -> Iterator[str]:
    for name, values in VALUES.items():
        for message in helm.lint(place, values, strict=True)["messages"]:
            if message["severity"] >= 2:
                yield f"with {name}: {message['path']}: {message['error']}"
        try:
            rendered = helm.Chart.load(place).render(values, name="graders", namespace="agents", is_install=True)
        except HelmError as error:
            yield f"with {name}: {error}"
            continue
        for file, text in rendered.items():
            if file.endswith(".txt"):
                continue
            for resource in yaml.safe_load_all(text):
                if resource is not None:
                    yield from (f"with {name}: {file}: {told}" for told in _manifest(root, resource))


def _manifest(root: Path, resource: dict[str, Any]) -> Iterator[str]:
    kind = resource["kind"]
    if model := CUSTOM.get(kind):
        # The models let unknown fields pass, and lose them: what comes back shows what was not understood.
        again = model.model_validate(resource).model_dump(
            mode="json", by_alias=True, exclude_none=True, exclude_unset=True
        )
        yield from _lost(resource, again, kind)
        if kind == "PrometheusRule":
            shipped = yaml.safe_load((root / "deploy" / "prometheus" / "rules.yml").read_text(encoding="utf-8"))
            if resource["spec"] != shipped:
                yield "its rules are not those of deploy/prometheus/rules.yml"
        return
    for version in KUBERNETES:
        try:
            kubernetes_validate.validate(resource, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            yield f"{kind}: {'.'.join(map(str, error.path))}: {error.message[:300]}"


def _lost(before: Any, after: Any, place: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield f"{place}.{key}: there is no such field"
            else:
                yield from _lost(value, after[key], f"{place}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        for number, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _lost(one, other, f"{place}[{number}]")


CHECKS: dict[str, Callable[[Path], Iterator[str]]] = {
    "docker-compose.yml": compose,
    "deploy/Dockerfile": dockerfile,
    "shell": shell,
    "YAML": yaml_files,
    "deploy/systemd": systemd,
    "deploy/strimzi": strimzi,
    "docs/asyncapi.yaml": asyncapi,
    "deploy/helm": chart,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--root", type=Path, default=HERE.parent, help="the checkout to look at")
    parser.add_argument("--only", choices=CHECKS, help="one part of it")
    asked = parser.parse_args()
    bad = False
    for name, check in CHECKS.items():
        if asked.only in (None, name):
            try:
                problems = list(check(asked.root.resolve()))
            except AbsentError as absent:
                told = f"{absent} is not installed, so this is not checked"
                problems = [told] if os.environ.get("CI") else []
                if not problems:
                    print(f"{name}: {told}", file=sys.stderr)
            bad = bad or bool(problems)
            for problem in problems:
                print(f"{name}: {problem}")
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
