"""A config of promptfoo: the assertions of its tests that ask for what a run shows, as `vally.` and `trajectory.` ask it.

Left out is what asks a judge, a program or spans, and what would not be quite the same here. Three differences are not
told one by one: an expected argument 12 is met by "12" too, the tool of ``trajectory:tool-args-match`` minds case, and a call of a
shell is a call of a tool.
"""

import re
from difflib import get_close_matches
from typing import Any

from .form import JUDGE, Loc, Source, SourceError, exactly, listed, mapped, slug

Parts = list[tuple[str, dict[str, Any]]]
"""Graders with their settings; an assertion holds where each of them passes."""

JUDGED = frozenset({
    "agent-rubric", "answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance",
    "conversation-relevance", "factuality", "g-eval", "llm-rubric", "max-score", "model-graded-closedqa",
    "model-graded-factuality", "moderation", "pi", "search-rubric", "select-best", "similar", "similar:cosine", "similar:dot",
    "similar:euclidean", "trajectory:goal-success",
})  # fmt: skip
RUN = frozenset({"javascript", "python", "ruby", "webhook"})
READ = (
    "contains", "icontains", "equals", "starts-with", "regex", "is-json",
    "trajectory:tool-used", "trajectory:tool-sequence", "trajectory:tool-args-match", "trajectory:step-count",
)  # fmt: skip
"""The types that are read; with ``not-`` in front where that can be asked here."""


class _UnlikeError(Exception):
    """What an assertion asks is not asked by any check here; the message says what."""


def checks(value: Any) -> Source:
    """The checks of a config: what ``defaultTest`` asserts of every run, and each of ``tests`` of its own.

    Of several tests each applies to runs that carry the label ``test`` with its ``description``, or its place from 0. The score
    of a run is the weighted mean of its assertions; without a ``threshold`` each must hold.

    Raises:
        SourceError: it is no config, or its tests stand elsewhere or have different thresholds.
    """
    if not isinstance(value, dict) or not ("tests" in value or "defaultTest" in value):
        raise SourceError("is no config of promptfoo: one has `tests`, or `defaultTest` with assertions")
    for name in ("tests", "defaultTest"):
        if isinstance(value.get(name), str):
            raise SourceError("names another file, which is not read: write it here, or import that file", (name,))
    source = Source()
    default = mapped(value, "defaultTest")
    tests = listed(value, "tests") or [{}]
    labels = [str(test.get("description") or n) if isinstance(test, dict) else None for n, test in enumerate(tests)]
    thresholds: dict[Any, Loc] = {}
    alike = all(not _options(test).get("disableDefaultAsserts") for test in tests if isinstance(test, dict))
    changed = any("transform" in _options(test) for test in (default, *tests) if isinstance(test, dict))
    if alike:
        _add_all(source, default, ("defaultTest",), None, is_changed=changed)
    for n, (test, label) in enumerate(zip(tests, labels, strict=True)):
        loc: Loc = ("tests", n)
        if label is None:
            source.ungraded.append((loc, "names another file, which is not read"))
            continue
        options = {**_options(default), **_options(test)}
        several = label if len(tests) > 1 else None
        if not alike and not options.get("disableDefaultAsserts"):
            _add_all(source, default, ("defaultTest",), several, is_changed="transform" in options)
        _add_all(source, test, loc, several, is_changed="transform" in options)
        thresholds.setdefault(test.get("threshold", default.get("threshold")), (*loc, "threshold"))
    if len(thresholds) > 1:
        raise SourceError(
            "has another threshold than the tests before, and a suite has one: import them apart",
            list(thresholds.values())[1],
        )
    threshold = next(iter(thresholds), None)
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
        raise SourceError("should be a number from 0 to 1", thresholds[threshold])
    source.ungraded += [(("scenarios",), "scenarios are tests made of others")] if value.get("scenarios") else []
    source.scoring = {"policy": "weighted", **({} if threshold is None else {"threshold": threshold})}
    return source


def _options(test: dict[str, Any]) -> dict[str, Any]:
    options = test.get("options")
    return options if isinstance(options, dict) else {}


