"""The one change that the chain's test makes to the shipped files: durations, and nothing else."""

import re
from pathlib import Path

import pytest
import yaml

from tests.deploy.programs import DEPLOY, told_by
from tests.deploy.servers import DURATION, faster, replaced

FILES = [
    DEPLOY / "prometheus" / "rules.yml",
    DEPLOY / "prometheus" / "prometheus.yml",
    DEPLOY / "alertmanager" / "alertmanager.yml",
]


def rest(text: str) -> str:
    """A file without its durations."""
    return re.sub(
        r"\b\d+(ms|[smhd])\b", "T", "".join(line for line in text.splitlines(True) if line.strip()[:1] != "#")
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_all_durations_become_shorter_and_nothing_else_is_changed(file: Path) -> None:
    shipped = file.read_text(encoding="utf-8")
    told = faster(shipped)
    assert told != shipped
    assert rest(told) == rest(shipped)
    assert yaml.safe_load(told).keys() == yaml.safe_load(shipped).keys()
    code = "".join(line for line in told.splitlines(True) if line.strip()[:1] != "#")
    left = [found[0] for found in re.finditer(r"(\[|: )[1-9]\d*[smhd]\b", code)]
    assert left == [], "a duration that the change does not know"
    assert all(found[2] != "0" for found in DURATION.finditer(shipped) if found[1] == "[")


@pytest.mark.requires_prometheus
def test_prometheus_takes_the_changed_rules(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yml"
    rules.write_text(faster(FILES[0].read_text(encoding="utf-8")), encoding="utf-8")
    code, said = told_by("promtool", "check", "rules", rules)
    assert code == 0, said


def test_an_address_that_is_no_longer_in_the_file_is_noticed() -> None:
    with pytest.raises(AssertionError, match="worker-9:9808 is not in the file"):
        replaced("targets: [worker-0:9808]", {"worker-9:9808": "127.0.0.1:1"})
