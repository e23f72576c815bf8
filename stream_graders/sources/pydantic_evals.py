"""A dataset of Pydantic Evals, YAML or JSON: the evaluators of its cases, and of all of them, that are data.

Left out is what asks a judge, a type, a span or code of one's own, and what is measured otherwise. What is not a text is
not compared: a run here replies with text.
"""

from typing import Any

from .form import JUDGE, Loc, Source, SourceError, exactly, listed, slug

FIRST = {
    "ToolCorrectness": "expected_tools", "TrajectoryMatch": "expected_trajectory", "MaxToolCalls": "max_calls",
    "Contains": "value", "Equals": "value",
}  # fmt: skip
"""What each evaluator that is read is told, where it is told one thing without a name."""
WHY_NOT = {
    "LLMJudge": JUDGE,
    "GEval": JUDGE,
    "IsInstance": "asks for a type of the program's",
    "MaxDuration": "measures the task, not the run",
    "HasMatchingSpan": "looks at spans, which are not sent here",
    "MaxModelRequests": "counts requests to models, which are not sent here",
    "ArgumentCorrectness": "asks it of the first, the last or a numbered call of a tool",
}
FAILED = "counts no call that failed, unless it is told include_failed: here they count"


def checks(value: Any) -> Source:
    """The checks of a dataset. A bool of an evaluator has to hold; a number of one is shown, and counts nowhere: ``info``.

    Of several cases each applies to runs that carry the label ``case`` with its ``name``, or its place from 0.

    Raises:
        SourceError: it is no dataset, or an evaluator is not told what it needs.
    """
    if not isinstance(value, dict) or not isinstance(value.get("cases"), list):
        raise SourceError("is no dataset of Pydantic Evals: one has `cases`, a list")
    source = Source()
    cases = value["cases"]
    for loc, entry in _entries(value, ("evaluators",)):
        if _spec(entry, loc)[0] != "EqualsExpected":
            _add(source, loc, entry, None, None)
    for n, case in enumerate(cases):
        if not isinstance(case, dict):
            raise SourceError("should be a case, an object with `inputs`", ("cases", n))
        label = str(case.get("name") or n) if len(cases) > 1 else None
        own = _entries(case, ("cases", n, "evaluators"))
        of_all = [
            (loc, entry) for loc, entry in _entries(value, ("evaluators",)) if _spec(entry, loc)[0] == "EqualsExpected"
        ]
        for loc, entry in (*of_all, *own):
            _add(source, loc, entry, case.get("expected_output"), label)
    for loc, entry in _entries(value, ("report_evaluators",)):
        source.ungraded.append((loc, f"{_spec(entry, loc)[0]} looks at all runs together"))
    source.scoring = {"policy": "weighted"}
    return source


def _entries(value: dict[str, Any], loc: Loc) -> list[tuple[Loc, Any]]:
    return [((*loc, n), entry) for n, entry in enumerate(listed(value, str(loc[-1]), loc[:-1]))]


def _spec(entry: Any, loc: Loc) -> tuple[str, dict[str, Any]]:
    """An evaluator's name and what it is told, in each of the four ways to write it."""
    if isinstance(entry, dict) and set(entry) == {"name", "arguments"}:
        name, told = entry["name"], entry["arguments"]
        told = told[0] if isinstance(told, list) and len(told) == 1 else {} if told is None else told
    elif isinstance(entry, dict) and len(entry) == 1:
        ((name, told),) = entry.items()
    else:
        name, told = entry, {}
    if not isinstance(name, str):
        raise SourceError("should be an evaluator: its name, or a mapping from it to what it is told", loc)
    return name, told if isinstance(told, dict) else {FIRST.get(name, "value"): told}


def _add(source: Source, loc: Loc, entry: Any, expected: Any, label: str | None) -> None:
    name, told = _spec(entry, loc)
    if name == "EqualsExpected":
        if expected is None:
            return  # As the evaluator does: nothing is expected, and nothing is said.
        told = {**told, "value": expected}
    elif name not in FIRST:
        source.ungraded.append(
            (loc, f"{name} {WHY_NOT.get(name, 'is an evaluator of your own, or of a later version')}")
        )
        return
    elif FIRST[name] not in told:
        raise SourceError(f"{name} is not told {FIRST[name]}", loc)
    made = _asked(name, told, loc)
    if isinstance(made, str):
        source.ungraded.append((loc, f"{name} {made}"))
        return
    severity, grader, settings = made
    if name in ("ToolCorrectness", "TrajectoryMatch") and not told.get("include_failed"):
        source.warnings.append((loc, f"{name} {FAILED}"))
    wanted = slug(str(told.get("evaluation_name") or name), name)
    wanted = wanted if label is None else f"{wanted}-{slug(label, 'case')}"
    more: dict[str, Any] = {} if label is None else {"when": {"labels": {"case": label}}}
    if grader != "trajectory.match" or (settings["mode"] == "any_order" and severity == "info"):
        source.add(loc, source.free(wanted), grader, severity, settings, **more)
    else:
        source.add_all(loc, source.free(wanted), [(grader, settings)], severity, **more)


def _asked(name: str, told: dict[str, Any], loc: Loc) -> tuple[str, str, dict[str, Any]] | str:
    """The severity, grader and settings that ask what an evaluator asks; a text where none does."""
    if name in ("ToolCorrectness", "TrajectoryMatch"):
        tools = told[FIRST[name]]
        if not isinstance(tools, list) or not all(isinstance(tool, str) and tool for tool in tools):
            raise SourceError(f"{FIRST[name]} should be a list of tools", loc)
        order = told.get("order", "in_order")
        if name == "TrajectoryMatch" and order not in ("exact", "any_order"):
            return "scores the longest common subsequence, which is not scored here"
        extra = name == "ToolCorrectness" and told.get("allow_extra")
        mode = "superset" if extra else "strict" if name == "TrajectoryMatch" and order == "exact" else "any_order"
        severity = "critical" if name == "ToolCorrectness" else "info"
        return severity, "trajectory.match", {"expected": tools, "mode": mode, "arguments": "ignore"}
    if name == "MaxToolCalls":
        most = told["max_calls"]
        if type(most) is not int or most < 0:
            raise SourceError("max_calls should be a whole number from 0 on", loc)
        if told.get("include_failed", True) is not True:
            return "does not count calls that failed, and here they count"
        return "critical", "vally.tool_call_count", {"max": most}
    text = told["value"]
    if not isinstance(text, str) or not text:
        return "compares with what is not text"
    if name == "Contains":
        settings = {"substring": text, "case_sensitive": told.get("case_sensitive", True) is True}
        return "critical", "vally.output_contains", settings
    return "critical", "vally.output_matches", {"pattern": exactly(text)}