def _add_all(source: Source, test: dict[str, Any], loc: Loc, label: str | None, *, is_changed: bool) -> None:
    for n, entry in enumerate(listed(test, "assert", loc)):
        at: Loc = (*loc, "assert", n)
        kind = entry.get("type") if isinstance(entry, dict) else None
        if isinstance(entry, dict) and "$ref" in entry:
            source.ungraded.append((at, "refers to a template of assertions: write it out here"))
        elif not isinstance(kind, str):
            raise SourceError("should be an assertion, an object with `type`", at)
        else:
            try:
                parts = _parts(kind, entry, is_changed=is_changed)
            except _UnlikeError as error:
                source.ungraded.append((at, f"{kind} {error}"))
            else:
                _add(source, at, kind, entry, parts, label)


def _add(source: Source, loc: Loc, kind: str, entry: dict[str, Any], parts: Parts, label: str | None) -> None:
    name = slug(str(entry.get("metric") or kind), "assertion")
    name = source.free(name if label is None else f"{name}-{slug(label, 'test')}")
    more: dict[str, Any] = {} if label is None else {"when": {"labels": {"test": label}}}
    weight = entry.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or weight < 0:
        raise SourceError("should be a number from 0 on", (*loc, "weight"))
    severity = "critical" if weight else "info"  # Of weight 0 it is shown, and counts nowhere.
    if weight not in (0, 1):
        more["weight"] = weight
    if len(parts) == 1 and parts[0][0] != "trajectory.match":
        source.add(loc, name, parts[0][0], severity, parts[0][1], **more)
    else:
        source.add_all(loc, name, parts, severity, **more)


def _parts(kind: str, entry: dict[str, Any], *, is_changed: bool) -> Parts:
    negated, base = kind.startswith("not-"), kind.removeprefix("not-")
    if base in JUDGED:
        raise _UnlikeError(JUDGE)
    if base in RUN:
        raise _UnlikeError("runs a program")
    if base == "assert-set":
        raise _UnlikeError("scores its assertions together: write them beside the others")
    if base not in READ:
        near = get_close_matches(base, READ, n=1)
        raise _UnlikeError("is no type that is read here" + (f"; did you mean {near[0]!r}?" if near else ""))
    value = entry.get("value")
    texts = value if isinstance(value, list) else [value]
    if any(isinstance(text, str) and text.startswith(("file://", "package:")) for text in texts):
        raise _UnlikeError("has a value that stands in another file")
    if any(isinstance(text, str) and re.search(r"\{\{|\{%", text) for text in texts):
        raise _UnlikeError("has a value that is filled in for each test: write it out")
    if base.startswith("trajectory:"):
        return _CALLS[base](value, negated)
    if is_changed or "transform" in entry:
        raise _UnlikeError("looks at a reply that was transformed before")
    return _reply(base, value, negated)


def _reply(base: str, value: Any, negated: bool) -> Parts:
    if base == "is-json":
        if negated or value:
            raise _UnlikeError("is asked with a schema" if value else "is not asked of a reply that is none")
        return [("agentlasso.output_valid_json", {})]
    if isinstance(value, int | float) and not isinstance(value, bool) and base != "regex":
        value = f"{value:.0f}" if value == int(value) else str(value)  # JavaScript writes 2.0 as 2.
    if not isinstance(value, str) or not value:
        raise _UnlikeError("has a value that is no text")
    which = "not_" if negated else ""
    if base in ("contains", "icontains"):
        return [(f"vally.output_{which}contains", {"substring": value, "case_sensitive": base == "contains"})]
    pattern = {"equals": exactly(value), "starts-with": exactly(value).removesuffix(r"\z"), "regex": value}[base]
    return [(f"vally.output_{which}matches", {"pattern": pattern})]


def _tool_used(value: Any, negated: bool) -> Parts:
    names = [value] if isinstance(value, str) else value
    if isinstance(names, list) and names and all(isinstance(name, str) for name in names):
        return [("vally.tool_calls", {"disallowed" if negated else "required": [_named(name) for name in names]})]
    name, least, most = _matcher(value), *_bounds(value)
    if negated and (least, most) in ((None, None), (1, None)):
        return [("vally.tool_calls", {"disallowed": [name]})]
    if not negated and most == 0 and least == 0:
        return [("vally.tool_calls", {"disallowed": [name]})]
    if negated or most is not None or least == 0:
        raise _UnlikeError("limits the calls of one tool from above")
    return [("vally.tool_calls", {"required": [{"name": name, "min_count": least or 1}]})]


