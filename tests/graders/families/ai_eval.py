"""Graders of ai_eval as the tests configure them, and their oracles."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from stream_graders.events import UNSENT, Event, RunStart, ToolCall, ToolResult, from_json
from stream_graders.graders.ai_eval.accuracy_grader import AccuracyGrader
from stream_graders.graders.ai_eval.actionability_grader import ActionabilityGrader
from stream_graders.graders.ai_eval.completeness_grader import CompletenessGrader
from stream_graders.graders.ai_eval.droost_state import DroostState
from stream_graders.graders.ai_eval.fact_match_grader import FactMatchGrader
from stream_graders.graders.ai_eval.format_grader import FormatGrader
from stream_graders.graders.ai_eval.groundedness_grader import GroundednessGrader
from stream_graders.graders.ai_eval.relevance_grader import RelevanceGrader
from stream_graders.graders.ai_eval.rubric_checks import RubricChecks
from stream_graders.graders.ai_eval.tool_usage_grader import ToolUsageGrader
from stream_graders.grading import Grader
from stream_graders.testing import run
from tests.graders.told import Oracle, Told, asks_judge, object_or_text, reply_of

RUBRIC = {
    "id": "refund",
    "checks": [
        {"id": "lot", "kind": "must_contain_any", "values": ["LOT q7", "ord-123456"], "weight": 3},
        {"id": "kind", "kind": "must_not_contain", "values": ["Guarantee", "58"]},
        {"id": "ends", "kind": "regex", "pattern": "(58|Q7)$", "weight": 2},
        {"id": "tone", "kind": "llm_judge", "weight": 9},
    ],
    "scoring": {"combine": "weighted_avg"},
}

GRADERS: dict[str, Grader] = {
    "relevance": RelevanceGrader(),
    "completeness": CompletenessGrader("every order"),
    "accuracy": AccuracyGrader("every order", ["the lot is Q7"]),
    "actionability": ActionabilityGrader(),
    "groundedness": GroundednessGrader(),
    "facts": FactMatchGrader(expected_facts=["the lot is Q7"]),
    "no facts": FactMatchGrader(),
    "form": FormatGrader(response_char_limit=60),
    "form of json": FormatGrader("json"),
    "rubric": RubricChecks(RUBRIC),
    "rubric of json": RubricChecks(
        {"checks": [{"kind": "json_schema", "schema": {"type": "object", "required": ["lot"]}}]}
    ),
    "another rubric": RubricChecks(RUBRIC, "greeting"),
    "tools": ToolUsageGrader(
        [
            {"tool": "orders.find", "should_run": True},
            {"tool": "payments.refund", "after": "auth.login"},
            {"tool": "db.drop", "should_run": False},
            {"tool": "orders.find", "args": {"mail": "jo@example.com"}},
        ]
    ),
    "tools to leave alone": ToolUsageGrader([{"tool": "payments.refund", "should_run": False}]),
    "no tools": ToolUsageGrader([]),
    "state": DroostState({"assertions": [{"id": "a"}, {"id": "b", "tier": "config"}]}, {"a": True, "b": False}),
    "state unseen": DroostState({"assertions": [{"id": "a"}]}),
    "no state": DroostState(),
}

STORIES: dict[str, Iterable[Event]] = {
    "a reply in markdown": run().starts().says("# Lot\nSee [it](http://x.test), **Q7**.").ends(),
    "marks that mark nothing": run().starts().says("#7 has a ** b, snake__case__name [1] (2)").ends(),
    "a reply of blanks": run().starts().says("lot Q7").says(" \n ").ends(),
    "a json object": run().starts().says('{"lot": "Q7"}').ends(),
    "a long reply": run().starts().says("I guarantee lot Q7, for 58, today. " * 4).ends(),
    "tools that nobody records": (
        run()
        .starts(reports=("messages", "end"))
        .says("Tool call: orders.find(), then [tool: payments.refund]. orders.finder(x) did not help.")
        .ends()
    ),
    "tools that are only mentioned": (
        run().starts(reports=("messages", "end")).says("orders.find and <tool>db.drop</tool> are my tools.").ends()
    ),
    "nobody says what is reported": run().asks("x").says("payments.refund(8): done").ends(),
    "arguments of all kinds": (
        run()
        .starts()
        .calls("orders.find", None)
        .calls("orders.find", {"mail": "other@example.com"})
        .calls("orders.find", {}, args_raw='{"mail": "jo@example.com"}')
        .calls("payments.refund", {})
        .calls("auth.login", {})
        .calls("payments.refund", {})
        .ends()
    ),
    "arguments that were not sent": run().starts().calls("orders.find").adds(ToolCall, name="orders.find").ends(),
    "all as expected": (
        run()
        .starts()
        .calls("auth.login")
        .calls("orders.find", {"mail": "jo@example.com", "page": 2})
        .calls("payments.refund")
        .says("done")
        .ends()
    ),
}
"""Runs that this family's graders are held over beside those of `tests.core.stories`."""


