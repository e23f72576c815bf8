"""Gates of `stream-graders grade`: rates, repeated cases, baselines; and its reports."""

import json
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stream_graders.cli.gate import Change, Need, newcombe, wilson
from tests.cli.commands import Done, command
from tests.cli.test_grade import BAD, GOOD, POOR, SUITE, story, written


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "support.yaml"
    path.write_text(SUITE)
    return path


def graded(suite: Path, stories: list[object], *options: str | Path) -> Done:
    file = written(suite.parent / "runs.jsonl", *stories)  # type: ignore[arg-type]  # stories are events
    return command("grade", file, "-s", suite, *options)


def test_a_rate_allows_single_failures(suite: Path) -> None:
    assert graded(suite, [GOOD, POOR, BAD], "--min-pass-rate", "0.6").code == 0
    done = graded(suite, [GOOD, POOR, BAD], "--min-pass-rate", "0.7")
    assert (done.code, done.err) == (
        1,
        "gate missed: the pass rate is 66.7% of 3 (95 % interval 20.8% to 93.9%), and should be 70.0%\n",
    )
    assert graded(suite, [GOOD, BAD], "--min-pass-rate", "0.5", "--fail-on", "fail").code == 1


def test_a_rate_of_nothing_is_missed(suite: Path) -> None:
    unknown = [event for event in BAD if event.seq != 2]
    done = graded(suite, [unknown], "--min-pass-rate", "0")
    assert done.code == 1
    assert "no run passed or failed, so there is no pass rate" in done.err


def test_a_mean_score_and_a_soft_gate(suite: Path) -> None:
    assert graded(suite, [GOOD, BAD], "--min-score", "0.5").code == 0
    done = graded(suite, [GOOD, BAD], "--min-score", "0.6")
    assert (done.code, done.err) == (1, "gate missed: the mean score is 0.50, and should be 0.60\n")
    soft = graded(suite, [GOOD, BAD], "--min-score", "0.6", "--soft")
    assert (soft.code, soft.err) == (0, done.err)


def cases(passes: int, fails: int, case: str = "c1") -> list[object]:
    texts = ["fine"] * passes + ["I guarantee it"] * fails
    stories = []
    for n, text in enumerate(texts):
        told = story(f"{case}-{n}", text)
        told.events[0] = next(iter(type(told)(f"{case}-{n}").starts(labels={"case": case})))
        stories.append(told)
    return list(stories)


def test_repetitions_of_a_case(suite: Path) -> None:
    options = ("--group-by", "labels.case", "--need", "8/10")
    assert graded(suite, cases(8, 2), *options).code == 0
    done = graded(suite, [*cases(10, 0), *cases(7, 3, "c2"), *cases(7, 2, "c3")], *options)
    assert done.code == 1
    assert done.err.splitlines() == [
        "gate missed: labels.case c2: 7 of 10 graded runs passed, 8 of 10 are needed: missed",
        "gate missed: labels.case c3: 7 of 9 graded runs passed, 8 of 10 are needed: insufficient data",
    ]


def test_what_is_needed_is_known_before_all_is_there() -> None:
    need = Need(8, 10)
    assert need.word(Counter({"pass": 8})) == "met"
    assert need.word(Counter({"fail": 3})) == "missed"
    assert need.word(Counter({"pass": 7, "fail": 2, "not_graded": 5})) == "insufficient data"


def test_only_new_failures_miss_a_baseline(suite: Path) -> None:
    before = suite.parent / "before.jsonl"
    before.write_text(graded(suite, [GOOD, POOR, BAD], "--json").out)
    assert graded(suite, [GOOD, POOR, BAD], "--baseline", before).code == 0
    worse = story("good", "I guarantee it")
    done = graded(suite, [worse, POOR, BAD], "--baseline", before)
    assert done.code == 1
    assert "gate missed: support: keeps-from-saying fails in good, and did not before" in done.err
    assert "support: refunds: from 0.0% of 1 to 0.0% of 1" in done.err
    assert "insufficient data" in done.err


def test_a_rate_that_fell_misses_a_baseline_of_other_runs(suite: Path) -> None:
    before = suite.parent / "before.jsonl"
    before.write_text(graded(suite, cases(60, 0, "a"), "--json").out)
    done = graded(suite, cases(40, 20, "b"), "--baseline", before)
    assert done.code == 1
    assert "from 100.0% of 60 to 66.7% of 60" in done.err
    assert ": worse" in done.err