def _tool_sequence(value: Any, negated: bool) -> Parts:
    steps = value.get("steps") if isinstance(value, dict) else value
    mode = value.get("mode", "in_order") if isinstance(value, dict) else "in_order"
    if not isinstance(steps, list) or not steps:
        raise _UnlikeError("has no steps")
    if negated:
        raise _UnlikeError("forbids a sequence")
    in_order: tuple[str, dict[str, Any]] = ("vally.tool_calls", {"sequence": [_matcher(step) for step in steps]})
    # As many calls as the sequence has, and the sequence among them: then they are the sequence.
    return [in_order, ("vally.tool_call_count", {"max": len(steps)})] if mode == "exact" else [in_order]


def _tool_args(value: Any, negated: bool) -> Parts:
    args = value.get("args", value.get("arguments")) if isinstance(value, dict) else None
    name = value.get("pattern") or value.get("name") if isinstance(value, dict) else None
    if not isinstance(args, dict) or not isinstance(name, str):
        raise _UnlikeError("names no tool, or no arguments by their names")
    exact, ignored = value.get("mode") == "exact", value.get("ignore") or []
    if negated:
        raise _UnlikeError("forbids arguments")
    if re.search(r"[*?]", name) or not _is_tool(value):
        raise _UnlikeError("asks it of several tools")
    if value.get("defaults") or (exact and ignored):
        raise _UnlikeError("leaves arguments out by their values, or of all arguments")
    patterns = [_named(entry) for entry in ([ignored] if isinstance(ignored, str) else ignored)]
    left = {key: arg for key, arg in args.items() if not any(re.search(pattern, key) for pattern in patterns)}
    settings = {"expected": [{"name": name, "args": left}], "arguments": "exact" if exact else "subset"}
    return [("trajectory.match", settings)]


def _step_count(value: Any, negated: bool) -> Parts:
    least, most = _bounds(value)
    if negated or not isinstance(value, dict) or not _is_tool(value) or "type" not in value:
        raise _UnlikeError("counts steps that are not calls, or asks for another number")
    names = value.get("pattern") or value.get("name")
    if (least is None and most is None) or (most is not None and names not in (None, "*")):
        raise _UnlikeError("limits the calls of some tools from above")
    parts: Parts = []
    if least:
        parts.append(("vally.tool_calls", {"required": [{"name": _named(str(names or "*")), "min_count": least}]}))
    if most is not None:
        parts.append(("vally.tool_call_count", {"max": most}))
    if not parts:
        raise _UnlikeError("asks nothing")
    return parts


_CALLS = {
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:tool-args-match": _tool_args,
    "trajectory:step-count": _step_count,
}


def _matcher(step: Any) -> str:
    """The pattern of the tool that a step means."""
    name = (step.get("pattern") or step.get("name")) if isinstance(step, dict) else step
    if not isinstance(name, str) or not name or (isinstance(step, dict) and not _is_tool(step)):
        raise _UnlikeError("has a step that is no call of a tool")
    return _named(name)


def _is_tool(value: dict[str, Any]) -> bool:
    kind = value.get("type", "tool")
    return kind in ("tool", ["tool"])


def _bounds(value: Any) -> tuple[int | None, int | None]:
    if not isinstance(value, dict):
        return None, None
    least, most = value.get("min"), value.get("max")
    if not all(bound is None or (type(bound) is int and bound >= 0) for bound in (least, most)):
        raise _UnlikeError("has a limit that is no whole number from 0 on")
    return least, most


def _named(pattern: str) -> str:
    """promptfoo's pattern of a name as one of ours: ``*`` and ``?``, the whole name, case ignored."""
    inner = "".join({"*": ".*", "?": "."}.get(c) or re.escape(c) for c in pattern)
    return f"(?i)^{inner}$"
