"""`stream-graders check`: what is wrong with suite files."""

import json
from pathlib import Path

from tests.cli.commands import command

SUITES = Path(__file__).parents[1] / "config"


def test_a_good_file_is_called_good() -> None:
    done = command("check", SUITES / "good" / "smallest.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("smallest.yaml: suite s is good: 1 checks, version sha256:")


def test_warnings_are_printed_and_fail_nothing() -> None:
    done = command("check", SUITES / "good" / "warned.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[:-1] == (SUITES / "good" / "warned.txt").read_text().splitlines()


def test_every_problem_of_a_bad_file_is_a_line() -> None:
    done = command("check", SUITES / "bad" / "misspelt.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err == (SUITES / "bad" / "misspelt.txt").read_text()


def test_a_folder_is_all_its_suites() -> None:
    done = command("check", SUITES / "good", SUITES / "bad" / "empty.yaml")
    assert done.code == 2
    assert done.out.count(" is good: ") == len(list((SUITES / "good").glob("*.yaml")))
    assert done.err == "empty.yaml:1: should be a mapping, lines of `name: value`\n"


def test_json_is_one_problem_a_line() -> None:
    done = command("check", SUITES / "bad" / "names.yaml", SUITES / "good" / "warned.yaml", "--json")
    assert done.code == 2
    told = [json.loads(line) for line in done.out.splitlines()]
    assert told[0] == {
        "kind": "error",
        "file": "names.yaml",
        "line": 7,
        "where": "checks[1].check",
        "message": "the name 'a' is taken by check 1",
    }
    assert [line["kind"] for line in told].count("warning") == 7
    assert done.err == ""


def test_a_folder_without_suites_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "s.test.yaml").write_text("runs: []")
    done = command("check", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == f"{tmp_path}: no suite file there; name a .yaml file or a folder of them\n"


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = command("check", tmp_path / "nowhere.yaml")
    assert (done.code, done.err) == (2, "nowhere.yaml:1: cannot be read: No such file or directory\n")
