"""`stream-graders grade`: the verdicts of finished runs, its exit codes, and what it says of files it cannot use."""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from stream_graders.events import Event, to_json
from stream_graders.testing import Story, graded, run
from stream_graders.verdicts import RunVerdict, Verdict
from tests.cli.commands import command
from tests.core.stories import GRADERS, STORIES

SUITE = """
suite: support
checks:
  - check: keeps-from-saying
    grader: vally.transcript_not_contains
    severity: critical
    settings: {substring: guarantee}
  - check: refunds
    grader: agentlasso.tool_called
    severity: minor
    when: {said: refund}
    settings: {tool: refund}
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of a critical check and a minor one that applies where a refund is spoken of."""
    path = tmp_path / "support.yaml"
    path.write_text(SUITE)
    return path


def written(path: Path, *stories: Iterable[Event]) -> Path:
    """The events of these runs in a file, one a line."""
    path.write_bytes(b"".join(to_json(event) + b"\n" for story in stories for event in story))
    return path


def story(run_id: str, *texts: str, **end: Any) -> Story:
    told = run(run_id).starts().asks("hi")
    for text in texts:
        told.says(text)
    return told.ends(**end)


GOOD, POOR, BAD = story("good", "fine"), story("poor", "a refund"), story("bad", "I guarantee it")


def lines(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.splitlines()]


# -- exit codes --------------------------------------------------------------------------------------------------------------

CODES: dict[str, tuple[list[Iterable[Event]], list[str], int]] = {
    "all pass": ([GOOD], [], 0),
    "a minor check fails": ([GOOD, POOR], [], 0),
    "a critical check fails": ([GOOD, BAD], [], 1),
    "it fails, and that is not asked for": ([GOOD, BAD], ["--fail-on", "error"], 0),
    "a critical check has no verdict": ([[e for e in GOOD if e.seq != 2]], [], 1),
    "nor then, whatever is asked for": ([GOOD, [e for e in story("x", "y") if e.seq != 2]], ["--fail-on", "error"], 1),
    "nothing is there": ([], [], 4),
    "nothing but asides": ([[next(iter(run().ends_turn()))]], [], 4),
}


@pytest.mark.parametrize(("stories", "options", "code"), CODES.values(), ids=list(CODES))
def test_exit_code(tmp_path: Path, suite: Path, stories: list[Iterable[Event]], options: list[str], code: int) -> None:
    done = command("grade", written(tmp_path / "runs.jsonl", *stories), "-s", suite, *options)
    assert done.code == code, done


