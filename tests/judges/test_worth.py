"""What a judge will cost before it is asked, and how far it agrees with people."""

import json
from pathlib import Path
from typing import Any

import pytest

from stream_graders.events import to_json
from stream_graders.judges.calibration import (
    Pair,
    agreement,
    bias,
    flip_rate,
    gwet,
    kappa,
    probes,
    read,
    report,
    rubric_of,
)
from stream_graders.judges.settings import load
from stream_graders.testing import run
from tests.cli.commands import command
from tests.integration.harness import written
from tests.judges.server import Body, Does, ScriptedServer, always, scores, slot

SUITE = """
suite: s
judge: {sample: SHARE, budget: {usd: 1}}
checks:
  - {check: accurate, grader: ai_eval.accuracy_grader, severity: minor}
  - {check: both, grader: vally.panel, severity: minor, settings: {rubric: Names the gate., models: [default, second]}}
"""
PRICES = {"version": "1", "input": 1.0, "output": 2.0}
MODEL = {"base_url": "http://127.0.0.1:1/v1", "model": "m", "prices": PRICES}


def files(folder: Path, share: str = "1", url: str | None = None) -> tuple[Path, Path, Path]:
    """A suite, runs, and a judges' file."""
    events = [e for n in range(40) for e in run(f"run-{n}").starts().asks("Which gate?").says(f"Gate {n}.").ends()]
    model = {**MODEL, **({} if url is None else {"base_url": url})}
    return (
        written(folder / "s.yaml", SUITE.replace("SHARE", share)),
        written(folder / "runs.jsonl", "".join(to_json(event).decode() + "\n" for event in events)),
        written(folder / "judges.yaml", json.dumps({"models": {"default": model, "second": model}})),
    )


def test_an_estimate_asks_nobody_and_tells_calls_tokens_and_money_a_day(tmp_path: Path) -> None:
    suite, runs, judges = files(tmp_path)
    done = command("judge", "estimate", "--from", runs, "-s", suite, "-j", judges, "--runs-a-day", "4000", "--json")
    assert done.code == 0, done.err
    accurate, both = map(json.loads, done.out.splitlines())
    assert (accurate["check"], accurate["asked"], accurate["calls_a_day"]) == ("s/accurate", 40, 4_000)
    assert (both["models"], both["calls_a_day"]) == (["default", "second"], 8_000)
    # A prompt of some 450 tokens, and 150 of an answer at twice the price.
    assert 2.0 < accurate["usd_a_day"] < 5.0
    assert "$" in command("judge", "estimate", "--from", runs, "-s", suite, "-j", judges).out
    assert "unknown (no prices" in command("judge", "estimate", "--from", runs, "-s", suite).out


def test_an_estimate_counts_the_share_that_is_judged(tmp_path: Path) -> None:
    suite, runs, _ = files(tmp_path, share="0.25")
    told = [
        json.loads(line)
        for line in command("judge", "estimate", "--from", runs, "-s", suite, "--json").out.splitlines()
    ]
    assert 3 <= told[0]["asked"] <= 18
    assert told[0]["asked"] == told[1]["asked"]  # One draw for all judges of a run.


def test_grade_says_of_a_judged_check_that_nobody_answered(tmp_path: Path) -> None:
    suite, runs, _ = files(tmp_path)
    done = command("grade", runs, "-s", suite, "--json")
    found = [json.loads(line) for line in done.out.splitlines()]
    assert {value["reason"] for value in found if value.get("check") == "accurate"} == {"no_judge"}


# -- agreement -----------------------------------------------------------------------------------------------------------


def pairs(*counts: tuple[float, float, int]) -> list[Pair]:
    return [Pair(person, judge) for person, judge, n in counts for _ in range(n)]


def test_kappa_of_tables_that_are_known() -> None:
    # Cohen's own kind of table: 20 and 15 agree, 5 and 10 do not.
    table = pairs((1, 1, 20), (1, 0, 5), (0, 1, 10), (0, 0, 15))
    assert agreement(table) == 0.7
    assert kappa(table) == pytest.approx(0.4)
    assert kappa(pairs((1, 1, 5), (0, 0, 5))) == 1.0
    assert kappa(pairs((1, 0, 5), (0, 1, 5))) == -1.0
    assert kappa(pairs((5, 4, 10), (1, 0, 10))) > 0.7  # One off is little on a scale of six.


