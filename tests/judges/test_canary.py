"""A set that is asked again: it tells a judge that changed from one that never agrees with itself, and costs what it may."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stream_graders.judges.canary import Answer, Item, drift
from stream_graders.judges.local import NAME, LocalModel, LocalModelError, weights
from tests.cli.commands import Done, command
from tests.conftest import unavailable
from tests.integration.harness import written
from tests.judges.server import Body, Does, ScriptedServer, always, fails, one_after_another, says, scores, slot

SHOWN = {"dimension": "accuracy", "guide": "5: right", "question": "Which gate?", "criteria": ""}
ITEMS = 12

# -- the tests of the figures ---------------------------------------------------------------------------------------------

Judge = Callable[[random.Random, int], Answer]


def steady(drawn: random.Random, n: int) -> Answer:
    return float(n % 6)


def unsure(drawn: random.Random, n: int) -> Answer:
    """A judge that contradicts itself at every third answer, and refuses now and then."""
    if drawn.random() < 0.05:
        return "refused"
    return float(n % 5 + (drawn.random() < 0.3))


def stricter(drawn: random.Random, n: int) -> Answer:
    answer = unsure(drawn, n)
    return max(0.0, answer - (drawn.random() < 0.6)) if isinstance(answer, float) else answer


def turned(drawn: random.Random, n: int) -> Answer:
    """As good on average, and another answer to every item."""
    return float(5 - n % 6)


def refuses(drawn: random.Random, n: int) -> Answer:
    return "refused" if n % 3 == 0 else steady(drawn, n)


def days(then: Judge, now: Judge, seed: int, items: int = 30, repeats: int = 3) -> list[Item]:
    drawn = random.Random(seed)
    return [
        Item([then(drawn, n) for _ in range(repeats)], [now(drawn, n) for _ in range(repeats)], 5.0)
        for n in range(items)
    ]


@pytest.mark.parametrize("judge", [steady, unsure])
def test_a_judge_that_did_not_change_raises_no_more_alarms_than_it_was_told(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("stream_graders.judges.canary.DRAWS", 199)
    monkeypatch.setattr("stream_graders.judges.canary.RESAMPLED", 10)
    told = [bool(drift(days(judge, judge, seed), 0.1, seed).alarms) for seed in range(200)]
    assert sum(told) <= 34  # 20 are expected at most; more than 34 of 200 come in one of two thousand such tests.


CHANGES: dict[str, tuple[Judge, Judge, list[str]]] = {
    "a stricter judge": (unsure, stricter, ["mean"]),
    "one that has turned round": (steady, turned, ["flips"]),
    "one that begins to refuse": (steady, refuses, ["flips"]),
    "the same": (steady, steady, []),
}


@pytest.mark.parametrize(("then", "now", "alarms"), CHANGES.values(), ids=list(CHANGES))
def test_a_change_is_seen_where_it_is(then: Judge, now: Judge, alarms: list[str]) -> None:
    assert drift(days(then, now, 1), 0.01).alarms == alarms


def test_figures_are_shares_of_the_scale_and_lie_in_their_intervals() -> None:
    found = drift([Item([4.0, 4.0], [3.0, 3.0], 5.0)] * 9 + [Item([1.0, 1.0], [0.0, 1.0], 1.0)], 0.01)
    assert found.mean is not None
    assert found.then == pytest.approx(0.82)
    assert found.now == pytest.approx(0.59)
    assert found.mean.value == pytest.approx(-0.23)
    assert found.mean.low <= found.mean.value <= found.mean.high < 0
    assert found.flips == pytest.approx(0.95)
    assert found.usual == pytest.approx(0.05)
    assert drift([Item([4.0, 4.0], ["refused", "refused"], 5.0)] * 10, 0.01).mean is None


# -- the command ----------------------------------------------------------------------------------------------------------


def by_gate(less: int = 0) -> Callable[[int, Body], Does]:
    """A judge of whom each reply has a score of its own."""

    def script(n: int, body: Body) -> Does:
        gate = int(slot(body["messages"][1]["content"], "agent_response").removeprefix("Gate ").rstrip("."))
        return scores(max(0, 5 - gate % 4 - less))

    return script


def files(place: Path, url: str, **more: Any) -> tuple[Path, Path]:
    """Items and a judges' file."""
    lines: list[dict[str, Any]] = [
        {"input": {**SHOWN, "response": f"Gate {n}."}, "scale": [0, 5]} for n in range(ITEMS)
    ]
    lines[0] |= {"grader": "ai_eval.accuracy_grader", "rule": "clamp", "label": 4}
    model = {"base_url": url, "model": "m", "at_once": 4, **more.pop("model", {})}
    return (
        written(place / "items.jsonl", "".join(json.dumps(line) + "\n" for line in lines)),
        written(place / "judges.yaml", json.dumps({"models": {"default": model}, **more})),
    )


