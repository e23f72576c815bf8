"""Question rows of ai_eval, and the target whose graders they are put to (R68, R126 to R130, R156)."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from ..catalogue import catalogue, grader_named
from ..grading import Grader
from .form import Loc, Source, SourceError, mapped

LIMIT = 4_000
"""Characters that a reply may have where neither the target nor the site says."""
RUNNER_KEYS = ("response_char_limit", "messages", "tool_calls")
"""What only the one who ran the question knows: a row cannot bring it."""

_PLACES = {
    "criteria": ("criteria",),
    "expected_facts": ("expected_facts",),
    "expected_tools": ("expected_tools",),
    "format": ("expected", "format"),
    "spec": ("metadata", "droost"),
    "response_char_limit": ("response_char_limit",),
}
"""Where the context of a question has what a setting of a grader is told."""
_OWN = {"tool_usage_grader": "expected_tools", "droost_state": "spec", "format_grader": "format"}
"""The graders that a row without a target asks for, and what it asks by."""


def checks(value: Any) -> Source:
    """The checks of a file: a row, a list of rows, or a mapping with ``questions``, ``target``, ``rubrics``, ``settings``.

    The target names its ``graders``, and may have ``threshold`` (the score from which a question passes), ``mode`` and
    ``response_char_limit``; they may also stand in the file itself. Rows without a target are put to the deterministic
    graders that they hold something for. Of several rows each applies to runs that carry the label ``question`` with its
    ``id``, or its place from 0.

    Raises:
        SourceError: it is no such file, a grader is not known, or a rubric is not there.
    """
    rows, at = _rows(value)
    whole = value if isinstance(value, dict) else {}
    target = {
        **{key: whole[key] for key in ("graders", "mode", "threshold") if key in whole},
        **mapped(whole, "target"),
    }
    site = mapped(whole, "settings")
    source = Source()
    names = _names(target, ("target", "graders") if "graders" in mapped(whole, "target") else ("graders",))
    if names is not None:
        source.warnings += [(at, told) for told in lint(str(target.get("mode", "chat")), names, rows)]
    for n, row in enumerate(rows):
        loc: Loc = (*at, n) if isinstance(value, list) or "questions" in whole else ()
        if not isinstance(row, dict):
            raise SourceError("should be a question, a mapping with `input` and what its graders read", loc)
        known = context(row, target, site)
        label = str(row.get("id", n)) if len(rows) > 1 else None
        for name in names if names is not None else [name for name, by in _OWN.items() if _told(known, by) is not None]:
            _add(source, loc, name, known, mapped(whole, "rubrics"), label)
    threshold = target.get("threshold", site.get("question_pass_threshold"))
    if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
        raise SourceError("should have a threshold from 0 to 5, the score from which a question passes", ("target",))
    source.scoring = {"policy": "composite", **({} if threshold is None else {"threshold": threshold})}
    return source


def context(row: Mapping[str, Any], target: Mapping[str, Any], site: Mapping[str, Any]) -> dict[str, Any]:
    """What graders are told of a question: its row, without what only the runner knows, and the limit that holds (R126, R127).

    A row that brought ``tool_calls`` could forge the record of a run (decision 10).

    >>> context({"input": "x", "tool_calls": [], "response_char_limit": 9}, {}, {})
    {'input': 'x', 'response_char_limit': 4000}
    """
    limits = [limit for of in (target, site) if (limit := of.get("response_char_limit")) is not None]
    known = {key: value for key, value in row.items() if key not in RUNNER_KEYS}
    return {**known, "response_char_limit": limits[0] if limits else LIMIT}


def lint(mode: str, graders: Sequence[str], questions: Sequence[Any]) -> list[str]:
    """What a target and its questions leave unseen: which graders look at what the agent did says their metadata (R77 to R79).

    >>> lint("agent", ["relevance_grader"], [{"input": "x"}])
    ['Text only: no grader looks at what the agent did, so claiming it and doing it score alike']
    """
    kinds = {name: kind for name in graders if (kind := grader_named(f"ai_eval.{name}")) is not None}
    acting = [name for name, kind in kinds.items() if kind.metadata.get("observes_actions") == "yes"]
    told = list[str]()
    if mode == "agent" and not acting:
        told.append("Text only: no grader looks at what the agent did, so claiming it and doing it score alike")
    for name in acting:
        keys = [setting for setting in kinds[name].references if setting in _PLACES]
        if questions and not any(isinstance(row, dict) and _told(row, key) for row in questions for key in keys):
            places = ", ".join(".".join(_PLACES[key]) for key in keys)
            told.append(f"{name} skips every question: none has {places}")
    return told


def _rows(value: Any) -> tuple[list[Any], Loc]:
    """The question rows, and where they stand."""
    if isinstance(value, list):
        return value, ()
    if isinstance(value, dict) and "questions" in value:
        if not isinstance(value["questions"], list):
            raise SourceError("should be a list of questions", ("questions",))
        return value["questions"], ("questions",)
    if isinstance(value, dict) and "input" in value:
        return [value], ()
    raise SourceError("is no file of ai_eval: one has `questions`, or is a question with `input`, or a list of them")


def _names(target: dict[str, Any], loc: Loc) -> list[str] | None:
    """The graders of the target; None without one."""
    if "graders" not in target:
        return None
    names = target["graders"]
    if not isinstance(names, list) or not names:
        raise SourceError("should be a list of graders", loc)
    for n, name in enumerate(names):
        if not isinstance(name, str) or grader_named(f"ai_eval.{name}") is None:
            known = [full.partition(".")[2] for full in catalogue() if full.startswith("ai_eval.")]
            near = get_close_matches(str(name), known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise SourceError(f"there is no grader {name!r} in ai_eval{hint}", (*loc, n))
    return [name.replace("-", "_") for name in names]


def _add(
    source: Source, loc: Loc, name: str, known: dict[str, Any], rubrics: dict[str, Any], label: str | None
) -> None:
    kind = grader_named(f"ai_eval.{name}")
    assert kind is not None
    settings = dict(_settings(kind, known))
    if kind.asks and (told := _described(rubrics.get(str(known.get("rubric_ref"))))):
        # What the rubric's checks look for reaches the judges as criteria too (R111, R130).
        own = settings.get("criteria")
        settings["criteria"] = [*(own if isinstance(own, list) else [] if own is None else [own]), *told]
    if name == "rubric_checks" and known.get("rubric_ref") is not None:
        ref = str(known["rubric_ref"])
        if ref not in rubrics:
            near = get_close_matches(ref, list(rubrics), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else "; add it under `rubrics`"
            raise SourceError(f"there is no rubric {ref!r}{hint}", (*loc, "rubric_ref"))
        settings["rubric"] = rubrics[ref]
    more: dict[str, Any] = {} if label is None else {"when": {"labels": {"question": label}}}
    slug = "".join(c if c.isascii() and (c.isalnum() or c in "_.-") else "-" for c in label or "")
    source.add(loc, f"{name}-{slug}" if slug else name, kind.name, "critical", settings, **more)


def _described(rubric: Any) -> list[str]:
    """The descriptions of a rubric's checks."""
    checks = rubric.get("checks") if isinstance(rubric, dict) else None
    told = [check.get("description") for check in checks or [] if isinstance(check, dict)]
    return [text for text in told if isinstance(text, str) and text]


def _settings(kind: type[Grader], known: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    fields = kind.__dataclass_fields__
    for setting in _PLACES:
        if setting in fields and fields[setting].init and (told := _told(known, setting)) is not None:
            yield setting, told
    metadata = known.get("metadata")
    if "spec" in fields and isinstance(metadata, dict) and metadata.get("droost", 0) is None:
        yield "spec", []  # A key with nothing in it asked to be graded here: it is malformed, not absent.


def _told(known: Mapping[str, Any], setting: str) -> Any:
    value: Any = known
    for step in _PLACES[setting]:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value