def form(grader: FormatGrader, events: Sequence[Event], tools: Any) -> Told:
    reply = reply_of(events)
    if not reply.text.strip():
        return reply.told("fail", "the response is empty")
    if grader.format == "json":
        try:
            from_json(reply.text)
        except ValueError:
            return reply.told("fail", "invalid JSON: ")
        return reply.told("pass", "valid JSON")
    broken = {
        "uses # headings": any(re.match("#{1,6} ", line) for line in reply.text.split("\n")),
        "uses [text](url) links": re.search(r"\[[^]\n]+\]\(", reply.text),
        "uses bold": re.search(r"\*\*\w[^*\n]*\w\*\*|(?<!\w)__\w+__(?!\w)", reply.text),
        f"too long, over {grader.response_char_limit} characters": len(reply.text) > grader.response_char_limit,
        "suspiciously short, under 20 characters": len(reply.text) < 20,
    }
    told = [rule for rule, is_broken in broken.items() if is_broken]
    return reply.told("pass" if len(told) < 2 else "fail", "; ".join(told) or "no rule of the form is broken")


def rubric(grader: RubricChecks, events: Sequence[Event], tools: Any) -> Told:
    """By the two rubrics that the tests' graders use."""
    if grader.rubric_ref == "greeting":
        return Told("skipped", "another rubric is named; skipping", certain=True)
    reply = reply_of(events)
    if grader.rubric is not RUBRIC:
        try:
            value = from_json(reply.text)
        except ValueError:
            value = None
        ok = isinstance(value, dict) and "lot" in value
        return reply.told(
            "pass" if ok else "fail", f"all_pass of 1 checks: json_schema-1 {'passed' if ok else 'failed'}"
        )
    lower = reply.text.lower()
    lot, kind = "lot q7" in lower or "ord-123456" in lower, "guarantee" not in lower and "58" not in lower
    ends = reply.text.endswith(("58", "Q7"))
    words = {True: "passed", False: "failed"}
    told = f"weighted_avg of 3 checks: lot {words[lot]}, kind {words[kind]}, ends {words[ends]}; not executed: tone"
    return reply.told("pass" if (3 * lot + kind + 2 * ends) / 6 >= 0.7 else "fail", told)


RECORD = "(read from the agent's tool-call record)"
TEXT = "(no tool-call record available; read from the response text, which only works when the answer spells out tool markers)"


def tool_usage(grader: ToolUsageGrader, events: Sequence[Event], tools: Any) -> Told:
    entries = grader.expected_tools
    if not entries:
        return Told("skipped", "no expected_tools; skipping", certain=True)
    calls = [event for event in events if isinstance(event, ToolCall)]
    reports = [event.reports or () for event in events if isinstance(event, RunStart)]
    is_known = (
        bool(calls) or any(isinstance(event, ToolResult) for event in events) or any("tools" in r for r in reports)
    )
    if not is_known:
        reply = reply_of(events)
        unmet = [text for entry in entries if (text := of_text(entry, reply.text))]
        return reply.told(*shared(len(entries), unmet, TEXT))
    unmet, unknown = list[str](), list[str]()
    for entry in entries:
        found = [of_call(entry, call, calls[:n]) for n, call in enumerate(calls)]
        should = entry.get("should_run", True)
        if True not in found and None in found:
            unknown.append(entry["tool"])
        elif (True in found) is not should:
            how = " with mail as expected" if "args" in entry else ""
            how += f" after {entry['after']}" if "after" in entry else ""
            unmet.append(f"{entry['tool']} {'did not run' if should else 'ran'}{how}")
    if unknown:
        return Told("not_graded", "content_missing", certain=True)
    return Told(*shared(len(entries), unmet, RECORD), certain=True)


def shared(total: int, unmet: list[str], source: str) -> tuple[str, str]:
    met = total - len(unmet)
    outcome = "pass" if met / total >= 0.7 else "fail"
    if not unmet:
        return outcome, f"all {total} tool expectations met {source}"
    return outcome, f"{met} of {total} tool expectations met; {'; '.join(unmet)} {source}"


def of_call(entry: Any, call: ToolCall, before: Sequence[ToolCall]) -> bool | None:
    if call.name != entry["tool"] or not ("after" not in entry or entry["after"] in [c.name for c in before]):
        return False
    if "args" not in entry:
        return True
    args = call.args if call.args is not UNSENT else call.args_raw
    if args is None and call.args is UNSENT:
        return None
    args = object_or_text(args)
    return isinstance(args, dict) and args.get("mail") == entry["args"]["mail"]


def of_text(entry: Any, reply: str) -> str | None:
    tool = entry["tool"]
    asked = [key for key in ("args", "after") if key in entry]
    if asked:
        return f"{tool}: {' and '.join(asked)} cannot be checked without a tool-call record"
    forms = [f"Tool call: {tool}(", f"[tool: {tool}]", f"<tool>{tool}</tool>", f"{tool}("]
    is_there = any(spelled in reply for spelled in forms)
    if is_there is entry.get("should_run", True):
        return None
    return f"{tool} {'ran' if is_there else 'did not run'}"


def state(grader: DroostState, events: Sequence[Event], tools: Any) -> Told:
    if grader.spec is None:
        return Told("skipped", "no droost spec; skipping", certain=True)
    if grader.results is None:
        return Told("not_graded", "no_probe", certain=True)
    return Told("fail", "1 of 2 assertions hold\nPASS a\nFAIL b (config)", certain=True)


ORACLES: dict[type, Oracle] = {
    **{
        kind: Oracle(asks_judge, {"messages"})
        for kind in (
            *(RelevanceGrader, CompletenessGrader, AccuracyGrader),
            *(ActionabilityGrader, FactMatchGrader, GroundednessGrader),
        )
    },
    DroostState: Oracle(state, set()),
    FormatGrader: Oracle(form, {"messages"}),
    RubricChecks: Oracle(rubric, {"messages"}),
    ToolUsageGrader: Oracle(tool_usage, {"messages"}),
}
