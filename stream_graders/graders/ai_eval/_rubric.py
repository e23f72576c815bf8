"""A rubric: checks that a reply can be held against, and how their outcomes become one."""

from collections.abc import Callable, Iterator
from statistics import median
from typing import Any, NamedTuple

from ...events import from_json
from ...grading import Seen
from ...matching.chrf import Chrf
from ...matching.json_schema import JsonSchema, schema_faults
from ...matching.json_syntax import fault as json_fault
from ...matching.patterns import Pattern
from ...matching.similarity import normalized
from ...matching.text import Needle
from ._reply import short

LISTED = (
    "php_lint",
    "markdown_structure",
    "tool_usage",
    "format",
    "fact_match",
    "llm_judge",
    "composite",
    "command",
    "score_delta",
)
"""Kinds of the portable form that nothing here executes: such a check is left out, and named."""  # fmt: skip

COMBINES = ("all_pass", "any_pass", "weighted_avg", "min", "max", "median")
MODES = ("exact", "normalized", "chrf")

_KEYS: dict[str, tuple[str, ...]] = {
    "must_contain_any": ("values", "case_sensitive"),
    "must_not_contain": ("values", "case_sensitive"),
    "regex": ("pattern",),
    "json_schema": ("schema",),
    "target_match": ("target", "mode", "threshold"),
}
"""The kinds that are executed, and what each is told."""
_ANY = ("id", "kind", "weight", "description")

_BEGINS = tuple('{["-0123456789tfn')
"""What JSON begins with."""

Holds = Callable[[Seen], bool]


class Executable(NamedTuple):
    """A check that is executed."""

    label: str
    weight: float
    holds: Holds


def faults(rubric: Any) -> Iterator[str]:
    """What is wrong with a rubric, one line each."""
    if not isinstance(rubric, dict):
        yield "should be a rubric, a mapping with `checks`"
        return
    checks = rubric.get("checks")
    if not isinstance(checks, list):
        yield "should have checks, a list"
        return
    for n, check in enumerate(checks):
        yield from (f"check {n + 1} {told}" for told in _faults(check))
    combine = _combine(rubric)
    if combine not in COMBINES:
        yield f"combines by {combine!r}, which is none of {', '.join(COMBINES)}"
    weights = [check.get("weight", 1) for check in checks if isinstance(check, dict) and check.get("kind") in _KEYS]
    if combine == "weighted_avg" and weights and not any(weights):
        yield "has no weight above 0, so the average is that of nothing"


def _faults(check: Any) -> Iterator[str]:
    kind = check.get("kind") if isinstance(check, dict) else None
    if kind not in _KEYS:
        if kind not in LISTED:
            yield f"is of kind {kind!r}, which is none of {', '.join((*_KEYS, *LISTED))}"
        return
    for key in check:
        if key not in (*_ANY, *_KEYS[kind]):
            yield f"has {key!r}, which {kind} is not told; it knows {', '.join(_KEYS[kind])}"
    weight = check.get("weight", 1)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < float("inf"):
        yield "has a weight that is no number from 0 on"
    if not isinstance(check.get("case_sensitive", False), bool):
        yield "has a case_sensitive that is neither true nor false"
    yield from _FAULTS[kind](check)


def _texts_faults(check: dict[str, Any]) -> Iterator[str]:
    if not _texts(check.get("values")):
        yield "needs values, a text or a list of texts"


def _regex_faults(check: dict[str, Any]) -> Iterator[str]:
    if not isinstance(check.get("pattern"), str):
        yield "needs a pattern, as text"
    elif (error := Pattern(check["pattern"]).error) is not None:
        yield f"has a pattern that is not valid: {error}"


def _schema_faults(check: dict[str, Any]) -> Iterator[str]:
    yield from (f"has a schema that cannot be used: {told}" for told in schema_faults(check.get("schema")))


def _target_faults(check: dict[str, Any]) -> Iterator[str]:
    if not isinstance(check.get("target"), str) or not check["target"].strip():
        yield "needs a target, the text that is expected"
    mode, threshold = check.get("mode", "normalized"), check.get("threshold")
    if mode not in MODES:
        yield f"has the mode {mode!r}, which is none of {', '.join(MODES)}"
    elif (mode == "chrf") is (threshold is None):
        yield "needs a threshold with chrf, and takes none without"
    elif threshold is not None and (
        isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 < threshold <= 1
    ):
        yield "needs a threshold above 0, and not above 1"


_FAULTS: dict[str, Callable[[dict[str, Any]], Iterator[str]]] = {
    "must_contain_any": _texts_faults,
    "must_not_contain": _texts_faults,
    "regex": _regex_faults,
    "json_schema": _schema_faults,
    "target_match": _target_faults,
}


class Rubric:
    """A rubric without faults."""

    def __init__(self, rubric: dict[str, Any]) -> None:
        self.id: Any = rubric.get("id")
        self.combine: str = _combine(rubric)
        self.checks: list[Executable] = []
        self.left_out: list[str] = []
        """The checks that nothing executes."""
        for n, check in enumerate(rubric["checks"]):
            label = short(str(check.get("id") or f"{check['kind']}-{n + 1}"))
            if check["kind"] in _KEYS:
                self.checks.append(Executable(label, check.get("weight", 1), _holds(check)))
            else:
                self.left_out.append(label)

    def together(self, outcomes: list[bool]) -> float:
        """What the outcomes of the executed checks come to, 0 to 1."""
        if self.combine in ("all_pass", "min"):
            return float(all(outcomes))
        if self.combine in ("any_pass", "max"):
            return float(any(outcomes))
        if self.combine == "median":
            return float(median(map(float, outcomes)))
        total = sum(check.weight for check in self.checks)
        return sum(check.weight for check, holds in zip(self.checks, outcomes, strict=True) if holds) / total


def _combine(rubric: dict[str, Any]) -> Any:
    scoring = rubric.get("scoring")
    return (scoring.get("combine") if isinstance(scoring, dict) else None) or "all_pass"


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return list(values) if values and all(isinstance(text, str) and text for text in values) else []


def _holds(check: dict[str, Any]) -> Holds:
    kind = check["kind"]
    if kind == "regex":
        pattern = Pattern(check["pattern"])
        return lambda seen: pattern.search(seen.text) is not None
    if kind == "json_schema":
        return _valid(JsonSchema(check["schema"]))
    if kind == "target_match":
        return _like(check["target"], check.get("mode", "normalized"), check.get("threshold"))
    needles = [Needle(text, check.get("case_sensitive", False)) for text in _texts(check["values"])]
    if kind == "must_contain_any":
        return lambda seen: any(needle.within(seen.text, seen.lower) for needle in needles)
    return lambda seen: not any(needle.within(seen.text, seen.lower) for needle in needles)


def _valid(schema: JsonSchema) -> Holds:
    def holds(seen: Seen) -> bool:
        # Most replies are prose: a look at the first character spares working out where it stops being JSON.
        if seen.text.lstrip()[:1] not in _BEGINS or json_fault(seen.text) is not None:
            return False
        try:
            return schema.fits(from_json(seen.text.strip()))
        except (ValueError, RecursionError):  # Numbers and nesting that are JSON, and no reader takes.
            return False

    return holds


def _like(target: str, mode: str, threshold: Any) -> Holds:
    if mode == "exact":
        return lambda seen: seen.text.strip() == target.strip()
    if mode == "normalized":
        normal = normalized(target)
        return lambda seen: normalized(seen.text) == normal
    close = Chrf(target)
    return lambda seen: close.of(seen.text) >= threshold
