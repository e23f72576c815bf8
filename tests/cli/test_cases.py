"""`stream-graders test` and the plugin for pytest: suites' own cases."""

import json
from pathlib import Path

import pytest

from tests.cli.commands import command

pytest_plugins = ["pytester"]

SUITE = """\
suite: s
select: {agent: 'support-*', environment: production}
checks:
  - {check: polite, grader: vally.transcript_contains, severity: critical, settings: {substring: please}, turn: each}
  - {check: found, grader: agentlasso.tool_called, severity: minor, settings: {tool: find, status: success}}
"""
CASES = """\
runs:
  - run: good
    story:
      - {user: hello}
      - {call: find, args: {a: 1}}
      - {result: {b: 2}, error: false}
      - {assistant: please wait}
    expect: {polite: {0: pass}, found: {outcome: pass, reason: called, evidence: find was called}}
    outcome: pass
  - run: wrong
    story:
      - {user: hello}
      - {assistant: please}
      - {user: again}
      - {assistant: nope}
    expect: {polite: {0: fail, 1: fail, 2: pass}, found: {outcome: fail, reason: called}, other: pass}
    outcome: pass
"""


NEVER = "find was never called with status success. The agent called no tools."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.yaml").write_text(SUITE)
    (tmp_path / "s.test.yaml").write_text(CASES)
    return tmp_path


def test_each_difference_is_a_line(folder: Path) -> None:
    done = command("test", folder)
    assert (done.code, done.out) == (1, "1 of 2 cases passed\n")
    assert done.err.splitlines() == [
        "s.test.yaml:10: wrong: polite in turn 0: says pass (found), and should say fail: 'please' found in transcript",
        "s.test.yaml:10: wrong: polite in turn 2: says nothing, and should say pass",
        f"s.test.yaml:10: wrong: found: says fail for not_called, and should for called: {NEVER}",
        "s.test.yaml:10: wrong: other: the suite has no such check",
        "s.test.yaml:10: wrong: the run is fail (critical_failed), and should be pass",
    ]


def test_a_suite_stands_for_its_cases_and_json_says_all(folder: Path) -> None:
    done = command("test", folder / "s.yaml", "--json")
    assert done.code == 1
    assert [(line["run"], len(line["differences"])) for line in map(json.loads, done.out.splitlines())] == [
        ("good", 0),
        ("wrong", 5),
    ]


BAD: dict[str, tuple[str, str]] = {
    "no cases": ("", "s.test.yaml:1: "),
    "expects nothing": ("runs:\n  - {run: a, story: [{user: x}]}\n", "s.test.yaml:2: runs.0: expects nothing"),
    "says two things": (
        "runs:\n  - run: a\n    outcome: pass\n    story:\n      - {user: x, assistant: y}\n",
        "s.test.yaml:5: runs.0.story.0: should have one of start, user",
    ),
    "a key that is none": (
        "runs:\n  - run: a\n    outcome: pass\n    story:\n      - {user: x, argz: y}\n",
        "s.test.yaml:5: runs.0.story.0.argz: is not known here",
    ),
    "text that YAML takes for another thing": (
        "runs:\n  - run: a\n    outcome: pass\n    story:\n      - {user: no}\n",
        "s.test.yaml:5: runs.0.story.0.user: should be text; put it in quotes",
    ),
    "no event": (
        "runs:\n  - run: a\n    outcome: pass\n    story:\n      - event: {type: tool.call}\n",
        "s.test.yaml:2: run a, event 0: Object missing required field `name`",
    ),
    "a suite that is not there": (
        "suite: t.yaml\nruns:\n  - {run: a, outcome: pass, story: [{user: x}]}\n",
        "t.yaml:1: ",
    ),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=list(BAD))
def test_a_bad_file_is_told(folder: Path, text: str, said: str) -> None:
    (folder / "s.test.yaml").write_text(text)
    done = command("test", folder)
    assert done.code == 2
    assert done.err.startswith(said), done.err


def test_a_folder_without_cases_and_a_suite_without(folder: Path) -> None:
    (folder / "s.test.yaml").unlink()
    assert command("test", folder).code == 2
    assert "write s.test.yaml beside it" in command("test", folder / "s.yaml").err


def test_a_run_that_the_suite_does_not_select_is_told(folder: Path) -> None:
    (folder / "s.test.yaml").write_text("runs:\n  - {run: a, agent: other, outcome: pass, story: [{user: x}]}\n")
    assert "the suite does not select the run" in command("test", folder).err


def test_every_kind_of_line(folder: Path) -> None:
    (folder / "s.test.yaml").write_text("""\
runs:
  - run: all-kinds
    agent: support-x
    version: "2"
    environment: production
    story:
      - {start: {labels: {prompt: v7}, model: m}, turn: 0}
      - {system: be nice}
      - {user: hello, after: 2.5}
      - {call: find, id: c9, step: 1}
      - {result: text, id: c9, of: find, error: true, flags: truncated}
      - {pause: true}
      - {resume: true}
      - {assistant: please, agent: helper, usage: {input_tokens: 3}}
      - {turn_end: true}
      - {event: {type: custom, name: note}}
      - {end: error, output: please}
    expect: {polite: pass, found: {outcome: fail, reason: not_called}}
""")
    done = command("test", folder)
    assert (done.code, done.out) == (0, "1 of 1 cases passed\n")


def test_pytest_collects_them(pytester: pytest.Pytester) -> None:
    (pytester.path / "s.yaml").write_text(SUITE)
    (pytester.path / "s.test.yaml").write_text(CASES)
    plugins = ("-p", "no:cacheprovider")  # Ours is there by its entry point, as it is for users.
    result = pytester.runpytest_inprocess(*plugins, "-W", "ignore")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["polite in turn 0: says pass (found), and should say fail: 'please' found in transcript"]
    )
    (pytester.path / "s.test.yaml").write_text("runs: []\n")
    result = pytester.runpytest_inprocess(*plugins, "-W", "ignore")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*s.test.yaml:1: runs: should have an entry at least"])