def recorded(place: Path, server: ScriptedServer, **more: Any) -> tuple[Path, Path, Done]:
    items, judges = files(place, server.url, **more)
    kept = place / "set.json"
    return kept, judges, command("judge", "canary", kept, "-j", judges, "--record", "--items", items, "--repeats", "2")


def test_a_judge_that_answers_as_it_did_passes_and_one_that_does_not_fails(tmp_path: Path) -> None:
    with ScriptedServer(by_gate()) as server:
        kept, judges, done = recorded(tmp_path, server)
        assert (done.code, done.out) == (0, "12 items recorded, 2 answers each, by 'scripted-1'\n"), done.err
        assert kept.stat().st_mode & 0o077 == 0  # It holds what runs said.
        same = command("judge", "canary", kept, "-j", judges)
        assert same.code == 0, same
        assert same.out.splitlines()[-1].startswith("as it was (where nothing changed, one comparison in 100 ")
        assert len(server.asked) == 2 * 2 * ITEMS
        server.script = by_gate(less=1)
        other = command("judge", "canary", kept, "-j", judges, "--json", "--textfile", tmp_path / "canary.prom")
    told = json.loads(other.out)
    assert (other.code, told["alarms"], told["changed"]) == (1, ["mean", "flips"], [])
    assert told["mean"]["value"] == pytest.approx(-0.2)
    assert (told["flips"], told["usual"]) == (1.0, 0.0)
    published = (tmp_path / "canary.prom").read_text()
    assert 'stream_graders_canary_alarm{model="default"} 1.0' in published
    assert re.search(r'\nstream_graders_canary_mean_drift_ratio{model="default"} -0\.(2|19999)', published)
    assert "Gate" not in published + other.out + same.out + done.out


def test_what_else_changed_is_told(tmp_path: Path) -> None:
    with ScriptedServer(by_gate()) as server:
        kept, judges, _ = recorded(tmp_path, server)
        value = json.loads(kept.read_text())
        assert value["rubrics"] == {"ai_eval.accuracy_grader": 2}
        old = value["prompt"]
        value |= {"reported": ["scripted-0"], "prompt": "other", "rubrics": {"ai_eval.accuracy_grader": 1}}
        kept.write_text(json.dumps(value))
        done = command("judge", "canary", kept, "-j", judges)
    assert [line for line in done.out.splitlines() if line.startswith("changed:")] == [
        "changed: the model was 'scripted-0', and is 'scripted-1'",
        f"changed: the prompt was other, and is {old}",
        "changed: the rubric of ai_eval.accuracy_grader was version 1, and is 2: record again",
    ]
    assert done.code == 0


def test_refusals_are_answers_too(tmp_path: Path) -> None:
    with ScriptedServer(by_gate()) as server:
        kept, judges, _ = recorded(tmp_path, server)
        server.script = always(says(None, refusal="no"))
        done = command("judge", "canary", kept, "-j", judges)
    assert (done.code, "no item was scored on both days" in done.out) == (1, True)
    assert done.out.splitlines()[-1] == "answers have changed"


def test_a_judge_that_is_away_is_no_drift(tmp_path: Path) -> None:
    with ScriptedServer(by_gate()) as server:
        kept, judges, _ = recorded(tmp_path, server)
        server.script = always(fails(401, message="Gate 4."))
        done = command("judge", "canary", kept, "-j", judges, "--textfile", tmp_path / "canary.prom")
    assert (done.code, done.out) == (3, "")
    assert re.search(r"nothing is said, for [1-4] auth came instead of answers; try again later\n", done.err)
    assert "Gate" not in done.err
    assert not (tmp_path / "canary.prom").exists()  # Its age is what tells.


def test_a_few_items_without_answers_are_left_out(tmp_path: Path) -> None:
    with ScriptedServer(by_gate()) as server:
        kept, judges, _ = recorded(tmp_path, server, model={"at_once": 1})
        well = by_gate()
        server.script = lambda n, body: fails(400) if "Gate 7." in str(body) else well(n, body)
        done = command("judge", "canary", kept, "-j", judges)
    assert (done.code, done.out.splitlines()[0].partition(", ")[0]) == (0, "11 items")
    assert done.out.splitlines()[0].endswith("; 1 not answered")


