"""The work of `benchmarks.offline` by an evaluation library, in its own environment: offline_peers.py LIBRARY FILE.

Two checks a run, each by what the library offers for it: were all expected tools called, and does an assistant message
say "confirm"; where it has nothing for the latter, a function of our own in the form it asks for. Results go to standard
output as JSON Lines.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Run = dict[str, Any]


def _runs(file: Path) -> list[Run]:
    with file.open() as lines:
        return [json.loads(line) for line in lines]


def _says(run: Run) -> bool:
    return any("confirm" in m["content"].lower() for m in run["messages"] if m["role"] == "assistant")


def _called(run: Run) -> list[str]:
    return [call["function"]["name"] for m in run["messages"] for call in m.get("tool_calls", ())]


def _holds_all(run: Run) -> bool:
    left = _called(run)
    for call in run["expected"]:
        if call["tool"] not in left:
            return False
        left.remove(call["tool"])
    return True


def _reference(run: Run) -> list[dict[str, Any]]:
    """The reference as the messages of an agent that made just these calls."""
    calls = [
        {"id": str(n), "function": {"name": call["tool"], "arguments": json.dumps(call["args"])}}
        for n, call in enumerate(run["expected"])
    ]
    return [{"role": "assistant", "content": "", "tool_calls": calls}]


def _by_agentevals(runs: list[Run]) -> Iterator[tuple[bool, bool]]:
    from agentevals.trajectory.match import create_trajectory_match_evaluator

    match = create_trajectory_match_evaluator(trajectory_match_mode="superset", tool_args_match_mode="ignore")
    for run in runs:
        yield bool(match(outputs=run["messages"], reference_outputs=_reference(run))["score"]), _says(run)


def _by_openevals(runs: list[Run]) -> Iterator[tuple[bool, bool]]:
    from openevals.trajectory.match import create_trajectory_match_evaluator

    match = create_trajectory_match_evaluator(trajectory_match_mode="superset", tool_args_match_mode="ignore")
    for run in runs:
        yield bool(match(outputs=run["messages"], reference_outputs=_reference(run))["score"]), _says(run)


def _by_pydantic_evals(runs: list[Run]) -> Iterator[tuple[bool, bool]]:
    """Its evaluator of tools reads traces only, so both checks are functions in its data set and its own driver."""
    from dataclasses import dataclass

    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import Evaluator, EvaluatorContext

    @dataclass
    class AllTools(Evaluator[Any, Any, Any]):
        def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> bool:
            return _holds_all(ctx.output)

    @dataclass
    class Confirms(Evaluator[Any, Any, Any]):
        def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> bool:
            return _says(ctx.output)

    cases = [Case(name=run["run"], inputs=run) for run in runs]
    dataset: Any = Dataset(name="runs", cases=cases, evaluators=[AllTools(), Confirms()])

    async def replay(run: Run) -> Run:
        return run

    report = dataset.evaluate_sync(replay, progress=False)
    by_name = {case.name: case for case in report.cases}
    for run in runs:
        found = by_name[run["run"]].assertions
        yield found["AllTools"].value, found["Confirms"].value


def _by_deepeval(runs: list[Run]) -> Iterator[tuple[bool, bool]]:
    from deepeval.metrics import ToolCorrectnessMetric
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase, ToolCall

    class NoModel(DeepEvalBaseLLM):
        """The metric asks no model, and cannot be made without one."""

        def load_model(self, *args: Any, **kwargs: Any) -> Any:
            return None

        def generate(self, *args: Any, **kwargs: Any) -> str:
            raise AssertionError("no model is asked")

        async def a_generate(self, *args: Any, **kwargs: Any) -> str:
            raise AssertionError("no model is asked")

        def get_model_name(self, *args: Any, **kwargs: Any) -> str:
            return "none"

    metric = ToolCorrectnessMetric(threshold=1.0, model=NoModel(), include_reason=False, async_mode=False)
    for run in runs:
        case = LLMTestCase(
            input="-",
            actual_output="-",
            tools_called=[ToolCall(name=name) for name in _called(run)],
            expected_tools=[ToolCall(name=call["tool"]) for call in run["expected"]],
        )
        metric.measure(case, _show_indicator=False)
        yield bool(metric.is_successful()), _says(run)


BY = {
    "agentevals": _by_agentevals,
    "openevals": _by_openevals,
    "pydantic-evals": _by_pydantic_evals,
    "deepeval": _by_deepeval,
}


def main() -> None:
    library, file = sys.argv[1], Path(sys.argv[2])
    runs = _runs(file)
    for run, found in zip(runs, BY[library](runs), strict=True):
        for check, passed in zip(("all-tools", "confirms"), found, strict=True):
            print(json.dumps({"run": run["run"], "check": check, "passed": passed}))


if __name__ == "__main__":
    main()
