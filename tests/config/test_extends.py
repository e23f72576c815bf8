"""`extends`: one file over another, each value with the line of the file it stands in."""

from pathlib import Path

import pytest

from stream_graders.config import SuiteError, load, load_fleet, read
from stream_graders.verdicts import Severity

FLEET = """\
suite: fleet
owner: platform
links: {runs: "https://runs.example/{run_id}"}
completion: {idle_user: 5m, max_age: 1h}
checks:
  - check: no-promises
    grader: vally.transcript_not_contains
    severity: minor
    settings: {substring: I guarantee, case_sensitive: true}
  - check: no-drop
    grader: agentlasso.tool_not_called
    severity: critical
    settings: {tool: db.drop}
"""
SUPPORT = """\
extends: _fleet.yaml
suite: support
links: {traces: "https://traces.example/{trace_id}"}
completion: {max_age: 2h}
checks:
  - check: no-promises
    severity: critical
    settings: {substring: I promise}
  - check: no-write
    grader: agentlasso.tool_not_called
    severity: critical
    settings: {tool: db.write}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    (tmp_path / "_fleet.yaml").write_text(FLEET)
    (tmp_path / "support.yaml").write_text(SUPPORT)
    return tmp_path / "support.yaml"


def test_keys_win_mappings_mix_and_checks_are_met_by_name(suite: Path) -> None:
    loaded = load(suite)
    assert (loaded.name, loaded.about.owner) == ("support", "platform")
    assert set(loaded.about.links) == {"runs", "traces"}
    assert (loaded.completion.idle_user, loaded.completion.max_age) == (5 * 60_000, 2 * 3_600_000)
    severities: list[tuple[str, Severity]] = [(check.name, check.severity) for check in loaded.checks]
    assert severities == [("no-promises", "critical"), ("no-drop", "critical"), ("no-write", "critical")]
    promises = loaded.checks[0].grader
    assert promises.settings() == {"substring": "I promise", "case_sensitive": True, "negate": True}


def test_another_grader_takes_no_settings_over(suite: Path) -> None:
    suite.write_text(
        "extends: _fleet.yaml\nsuite: s\nchecks:\n  - {check: no-drop, all: [no-promises]}\n"
        "  - {check: no-promises, grader: agentlasso.tool_called, settings: {tool: x}, when: {said: x}}\n"
    )
    loaded = load(suite)
    assert [check.grader.name for check in loaded.checks] == ["agentlasso.tool_called", "combination"]


def test_the_version_is_that_of_the_whole(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "flat.yaml").write_text(
        "suite: support\nowner: platform\n"
        'links: {runs: "https://runs.example/{run_id}", traces: "https://traces.example/{trace_id}"}\n'
        "completion: {idle_user: 5m, max_age: 2h}\nchecks:\n"
        "  - {check: no-promises, grader: vally.transcript_not_contains, severity: critical,\n"
        "     settings: {substring: I promise, case_sensitive: true}}\n"
        "  - {check: no-drop, grader: agentlasso.tool_not_called, severity: critical, settings: {tool: db.drop}}\n"
        "  - {check: no-write, grader: agentlasso.tool_not_called, severity: critical, settings: {tool: db.write}}\n"
    )
    before = load(suite).version
    assert load(tmp_path / "flat.yaml").version == before
    (tmp_path / "_fleet.yaml").write_text(FLEET.replace("db.drop", "db.truncate"))
    assert load(suite).version != before


def test_a_problem_names_the_file_that_it_stands_in(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "_fleet.yaml").write_text(FLEET.replace("substring:", "substrin:").replace("critical", "grave"))
    suite.write_text(SUPPORT.replace("db.write", "1"))
    assert [str(problem) for problem in read(suite)[1]] == [
        "support.yaml:12: checks[2].settings.tool: should be text; put it in quotes",
        "_fleet.yaml:9: checks[0].settings.substrin: is not known here; did you mean 'substring'?",
        "_fleet.yaml:12: checks[1].severity: should be 'critical', 'minor' or 'info'",
    ]


def test_a_chain_and_what_is_wrong_with_it(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "_fleet.yaml").write_text("extends: _base.yaml\n" + FLEET)
    (tmp_path / "_base.yaml").write_text("evidence: none\nchecks: []\n")
    assert load(suite).evidence == "none"
    (tmp_path / "_base.yaml").write_text("extends: support.yaml\n")
    with pytest.raises(SuiteError, match=r"_base.yaml:1: extends: support.yaml extends this file in turn"):
        load(suite)
    (tmp_path / "_base.yaml").unlink()
    with pytest.raises(SuiteError, match=r"_fleet.yaml:1: extends: _base.yaml cannot be read: No such file"):
        load(suite)
    (tmp_path / "_fleet.yaml").write_text("- a list\n")
    with pytest.raises(SuiteError, match=r"support.yaml:6: checks\[0\]: should have one of grader, all, any and not"):
        load(suite)
    suite.write_text("extends: [a]\nsuite: s\nchecks: []\n")
    with pytest.raises(SuiteError, match=r"support.yaml:1: extends: should be the name of a suite file"):
        load(suite)


def test_what_others_extend_is_no_suite_of_its_folder(suite: Path) -> None:
    assert [loaded.name for loaded in load_fleet([suite.parent])] == ["support"]
    assert [loaded.name for loaded in load_fleet([suite.parent / "_fleet.yaml"])] == ["fleet"]


def test_keys_that_stand_twice_are_told_in_their_file(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "_fleet.yaml").write_text("owner: a\n" + FLEET)
    assert str(read(suite)[1][0]).startswith("_fleet.yaml:3: owner: this key stands here twice")