def test_it_spends_from_the_live_judges_ledger_and_touches_none_of_its_answers(tmp_path: Path) -> None:
    from tests.judges.flow import one, request

    folder = {"folder": str(tmp_path / "judge"), "limits": {"calls_a_day": 2 * ITEMS + 1}}
    with ScriptedServer(by_gate()) as server:
        kept, judges, done = recorded(tmp_path, server, **folder)
        assert done.code == 0, done.err
        from stream_graders.judges.settings import load

        assert one(load(judges), request(1))["judge"]["cache"] == "miss"
        again = command("judge", "canary", kept, "-j", judges)
        assert (again.code, " budget came instead of answers" in again.err) == (3, True)
        assert one(load(judges), request(1))["judge"]["cache"] == "hit"
        assert len(server.asked) == 2 * ITEMS + 1


def test_what_was_not_wholly_answered_is_not_recorded(tmp_path: Path) -> None:
    with ScriptedServer(one_after_another(fails(400), scores(4))) as server:
        kept, _, done = recorded(tmp_path, server)
    assert (done.code, kept.exists()) == (3, False)
    assert "not recorded, for 1 rejected came instead of answers" in done.err


def test_what_cannot_be_used_is_told_in_a_line(tmp_path: Path) -> None:
    items, judges = files(tmp_path, "http://127.0.0.1:1/v1")
    kept = tmp_path / "set.json"

    def told(*words: str | Path) -> str:
        done = command("judge", "canary", *words, "-j", judges)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        return done.err.strip()

    assert told(kept) == f"{kept}: No such file or directory; record it first, with --record and --items"
    assert told(kept, "--record") == "judge canary: --record and --items go together"
    assert (
        told(items)
        == f"{items}: is no canary set (: Invalid JSON: trailing characters at line 2 column 1); record it again"
    )
    assert (
        told(items, "--record", "--items", items)
        == f"{items}: is there already; remove it, or record under another name"
    )
    away = tmp_path / "no" / "set.json"
    assert (
        told(away, "--record", "--items", items)
        == f"{away}: cannot be written; name a file in a folder that is there and yours"
    )
    few = written(tmp_path / "few.jsonl", '{"input": {"response": "Gate 4."}}\n')
    assert (
        told(kept, "--record", "--items", few)
        == f"{few}: holds 1 items; 10 are the fewest that can tell anything, 30 are good"
    )
    bad = written(tmp_path / "bad.jsonl", '{"label": 1}\n')
    assert told(kept, "--record", "--items", bad) == "bad.jsonl:1: has no input, what the judge is to be shown"
    probe = written(tmp_path / "probe.jsonl", '{"rule": "probe", "input": {"assertions": "[]"}}\n')
    asked = "probe.jsonl:1: looks at a state and asks no judge; leave it out"
    assert told(kept, "--record", "--items", probe) == asked
    assert (
        told(kept, "--record", "--items", items, "--model", "other")
        == "judges.yaml: knows no judge 'other'; it has default"
    )


def test_a_real_model_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two items, for it takes seconds for each answer; whether the scores are good does not matter."""
    monkeypatch.setattr("stream_graders.judges.canary.FEWEST", 2)
    try:
        weights()
    except LocalModelError as error:
        unavailable(str(error))
    with LocalModel() as local:
        lines = [{"input": {**SHOWN, "response": f"Gate {n}."}} for n in range(2)]
        items = written(tmp_path / "items.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        model = {"base_url": local.url, "model": NAME, "at_once": 1, "timeout": "120s", "max_output_tokens": 60}
        judges = written(tmp_path / "judges.yaml", json.dumps({"models": {"default": model}}))
        kept = tmp_path / "set.json"
        done = command("judge", "canary", kept, "-j", judges, "--record", "--items", items, "--repeats", "2")
        assert (done.code, done.out) == (0, f"2 items recorded, 2 answers each, by {NAME!r}\n"), done.err
        again = command("judge", "canary", kept, "-j", judges, "--json")
    told = json.loads(again.out)
    # Two items can raise no alarm, whatever they say.
    assert (again.code, told["alarms"], told["reported"], told["items"]) == (0, [], [NAME], 2)
