"""An eval file of Vally: its `graders:` as they are, of each stimulus or of all, with weights and threshold (R2, R7)."""

from difflib import get_close_matches
from typing import Any

from ..catalogue import grader_named
from .form import Loc, Source, SourceError, mapped

ELSEWHERE = {
    **dict.fromkeys(
        ("file-exists", "file-not-exists", "file-contains", "file-not-contains"), "looks into the workspace"
    ),
    **dict.fromkeys(("file-matches", "file-not-matches"), "looks into the workspace"),
    **dict.fromkeys(("diff-contains", "diff-not-contains", "diff-empty"), "looks into the workspace"),
    **dict.fromkeys(("run-command", "program"), "runs a program"),
    **dict.fromkeys(("skill-invocation", "system-event"), "reads events that are not sent here"),
    **dict.fromkeys(("custom-metrics", "loop-outcome"), "reads metrics that are not sent here"),
}
"""Types of the origin that no grader here stands for, and why."""

ALIASES = {"value": "substring"}
"""Names of settings that the origin's users write, and ours."""


def checks(value: Any) -> Source:
    """The checks of an eval file. What it says of prompts and of the environment is not for grading.

    The graders of one stimulus of several apply to runs that carry the label ``stimulus`` with its name.

    Raises:
        SourceError: it is no eval file, or a grader is of no known type.
    """
    if not isinstance(value, dict) or not ("graders" in value or "stimuli" in value):
        raise SourceError("is no eval file of Vally: one has `graders`, or `stimuli` with graders")
    source = Source()
    scoring = mapped(value, "scoring")
    weights = mapped(scoring, "weights", ("scoring",))
    names: dict[str, int] = {}
    for loc, entry in _entries(value, "graders", ()):
        _add(source, loc, entry, weights, names, None)
    stimuli = value.get("stimuli") or []
    if not isinstance(stimuli, list):
        raise SourceError("should be a list of stimuli", ("stimuli",))
    for n, stimulus in enumerate(stimuli):
        if not isinstance(stimulus, dict):
            raise SourceError("should be a stimulus, an object with `prompt` and `graders`", ("stimuli", n))
        label = str(stimulus.get("name") or n) if len(stimuli) > 1 else None
        for loc, entry in _entries(stimulus, "graders", ("stimuli", n)):
            _add(source, loc, entry, weights, names, label, stimulus.get("rubric"))
    threshold = scoring.get("threshold")
    source.scoring = {"policy": "weighted", **({} if threshold is None else {"threshold": threshold})}
    return source


def _add(
    source: Source,
    loc: Loc,
    entry: Any,
    weights: dict[str, Any],
    names: dict[str, int],
    stimulus: str | None,
    rubric: Any = None,
) -> None:
    kind = entry.get("type") if isinstance(entry, dict) else None
    if not isinstance(kind, str):
        raise SourceError("should be a grader, an object with `type`", loc)
    if kind in ELSEWHERE:
        source.ungraded.append((loc, f"{kind} {ELSEWHERE[kind]}"))
        return
    grader = f"vally.{kind.replace('-', '_')}"
    if grader_named(grader) is None:
        near = get_close_matches(kind, [*ELSEWHERE, "transcript-contains", "output-contains", "tool-calls"], n=1)
        raise SourceError(f"there is no grader type {kind!r}" + (f"; did you mean {near[0]!r}?" if near else ""), loc)
    config = mapped(entry, "config", loc)
    settings = {ALIASES.get(name, name): setting for name, setting in config.items()}
    if kind in ("prompt", "panel") and rubric is not None:
        settings.setdefault("rubric", rubric)  # It stands with the stimulus.
    name = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in str(entry.get("name") or kind))
    names[name] = names.get(name, 0) + 1
    more: dict[str, Any] = {key: entry[key] for key in ("turn",) if key in entry}
    if kind in weights:
        more["weight"] = weights[kind]
    if stimulus is not None:
        more["when"] = {"labels": {"stimulus": stimulus}}
    source.add(loc, name if names[name] == 1 else f"{name}-{names[name]}", grader, "critical", settings, **more)


def _entries(value: dict[str, Any], name: str, loc: Loc) -> list[tuple[Loc, Any]]:
    entries = value.get(name) or []
    if not isinstance(entries, list):
        raise SourceError("should be a list of graders", (*loc, name))
    return [((*loc, name, n), entry) for n, entry in enumerate(entries)]