def test_runs_that_no_suite_selects_or_no_check_is_for_are_not_graded(tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(SUITE.replace("checks:", "select: {agent: someone}\nchecks:"))
    runs = written(tmp_path / "runs.jsonl", GOOD)
    assert command("grade", runs, "-s", other).code == 4
    other.write_text(SUITE.replace("critical", "critical\n    when: {called: never}"))
    assert command("grade", runs, "-s", other).code == 4
    assert command("grade", runs, "-s", other, "--fail-on", "skipped").code == 1


def test_a_record_that_cannot_be_graded_is_bad_input_unless_the_gate_is_missed(tmp_path: Path, suite: Path) -> None:
    runs = written(tmp_path / "runs.jsonl", GOOD)
    runs.write_bytes(runs.read_bytes() + b"{nonsense\n" + b'{"type":"message"}\n')
    done = command("grade", runs, "-s", suite)
    assert done.code == 2
    assert "100.0% of 1" in done.out
    (told,) = done.err.splitlines()
    assert told.startswith("2 records could not be graded (1 not_json, 1 schema_unknown); the first: runs.jsonl:5: ")
    runs.write_bytes(runs.read_bytes() + b"".join(to_json(event) + b"\n" for event in BAD))
    assert command("grade", runs, "-s", suite).code == 1


def test_an_unreadable_body_makes_its_run_incomplete(tmp_path: Path, suite: Path) -> None:
    runs = written(tmp_path / "runs.jsonl", GOOD)
    runs.write_bytes(runs.read_bytes().replace(b'"content":"fine"', b'"content":7'))
    done = command("grade", runs, "-s", suite, "--json")
    assert (done.code, lines(done.out)[0]["reason"]) == (1, "incomplete")
    assert "1 invalid" in done.err


# -- what it says --------------------------------------------------------------------------------------------------------------


def test_the_report_has_a_line_a_check_and_its_first_failure(tmp_path: Path, suite: Path) -> None:
    done = command("grade", written(tmp_path / "runs.jsonl", GOOD, POOR, BAD), "-s", suite)
    assert done.out.splitlines() == [
        "suite support",
        "  keeps-from-saying   66.7% of 3  (1 fail)",
        "                     first: bad: 'guarantee' found in transcript",
        "  refunds              0.0% of 1  (1 fail, 2 skipped)",
        "                     first: poor: refund was never called. The agent called no tools.",
        "3 run verdicts:  66.7% of 3  (1 fail)",
    ]
    assert done.err == "gate missed: 1 run ended as fail\n"


def test_json_is_every_final_verdict_and_then_the_runs(tmp_path: Path, suite: Path) -> None:
    done = command("grade", written(tmp_path / "runs.jsonl", BAD, GOOD), "-s", suite, "--json")
    told = lines(done.out)
    assert [(line["schema"], line["run_id"], line.get("check")) for line in told] == [
        ("stream_graders.verdict/1", "bad", "keeps-from-saying"),
        ("stream_graders.verdict/1", "bad", "refunds"),
        ("stream_graders.verdict/1", "good", "keeps-from-saying"),
        ("stream_graders.verdict/1", "good", "refunds"),
        ("stream_graders.run_verdict/1", "bad", None),
        ("stream_graders.run_verdict/1", "good", None),
    ]
    assert {line["state"] for line in told} == {"final"}  # Early ones are a live matter.
    assert set(told[0]) == set(Verdict.__struct_fields__)
    assert set(told[-1]) == set(RunVerdict.__struct_fields__)


def test_it_says_what_a_session_says(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(
        "suite: suite\nchecks:\n  - {check: c, grader: vally.transcript_contains, severity: critical, settings: {substring: refunded}}\n"
    )
    for name, events in STORIES.items():
        done = command("grade", written(tmp_path / "one.jsonl", events), "-s", path, "--json")
        verdict = graded(GRADERS["contains"], events)
        assert lines(done.out)[0]["outcome"] == verdict.outcome, name
        assert lines(done.out)[0]["evidence"] == verdict.evidence, name


def test_runs_may_be_mixed_and_spread_over_files(tmp_path: Path, suite: Path) -> None:
    mixed = [event for pair in zip(GOOD, BAD, strict=True) for event in pair]
    one, other = written(tmp_path / "a.jsonl", mixed[:5]), written(tmp_path / "b.jsonl", mixed[5:])
    done = command("grade", one, other, "-s", suite, "--json")
    outcomes = {
        (line["run_id"], line["outcome"]) for line in lines(done.out) if line.get("check") == "keeps-from-saying"
    }
    assert outcomes == {("good", "pass"), ("bad", "fail")}


def test_order_and_repetition_in_a_file_do_not_matter(tmp_path: Path, suite: Path) -> None:
    plain = command("grade", written(tmp_path / "runs.jsonl", GOOD), "-s", suite, "--json")
    turned = command("grade", written(tmp_path / "runs.jsonl", [*GOOD][::-1], GOOD), "-s", suite, "--json")
    assert turned.out == plain.out


def test_two_suites_are_graded_side_by_side(tmp_path: Path, suite: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text(SUITE.replace("suite: support", "suite: other"))
    done = command("grade", written(tmp_path / "runs.jsonl", GOOD), "-s", suite, "-s", other)
    assert [line for line in done.out.splitlines() if line.startswith("suite ")] == ["suite support", "suite other"]


def test_an_amended_verdict_stands_beside_the_first_and_the_gate_asks_the_last(tmp_path: Path, suite: Path) -> None:
    late = run("good").says("I guarantee it", seq=4, id="late")
    done = command("grade", written(tmp_path / "runs.jsonl", GOOD, late), "-s", suite, "--json")
    told = [(line["state"], line["outcome"]) for line in lines(done.out) if line.get("check") == "keeps-from-saying"]
    assert told == [("final", "pass"), ("amended", "fail")]
    assert done.code == 1


# -- files -----------------------------------------------------------------------------------------------------------------------


def test_compressed_files_are_read_as_they_are(tmp_path: Path, suite: Path) -> None:
    plain = written(tmp_path / "runs.jsonl", GOOD)
    packed = tmp_path / "runs.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert command("grade", packed, "-s", suite, "--json").out == command("grade", plain, "-s", suite, "--json").out


def test_transcripts_are_read_too(tmp_path: Path, suite: Path) -> None:
    path = tmp_path / "chats.v2.jsonl"
    chats = [[{"role": "assistant", "content": text}] for text in ("fine", "I guarantee it")]
    path.write_text("\n\n".join(json.dumps({"messages": chat, "reward": 1}) for chat in chats))
    done = command("grade", path, "-s", suite, "--json")
    told = {line["run_id"]: line["outcome"] for line in lines(done.out) if line.get("check") == "keeps-from-saying"}
    assert told == {"chats.v2-0": "pass", "chats.v2-2": "fail"}


def test_a_transcript_that_cannot_be_read_is_one_record_that_was_not_graded(tmp_path: Path, suite: Path) -> None:
    path = tmp_path / "chats.jsonl"
    good = json.dumps({"messages": [{"role": "assistant", "content": "fine"}]})
    broken = json.dumps({"messages": [{"role": "assistant", "tool_calls": [{"id": "c1"}]}]})
    path.write_text(f"{good}\n{broken}\n[1]\n{{\n{good}")
    done = command("grade", path, "-s", suite)
    assert done.code == 2
    assert "2 run verdicts" in done.out
    assert done.err == (
        "3 records could not be graded (3 invalid); the first: chats, line 2: message 0 calls a tool without a name, "
        "or by one that is too long\n"
    )


UNUSABLE = {
    "not there": (None, "runs.jsonl", "runs.jsonl: cannot be read: No such file or directory"),
    "neither events nor transcripts": (
        b'{"a": 1}\n',
        "runs.jsonl",
        "runs.jsonl: line 1 is neither an event (it has no type) nor a chat transcript (it has no messages)",
    ),
    "a list": (
        b"[1]\n",
        "runs.jsonl",
        "runs.jsonl: line 1 is neither an event (it has no type) nor a chat transcript (it has no messages)",
    ),
    "no gzip": (b"hello", "runs.jsonl.gz", "runs.jsonl.gz: is no whole gzip file: Not a gzipped file"),
    "half a gzip": (gzip.compress(b"x" * 9_999)[:20], "runs.jsonl.gz", "runs.jsonl.gz: is no whole gzip file: "),
    "a damaged gzip": (
        gzip.compress(bytes(range(256)) * 99)[:40] + b"\xff" * 400,
        "runs.jsonl.gz",
        "runs.jsonl.gz: is no whole gzip file: ",
    ),
}


@pytest.mark.parametrize(("data", "name", "told"), UNUSABLE.values(), ids=list(UNUSABLE))
def test_a_file_that_cannot_be_used_is_one_line(
    tmp_path: Path, suite: Path, data: bytes | None, name: str, told: str
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    done = command("grade", path, "-s", suite)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert line.startswith(f"{tmp_path}/{told}")
    assert done.out == ""


def test_a_folder_is_no_file(tmp_path: Path, suite: Path) -> None:
    done = command("grade", tmp_path, "-s", suite)
    assert (done.code, done.err) == (2, f"{tmp_path}: cannot be read: Is a directory\n")


def test_a_typo_in_a_suite_is_told_with_its_line_and_fix(tmp_path: Path, suite: Path) -> None:
    suite.write_text(SUITE.replace("substring:", "substrin:").replace("critical", "critcal"))
    done = command("grade", written(tmp_path / "runs.jsonl", GOOD), "-s", suite)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "support.yaml:6: checks[0].severity: should be 'critical', 'minor' or 'info'",
        "support.yaml:7: checks[0].settings.substring: is missing",
        "support.yaml:7: checks[0].settings.substrin: is not known here; did you mean 'substring'?",
    ]


def test_so_is_one_in_the_gate(tmp_path: Path, suite: Path) -> None:
    done = command("grade", written(tmp_path / "runs.jsonl", GOOD), "-s", suite, "--fail-on", "fail,eror")
    assert (done.code, done.err) == (2, "--fail-on: eror is no outcome; use fail, error, not_graded, skipped\n")


def test_without_a_suite_it_says_what_is_missing(tmp_path: Path) -> None:
    done = command("grade", written(tmp_path / "runs.jsonl", GOOD))
    assert done.code == 2
    assert "--suite" in done.err
    assert "Traceback" not in done.err


def test_every_recorded_run_is_graded(real_data: Path, tmp_path: Path, suite: Path) -> None:
    done = command("grade", *sorted(real_data.glob("tau*_bench/*.jsonl.gz")), "-s", suite)
    assert done.err == "gate missed: 10 runs ended as fail\n"
    assert "656 run verdicts" in done.out