def test_where_nearly_all_runs_are_good_agreement_flatters_and_kappa_falls() -> None:
    table = pairs((1, 1, 95), (0, 1, 5))
    assert agreement(table) == 0.95
    assert kappa(table) == pytest.approx(0.0)
    assert gwet(table) > 0.9
    assert bias(table) == pytest.approx(0.05)


def test_a_judge_backs_a_critical_check_only_with_enough_labels_and_agreement() -> None:
    good = report(pairs((1, 1, 70), (0, 0, 40), (1, 0, 4), (0, 1, 4)), 0, [], 1.0)
    assert good["short_of"] == []
    few = report(pairs((1, 1, 30), (0, 0, 5)), 0, [], 1.0)["short_of"]
    assert few == ["100 labels, it has 35", "20 labels of the rarer kind, it has 5"]
    chance = report(pairs((1, 1, 50), (0, 1, 50), (1, 0, 50), (0, 0, 50)), 0, [], 1.0)["short_of"]
    assert [lack.split(",")[0] for lack in chance] == ["a kappa of 0.6", "a low end of kappa's interval of 0.4"]


def test_what_is_asked_again_may_flip() -> None:
    assert flip_rate([[1.0, 1.0], [1.0, 0.0], [None, None], [1.0]]) == pytest.approx(1 / 3)
    assert flip_rate([[1.0]]) is None


def test_stored_labels_are_enough(tmp_path: Path) -> None:
    told = pairs((1, 1, 70), (0, 0, 40), (1, 0, 4), (0, 1, 4))
    labels = written(tmp_path / "l.jsonl", "".join(json.dumps({"label": a, "judge": b}) + "\n" for a, b in told))
    done = command("judge", "calibrate", labels)
    assert (done.code, done.out.splitlines()[-1]) == (0, "good enough for a critical check")
    assert done.out.startswith("kappa 0.86")
    bad = written(tmp_path / "b.jsonl", '{"judge": 1}\n')
    assert command("judge", "calibrate", bad).err.strip() == "b.jsonl:1: has no label, the score that a person gave"


def gullible(n: int, body: Body) -> Does:
    """A judge that does as it is told by whom it grades, and likes long replies."""
    response = slot(body["messages"][1]["content"], "agent_response")
    return scores(5 if "return score 5" in response else 3 if "Thank you" in response else 2)


def test_a_judge_is_asked_about_its_labels_and_about_twins_made_to_fool_it(tmp_path: Path) -> None:
    shown = {"dimension": "d", "guide": "g", "question": "Which gate?", "criteria": "", "response": "Gate 4."}
    lines = "".join(
        json.dumps({"label": 2, "input": {**shown, "response": f"Gate {n}."}, "scale": [0, 5]}) + "\n" for n in range(4)
    )
    labels = written(tmp_path / "l.jsonl", lines)
    with ScriptedServer(gullible) as server:
        _, _, judges = files(tmp_path, url=server.url)
        done = command(
            "judge", "calibrate", labels, "-j", judges, "--repeats", "2", "--json", "-o", tmp_path / "out.json"
        )
        assert len(server.asked) == 4 * (2 + 4)
    told: dict[str, Any] = json.loads(done.out)
    assert (done.code, told["flip_rate"], told["agreement"]) == (1, 0.0, 1.0)
    raised = {name: probe["raised"] for name, probe in told["probes"].items()}
    assert raised == {"padded": 4, "restyled": 0, "injected": 4, "opener": 0}
    assert json.loads((tmp_path / "out.json").read_text()) == told
    found = read(tmp_path / "out.json")
    assert (found.judge["model"], found.judge["reported"]) == ("m", ["scripted-1"])
    assert found.rubrics == {rubric_of(shown, (0, 5))}
    assert found.short_of
    assert found.changed(load(judges).models["default"]) == []


def test_probes_change_the_reply_alone() -> None:
    shown = {"question": "q", "response": "a\nb"}
    assert {name: twin["question"] for name, twin in probes(shown).items()} == dict.fromkeys(probes(shown), "q")
    assert probes(shown)["restyled"]["response"] == "- **a**\n- **b**"


def test_a_judge_that_nobody_named_is_told(tmp_path: Path) -> None:
    with ScriptedServer(always(scores(1))) as server:
        _, _, judges = files(tmp_path, url=server.url)
        labels = written(tmp_path / "l.jsonl", '{"label": 1, "input": {"response": "x"}}\n')
        done = command("judge", "calibrate", labels, "-j", judges, "--model", "third")
        assert done.err.strip() == "judges.yaml: knows no judge 'third'; it has default, second"
