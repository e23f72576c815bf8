"""A case of AgentLasso, the JSON as its page has it (R61 to R66): its checks, or what older cases have in their place."""

from typing import Any

from .form import Loc, Source, SourceError, listed

SETTINGS: dict[str, tuple[str, ...]] = {
    "tool_called": ("tool",),
    "tool_not_called": ("tool",),
    "tool_order": ("tools",),
    "output_contains": ("value", "regex"),
    "output_not_contains": ("value", "regex"),
    "output_valid_json": (),
    "llm_judge": ("criterion",),
}
"""The seven types of check, and what each is told (R63, R64)."""


def checks(value: Any) -> Source:
    """The checks of a case. One without checks is read by ``expected_tool_calls`` and ``guardrails`` (R65, R66).

    Free-text rubric items are not graded, and are listed as such (R59). A check without a severity is critical.

    Raises:
        SourceError: it is no case, or a check is of no known type.
    """
    if not isinstance(value, dict):
        raise SourceError("is no case of AgentLasso: a case is an object with `checks`")
    version = value.get("checks_version", 1)
    if version != 1:
        raise SourceError(f"has checks_version {version}, and 1 is the one that is known", ("checks_version",))
    source = Source()
    for n, check in enumerate(listed(value, "checks")):
        _add(source, n, check)
    if "checks" not in value:
        for n, call in enumerate(listed(value, "expected_tool_calls")):
            loc: Loc = ("expected_tool_calls", n)
            name = (call.get("name") or call.get("tool")) if isinstance(call, dict) else call
            if not isinstance(name, str) or not name:
                raise SourceError("should be the name of a tool, or an object with one", loc)
            source.add(loc, f"expected-tool-{n + 1}", "agentlasso.tool_called", "critical", {"tool": name})
        for n, text in enumerate(listed(value, "guardrails")):
            if not isinstance(text, str) or not text:
                raise SourceError("should be a text that the reply must not hold", ("guardrails", n))
            settings = {"value": text}
            source.add(("guardrails", n), f"guardrail-{n + 1}", "agentlasso.output_not_contains", "critical", settings)
    for n, item in enumerate(listed(value, "rubric")):
        source.ungraded.append((("rubric", n), str(item)))
    return source


def _add(source: Source, n: int, check: Any) -> None:
    loc: Loc = ("checks", n)
    kind = check.get("type") if isinstance(check, dict) else None
    if kind not in SETTINGS:
        raise SourceError(f"is of type {kind!r}, and the types are {', '.join(SETTINGS)}", loc)
    known = {"id", "type", "severity", *SETTINGS[kind]}
    if foreign := sorted(set(check) - known):
        raise SourceError(f"has {foreign[0]!r}, which {kind} is not told; it knows {', '.join(sorted(known))}", loc)
    severity = check.get("severity", "critical")
    if severity not in ("critical", "minor"):
        raise SourceError(f"has the severity {severity!r}; critical and minor are the two", loc)
    settings = {name: check[name] for name in SETTINGS[kind] if name in check}
    source.add(loc, str(check.get("id") or f"{kind}-{n + 1}"), f"agentlasso.{kind}", severity, settings)
