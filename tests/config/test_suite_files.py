"""Suite files: the good ones load as they are meant, and each bad one is told all that is wrong, with line and fix.

Beside each file in ``bad/`` stand the lines it is told; beside one in ``good/`` the warnings, where there are any.
"""

from pathlib import Path

import pytest

from stream_graders.catalogue import catalogue
from stream_graders.config import SuiteError, load, load_fleet, read, settings_model
from stream_graders.folding import Combination
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput
from stream_graders.grading import setting_fields
from stream_graders.suites import HOUR, MINUTE, About, Check, Completion, Scoring, Select, Suite, Unless, When

HERE = Path(__file__).parent
GOOD = sorted((HERE / "good").glob("*.yaml"))
BAD = sorted((HERE / "bad").glob("*.yaml"))


def lines(path: Path) -> list[str]:
    beside = path.with_suffix(".txt")
    return beside.read_text(encoding="utf-8").splitlines() if beside.exists() else []


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_file_is_told_all_that_is_wrong(path: Path) -> None:
    suite, problems = read(path)
    assert suite is None
    assert [str(problem) for problem in problems] == lines(path)
    assert any(not problem.is_warning for problem in problems)
    with pytest.raises(SuiteError) as told:
        load(path)
    assert str(told.value).splitlines() == [line for line in lines(path) if "warning: " not in line]


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_good_file_loads_with_its_warnings(path: Path) -> None:
    suite, problems = read(path)
    assert suite is not None
    assert [str(problem) for problem in problems] == lines(path)
    assert all(problem.is_warning for problem in problems)
    assert load(path) == suite


def test_there_are_such_files() -> None:
    assert len(GOOD) >= 3
    assert len(BAD) >= 15


def test_every_key_arrives_where_it_belongs() -> None:
    suite = load(HERE / "good" / "everything.yaml")
    assert (suite.name, suite.scoring, suite.evidence, suite.publish) == (
        "support",
        Scoring("weighted", 0.8),
        "full",
        "fails",
    )
    assert suite.about == About(
        "payments",
        "https://wiki.example/runbooks/support",
        {"trace": "https://traces.example/{trace_id}", "run": "https://runs.example/{run_id}"},
    )
    assert suite.select == Select(
        agent=("support-*", "helpdesk"),
        version=("1.*",),
        environment=("production", "staging"),
        tenant=("acme",),
        labels={"prompt": "v*"},
        unless=Unless(("*-canary",), ("0.*",), ("load-test",), ("trial",), {"prompt": "draft"}),
    )
    assert suite.completion == Completion(
        idle_user=15 * MINUTE,
        idle_agent=10 * MINUTE,
        idle_tool=HOUR,
        max_age=24 * HOUR,
        amend_window=10 * MINUTE,
        remember=HOUR,
    )
    first, _, third, fourth = suite.checks[:4]
    assert first == Check(
        "order-id-is-real",
        AssistantContainsToolOutput(["orders.lookup"], path="order_id"),
        "critical",
        "ticket",
        When(called="orders.lookup"),
    )
    assert (third.grader.name, third.turn, third.early) == ("vally.transcript_not_contains", 0, "never")
    assert fourth.when == When(None, "found", ("ok", "limit"), {"prompt": "v7"}, "no-promises", ("pass", "skipped"))


def test_the_keys_of_turns_agents_and_other_checks_arrive() -> None:
    checks = {check.name: check for check in load(HERE / "good" / "everything.yaml").checks}
    assert checks["polite-in-each-turn"].turn == "each"
    billing = checks["billing-is-careful"]
    assert (billing.turn, billing.agent, billing.depth, billing.weight) == ("last", "billing-*", "all", 2)
    assert billing.missing_input == "source"
    assert billing.about == About(
        "billing", "https://wiki.example/runbooks/billing", {"dashboard": "https://boards.example/billing"}
    )
    made = {name: check.grader for name, check in checks.items() if isinstance(check.grader, Combination)}
    assert made == {
        "careful": Combination("all", ("no-drop", "billing-is-careful")),
        "some-order": Combination("any", ("in-order", "auth-before-refund")),
        "not-found": Combination("not", ("found",)),
    }


def test_what_a_file_leaves_out_stands_at_its_default() -> None:
    suite = load(HERE / "good" / "smallest.yaml")
    assert suite == Suite("s", suite.checks)
    assert suite.checks == (Check("c", suite.checks[0].grader, "minor"),)


def test_two_files_of_the_same_meaning_have_one_version(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(
        "# the same, written otherwise\nchecks:\n  - check: c\n    settings:\n      substring: x\n"
        "    grader: vally.transcript-not-contains\n    severity: minor\n    notify: none\nsuite: s\n"
    )
    assert load(other).version == load(HERE / "good" / "smallest.yaml").version


def test_a_folder_is_all_its_suites_but_not_their_tests(tmp_path: Path) -> None:
    text = (HERE / "good" / "smallest.yaml").read_text()
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text(text.replace("suite: s", "suite: t"))
    (tmp_path / "b.test.yaml").write_text("runs: []")
    (tmp_path / "notes.txt").write_text("x")
    assert [suite.name for suite in load_fleet([tmp_path])] == ["s", "t"]
    assert list(load_fleet([tmp_path]).by_name) == ["s", "t"]


def test_two_suites_of_one_name_are_refused(tmp_path: Path) -> None:
    text = (HERE / "good" / "smallest.yaml").read_text()
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text(text)
    with pytest.raises(SuiteError, match=r"^b\.yaml:1: suite: 's' is also the suite of a\.yaml; rename one$"):
        load_fleet([tmp_path])


def test_a_folder_without_suites_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match=r"no suite file there; name a \.yaml file or a folder"):
        load_fleet([tmp_path])


def test_the_problems_of_all_files_are_told_at_once() -> None:
    with pytest.raises(SuiteError) as told:
        load_fleet([HERE / "bad" / "empty.yaml", HERE / "bad" / "latin_1.yaml", HERE / "nowhere.yaml"])
    assert [problem.file for problem in told.value.problems] == ["empty.yaml", "latin_1.yaml", "nowhere.yaml"]


def test_a_file_that_is_not_there_says_so() -> None:
    _, (problem,) = read(HERE / "nowhere.yaml")
    assert str(problem) == "nowhere.yaml:1: cannot be read: No such file or directory"


def test_every_graders_settings_are_checked_from_its_own_fields() -> None:
    for kind in catalogue().values():
        model = settings_model(kind)
        assert list(model.model_fields) == [f.name for f in setting_fields(kind)]
        assert model.model_config.get("strict")
        assert model.model_config.get("extra") == "forbid"
