"""The two processes keep apart, and neither tells anybody what a run said."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from stream_graders.judges.metrics import JudgeMetrics
from stream_graders.judges.settings import JudgesError, ModelSettings, client_of, load
from tests.cli.commands import command as cli
from tests.integration.harness import written

CLIENTS = (
    "openai",
    "pydantic_ai",
    "anthropic",
    "stamina",
    "aiolimiter",
    "httpx2",
    "onnxruntime",
    "tokenizers",
    "stream_graders.judges",
)


def imported(module: str) -> set[str]:
    told = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print('\\n'.join(sys.modules))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(told.stdout.split())


@pytest.mark.parametrize(
    "module", ["stream_graders.stream.app", "stream_graders.cli.worker", "stream_graders.demo.play"]
)
def test_the_worker_imports_nothing_that_asks_a_judge(module: str) -> None:
    found = imported(module)
    assert not {name for name in found for client in CLIENTS if name == client or name.startswith(f"{client}.")}


def test_a_judge_worker_that_speaks_openais_form_alone_loads_no_second_library(tmp_path: Path) -> None:
    file = written(tmp_path / "judges.yaml", json.dumps(GOOD))
    module = f"stream_graders.judges.work as w, stream_graders.judges.settings as s; w.made(s.load(__import__('pathlib').Path({str(file)!r})))"
    found = imported(module)
    assert "openai" in found
    assert not {"pydantic_ai", "anthropic"} & found


def test_the_judge_worker_imports_no_faust() -> None:
    found = imported("stream_graders.judges.loop, stream_graders.judges.work, stream_graders.cli.judge")
    assert not {"faust", "mode"} & found


GOOD: dict[str, Any] = {"models": {"default": {"base_url": "http://127.0.0.1:1/v1", "model": "m"}}}
BAD: dict[str, tuple[Any, str]] = {
    "no model": ({"models": {}}, "judges.yaml: should have one of models and probes: there is nobody to ask"),
    "an unknown key": ({**GOOD, "budget": 1}, "judges.yaml: budget: Extra inputs are not permitted"),
    "dollars without prices": (
        {**GOOD, "limits": {"usd_a_day": 5}},
        "models.default has no prices, and limits are in dollars: add `prices`, or limit tokens or calls",
    ),
    "a share above all": ({**GOOD, "share": 2}, "judges.yaml: share: Input should be less than or equal to 1"),
    "no address": (
        {"models": {"a": {"model": "m"}}},
        "judges.yaml: models.a: has no base_url: name the address of its endpoint",
    ),
    "a form that Anthropic has not": (
        {"models": {"a": {"model": "m", "provider": "anthropic", "mode": "json_object"}}},
        "judges.yaml: models.a: Anthropic has no json_object: set mode to native_schema or prompt_only",
    ),
    "a provider that nobody speaks to": (
        {"models": {"a": {"model": "m", "provider": "bedrock"}}},
        "judges.yaml: models.a.provider: Input should be 'openai', 'anthropic' or 'pydantic-ai:openai'",
    ),
    "no yaml": ("{", "judges.yaml: is no YAML"),
}


@pytest.mark.parametrize(("value", "message"), BAD.values(), ids=list(BAD))
def test_a_bad_file_is_told_in_a_line(tmp_path: Path, value: Any, message: str) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    with pytest.raises(JudgesError) as told:
        load(written(tmp_path / "judges.yaml", text))
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_a_model_that_takes_no_schema_is_told_at_the_start() -> None:
    asked = {"model": "claude-3-haiku-20240307", "provider": "anthropic"}
    with pytest.raises(JudgesError) as told:
        client_of(ModelSettings.model_validate(asked), "a")
    assert str(told.value) == "models.a: claude-3-haiku-20240307 takes no schema; set mode to prompt_only"
    client_of(ModelSettings.model_validate({**asked, "mode": "prompt_only"}), "a")


def test_a_library_that_is_not_installed_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    monkeypatch.delitem(sys.modules, "stream_graders.judges.pydantic_ai_client", raising=False)
    with pytest.raises(JudgesError, match=r"^models\.a: .* pip install 'stream-graders\[judges-providers\]'$"):
        client_of(ModelSettings.model_validate({"model": "claude-haiku-4-5", "provider": "anthropic"}), "a")


def test_a_good_file_has_a_day_and_an_hour(tmp_path: Path) -> None:
    prices = {"version": "2026-11", "input": 0.15, "output": 0.6}
    model = {**GOOD["models"]["default"], "prices": prices, "timeout": "10s"}
    limits = {"usd_a_day": 5, "usd_an_hour": 0.5, "calls_a_day": 100}
    file = load(written(tmp_path / "judges.yaml", json.dumps({"models": {"a": model}, "limits": limits})))
    assert (file.limits.of("day"), file.limits.of("hour")) == (
        {"micro_usd": 5_000_000, "calls": 100},
        {"micro_usd": 500_000},
    )
    assert file.models["a"].timeout == 10.0


def test_what_cannot_be_used_ends_the_command_with_one_line(tmp_path: Path) -> None:
    def command(*words: str, key: str = "a key that is long enough", **more: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "stream_graders.cli.main", "judge", *words],
            env={"PATH": "", "SG_JUDGE_KEY": key, "PYTHONPATH": str(Path(__file__).parents[2]), **more},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stderr.strip()

    missing = tmp_path / "no.yaml"
    assert command() == (2, "judge: name Kafka with --bootstrap and the judges' file with --judges, or give a command")
    code, told = command("--bootstrap", "127.0.0.1:1", "--judges", str(missing))
    assert (code, told) == (2, f"{missing}: No such file or directory; name the judges' file with --judges")
    file = written(
        tmp_path / "j.yaml", json.dumps({"models": {"a": {**GOOD["models"]["default"], "key_variable": "NO"}}})
    )
    code, told = command("--bootstrap", "127.0.0.1:1", "--judges", str(file))
    assert (code, told) == (2, "models.a: the variable NO is not set; it holds the key")
    assert command("--bootstrap", "127.0.0.1:1", "--judges", str(file), NO_FILE=str(missing)) == (
        2, f"models.a: NO_FILE: {missing} cannot be read (FileNotFoundError)",
    )  # fmt: skip
    empty = written(tmp_path / "empty", "\n")
    assert command("--bootstrap", "127.0.0.1:1", "--judges", str(file), NO_FILE=str(empty)) == (
        2, f"models.a: NO_FILE: {empty} is empty; it holds the key",
    )  # fmt: skip
    code, told = command("--bootstrap", "127.0.0.1:1", "--judges", str(file), key="short")
    assert (code, "fewer than 16 characters" in told) == (2, True)


NAMES = {
    "requests_total": ("grader", "status", "code"), "expired_total": (), "calls_total": ("model", "outcome"),
    "tokens_total": ("model", "kind"), "cost_micro_usd_total": ("model",), "cache_total": ("how",),
    "budget_refusals_total": ("unit",), "unreadable_total": ("code",), "clamped_total": ("grader",),
    "suspect_total": ("flag",), "probe_looks_total": ("target", "outcome"), "escalated_total": (), "bad_requests_total": (), "calls_under_way": ("model",),
    "requests_waiting": (), "oldest_request_timestamp_seconds": (), "breaker_open": ("model",),
    "budget_used_ratio": ("window",), "call_seconds": ("model",),
}  # fmt: skip
"""Every metric of a judge worker, and its labels: none can hold a word of a run."""


def test_the_names_of_the_metrics_stay() -> None:
    metrics = JudgeMetrics()
    made = {name: made for name, made in vars(metrics).items() if hasattr(made, "_labelnames")}
    found = {
        f"{each._name.removeprefix('stream_graders_judge_')}{'_total' if each._type == 'counter' else ''}": each._labelnames
        for each in made.values()
    }
    assert found == NAMES


def test_what_alerts_wait_for_is_there_before_it_happens() -> None:
    metrics = JudgeMetrics()
    metrics.begin(["small"])
    metrics.answered("g", {"status": "scored"})

    def value(name: str, **labels: str) -> float | None:
        return metrics.registry.get_sample_value(f"stream_graders_judge_{name}", labels)

    assert value("calls_total", model="small", outcome="auth") == 0
    assert value("breaker_open", model="small") == 0
    assert value("budget_refusals_total", unit="micro_usd") == 0
    assert value("clamped_total", grader="g") == 0


def test_chaos_has_no_judge_and_says_so(tmp_path: Path) -> None:
    suite = written(
        tmp_path / "s.yaml",
        "suite: s\nchecks:\n  - {check: c, grader: ai_eval.relevance_grader, severity: minor, judge: {sample: 1, budget: {calls: 1}}}\n",
    )
    done = cli("chaos", "--bootstrap", "127.0.0.1:1", "--suite", suite)
    assert (done.code, done.err.strip()) == (
        2,
        "--suite: a check asks a judge, and chaos has none to answer: give it suites without",
    )