def test_intervals_are_those_of_the_papers() -> None:
    assert wilson(0, 10) == pytest.approx((0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1), abs=1e-4)
    assert newcombe(56, 70, 48, 80) == pytest.approx((-0.3339, -0.0524), abs=1e-4)
    assert Change("c", (56, 70), (48, 80), *newcombe(56, 70, 48, 80)).word == "worse"
    assert Change("c", (48, 80), (56, 70), *newcombe(48, 80, 56, 70)).word == "better"
    assert Change("c", (900, 1000), (899, 1000), *newcombe(900, 1000, 899, 1000)).word == "no change"


MISUSED = {
    "--need without --group-by": (["--need", "8/10"], "go together"),
    "--group-by without --need": (["--group-by", "labels.case"], "go together"),
    "--need that is none": (["--group-by", "labels.case", "--need", "10/8"], "like 8/10"),
    "a baseline that is not there": (["--baseline", "nowhere.jsonl"], "cannot be read"),
    "an outcome that is none": (["--fail-on", "bad"], "is no outcome"),
}


@pytest.mark.parametrize(("options", "said"), MISUSED.values(), ids=list(MISUSED))
def test_misuse_is_told_in_one_line(suite: Path, options: list[str], said: str) -> None:
    done = graded(suite, [GOOD], *options)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_a_baseline_without_run_verdicts_is_refused(suite: Path) -> None:
    for text, said in (("{}\n", "holds no run verdict"), ("{\n", "line 1 is not JSON")):
        before = suite.parent / "before.jsonl"
        before.write_text(text)
        done = graded(suite, [GOOD], "--baseline", before)
        assert done.code == 2
        assert said in done.err


# -- reports -------------------------------------------------------------------------------------------------------------


def test_junit(suite: Path) -> None:
    odd = story('odd & "named" <run>\x07', "I guarantee it")
    out = suite.parent / "junit.xml"
    graded(suite, [GOOD, POOR, odd], "--junit", out)
    root = ElementTree.parse(out).getroot()
    assert [one.get("name") for one in root] == [
        "support: good",
        "support: poor",
        'support: odd & "named" <run>\N{REPLACEMENT CHARACTER}',
    ]
    assert [(one.get("tests"), one.get("failures"), one.get("errors"), one.get("skipped")) for one in root] == [
        ("2", "0", "0", "1"),
        ("2", "1", "0", "0"),
        ("2", "1", "0", "1"),
    ]
    found = {(case.get("classname"), case.get("name")): [part.tag for part in case] for case in root.iter("testcase")}
    assert found["support: good", "keeps-from-saying"] == []
    assert found["support: good", "refunds"] == ["skipped"]
    assert found["support: poor", "refunds"] == ["failure"]
    (failure,) = root[1].iter("failure")
    assert failure.get("message") == "refund was never called. The agent called no tools."
    assert failure.text == "minor, agentlasso.tool_called: not_called"


def test_markdown(suite: Path) -> None:
    out = suite.parent / "report.md"
    graded(suite, [GOOD, story("a|b", "a refund")], "--markdown", out)
    lines = out.read_text().splitlines()
    assert lines[0] == "**2 runs graded**: 100.0% of 2"
    assert lines[-1] == (
        "| refunds | 0 | 1 | 1 | 0 | 0 | `a\\|b`: refund was never called. The agent called no tools. |"
    )


def test_github(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = suite.parent / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    done = graded(suite, [GOOD, POOR, BAD], "--github")
    assert done.out.splitlines()[-2:] == [
        "::warning title=support - refunds::poor: refund was never called. The agent called no tools.",
        "::error title=support - keeps-from-saying::bad: 'guarantee' found in transcript",
    ]
    assert summary.read_text().startswith("**3 runs graded**")
    many = [story(f"r{n}", "I guarantee it") for n in range(30)]
    assert graded(suite, list(many), "--github").out.count("::error") == 10


def test_a_report_that_cannot_be_written_is_told(suite: Path) -> None:
    done = graded(suite, [GOOD], "--junit", suite.parent / "nowhere" / "x.xml")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "cannot be written" in done.err


def test_reports_and_json_say_the_same(suite: Path) -> None:
    done = graded(suite, [GOOD, POOR, BAD], "--json", "--junit", suite.parent / "junit.xml")
    records = [json.loads(line) for line in done.out.splitlines()]
    fails = sum(record["outcome"] == "fail" for record in records if "check" in record)
    root = ElementTree.parse(suite.parent / "junit.xml").getroot()
    assert fails == len(list(root.iter("failure"))) == 2
