"""An eval set of Google's Agent Development Kit (``*.evalset.json``), scored by the tool trajectory as its ``test_config.json`` says.

A run's score is the share of its turns whose calls are the expected ones. Left out is what asks a judge, and the overlap of words in replies, which is counted otherwise here. Two differences are not
told one by one: an expected argument 12 is met by "12" too, and calls that an agent makes in one step are in no order.
"""

from typing import Any

from .form import JUDGE, Loc, Source, SourceError, listed, mapped, slug

CONFIG = "test_config.json"
"""The file beside an eval set that says by what it is scored."""
TRAJECTORY = "tool_trajectory_avg_score"
DEFAULT = {TRAJECTORY: 1.0, "response_match_score": 0.8}
"""The criteria where there is no config."""

MODES = {"EXACT": "strict", "IN_ORDER": "in_order", "ANY_ORDER": "superset"}
WHY_NOT = {
    "response_match_score": "counts words that the replies share by their stems",
    **dict.fromkeys(
        (
            "response_evaluation_score", "safety_v1", "final_response_match_v2", "rubric_based_final_response_quality_v1",
            "hallucinations_v1", "rubric_based_tool_use_quality_v1", "per_turn_user_simulator_quality_v1",
            "multi_turn_task_success_v1", "multi_turn_trajectory_quality_v1", "multi_turn_tool_use_quality_v1",
            "rubric_based_multi_turn_trajectory_quality_v1",
        ),
        JUDGE,
    ),
}  # fmt: skip
"""Criteria that no check here asks for, and why."""


def checks(value: Any, config: Any = None) -> Source:
    """The checks of an eval set: for each invocation of a case its tool calls, as a turn of the run where there are several.

    Of several cases each applies to runs that carry the label ``eval_id`` with its ``eval_id``.

    Args:
        value: the eval set.
        config: what its ``test_config.json`` holds; None where there is none.

    Raises:
        SourceError: it is no eval set, or the config is none.
    """
    if not isinstance(value, dict) or not isinstance(_named(value, "eval_cases"), list):
        raise SourceError("is no eval set of ADK: one has `eval_cases`, a list")
    source = Source(scoring={"policy": "weighted"})
    criteria = DEFAULT if config is None else config.get("criteria") if isinstance(config, dict) else None
    if not isinstance(criteria, dict):
        raise SourceError(f"is scored by {CONFIG}, which has no `criteria`")
    source.ungraded += [
        ((), f"{name} {WHY_NOT.get(name, 'is a metric of your own, or of a later version')}")
        for name in criteria
        if name != TRAJECTORY
    ]
    if TRAJECTORY in criteria:
        threshold, settings = _criterion(criteria[TRAJECTORY])
        cases = _named(value, "eval_cases")
        key = "eval_cases" if "eval_cases" in value else "evalCases"
        for n, case in enumerate(cases):
            _add_case(source, (key, n), case, threshold, settings, is_one=len(cases) == 1)
        if threshold < 1:
            source.scoring["threshold"] = threshold
    return source


def _criterion(value: Any) -> tuple[float, dict[str, str]]:
    criterion = value if isinstance(value, dict) else {"threshold": value}
    threshold, match = criterion.get("threshold"), _named(criterion, "match_type")
    if isinstance(threshold, bool) or not isinstance(threshold, int | float):
        raise SourceError(f"is scored by {CONFIG}, whose {TRAJECTORY} has no threshold")
    if not 0 <= threshold <= 1:
        raise SourceError(f"is scored by {CONFIG}, whose {TRAJECTORY} has a threshold that is not from 0 to 1")
    if isinstance(match, int) and 0 <= match < len(MODES):
        match = list(MODES)[match]
    mode = MODES.get(str(match or "EXACT").strip().upper().replace("-", "_").replace(" ", "_"))
    if mode is None:
        raise SourceError(f"is scored by {CONFIG}, whose match_type is {match!r}; there are {', '.join(MODES)}")
    return threshold, {"mode": mode, "arguments": "ignore" if _named(criterion, "ignore_args") else "exact"}


def _add_case(source: Source, loc: Loc, case: Any, threshold: float, settings: dict[str, str], *, is_one: bool) -> None:
    if not isinstance(case, dict) or not isinstance(_named(case, "eval_id"), str):
        raise SourceError("should be a case, an object with `eval_id` and `conversation`", loc)
    name = _named(case, "eval_id")
    if "conversation" not in case or case["conversation"] is None:
        source.ungraded.append((loc, f"{name} has no conversation whose calls could be expected"))
        return
    conversation = listed(case, "conversation", loc)
    places: list[Loc] = [(*loc, "conversation", turn) for turn in range(len(conversation))]
    expected = [_calls(invocation, at) for invocation, at in zip(conversation, places, strict=True)]
    if threshold < 1 < len(expected) and settings["mode"] != "strict" and not all(expected):
        source.ungraded.append((loc, f"{name} counts turns in which no call is expected, and here they are skipped"))
        return
    for turn, (calls, at) in enumerate(zip(expected, places, strict=True)):
        more: dict[str, Any] = {} if is_one else {"when": {"labels": {"eval_id": name}}}
        if len(conversation) > 1:
            more["turn"] = turn
        wanted = slug(name, "case") + (f"-turn-{turn}" if len(conversation) > 1 else "")
        part = ("trajectory.match", {"expected": calls, **settings})
        source.add_all(at, source.free(wanted), [part], "critical", **more)


def _calls(invocation: Any, loc: Loc) -> list[dict[str, Any]]:
    """The calls that are expected, whether they stand as a list or in the events of a recorded invocation."""
    if not isinstance(invocation, dict):
        raise SourceError("should be an invocation, an object with `user_content`", loc)
    data = _named(invocation, "intermediate_data") or {}
    if not isinstance(data, dict):
        raise SourceError("should have intermediate_data that is a mapping", loc)
    found = list(_named(data, "tool_uses") or [])
    for event in _named(data, "invocation_events") or []:
        content = mapped(event, "content", loc) if isinstance(event, dict) else {}
        parts = [part for part in listed(content, "parts", loc) if isinstance(part, dict)]
        found += [call for part in parts if (call := _named(part, "function_call"))]
    if not all(isinstance(call, dict) and isinstance(call.get("name"), str) for call in found):
        raise SourceError("expects a call that names no tool", loc)
    return [{"name": call["name"], "args": mapped(call, "args", loc)} for call in found]


def _named(value: dict[str, Any], name: str) -> Any:
    """A field, whose name may be written in either way: ``eval_id`` or ``evalId``."""
    first, *rest = name.split("_")
    return value.get(name, value.get(first + "".join(word.capitalize() for word in rest)))
