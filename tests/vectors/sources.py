"""Reads the vectors and the bug log: runs and expectations in a log's own words, translated to ours.

Both kinds of file name events, options and outcomes their own way; what is translated stands here and nowhere else.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stream_graders.catalogue import grader_named
from stream_graders.config import settings_model
from stream_graders.events import (
    SCHEMA,
    UNSENT,
    Agent,
    Custom,
    Event,
    Message,
    RunEnd,
    RunPause,
    RunResume,
    RunStart,
    ToolCall,
    ToolResult,
)
from stream_graders.grading import Grader, setting_fields

FAMILIES = {"vally": "vally", "agentlasso": "agentlasso", "ai_eval": "ai_eval", "datarobot": "datarobot"}

BUG_GRADERS = {
    "tool_order": "agentlasso.tool_order",
    "tool_called": "agentlasso.tool_called",
    "tool_not_called": "agentlasso.tool_not_called",
    "output_contains": "agentlasso.output_contains",
    "output_not_contains": "agentlasso.output_not_contains",
    "output_valid_json": "agentlasso.output_valid_json",
    "llm_judge": "agentlasso.llm_judge",
    "tool_usage": "ai_eval.tool_usage_grader",
    "canary": "datarobot.tool_grounding",
    "assistant-contains-tool-output": "vally.assistant_contains_tool_output",
    "transcript-contains": "vally.transcript_contains",
    "transcript-not-contains": "vally.transcript_not_contains",
}

NO_SETTINGS = {"id", "type", "severity", "turn", "record", "input"}
"""What stands among a check's options in the logs and is about the check or the case, not for its grader."""

QUESTION = {
    "criteria": ("criteria",),
    "expected_facts": ("expected_facts",),
    "expected_tools": ("expected_tools",),
    "format": ("expected", "format"),
    "spec": ("metadata", "droost"),
    "rubric_ref": ("rubric_ref",),
}
"""Where a question row has what a grader's settings are told."""
UNSAID = object()


STATUS = {"completed": "ok", "failed": "error"}


def lines(variable: str, default: str) -> list[dict[str, Any]]:
    """The records of the file that an environment variable names, or of the one in the folder of shared material."""
    path = Path(os.environ.get(variable) or Path(__file__).parents[3] / "shared" / "spec" / default)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


@dataclass
class Writer:
    """Numbers translated events."""

    reports: tuple[str, ...] = ("messages", "tools", "results", "usage", "end")
    written: list[Event] = field(default_factory=list)

    def add(self, kind: type[Event], **body: Any) -> None:
        n = len(self.written)
        body.setdefault("seq", n)
        body.setdefault("id", f"e{n}")
        body.setdefault("ts", 1_790_000_000_000_000_000 + n * 1_000_000_000)
        self.written.append(kind(schema=SCHEMA, run_id="r", producer="p", agent=Agent("a", "1"), **body))


def vector_events(record: dict[str, Any]) -> list[Event]:
    """A vector's run: all is reported, unless it says that there is no record of tool calls; it ends by itself."""
    writer = Writer()
    reports = ("messages", "results", "end") if record["config"].get("record") == "absent" else writer.reports
    writer.add(RunStart, reports=reports)
    for event in record["events"]:
        turn = event.get("turn")
        if event["type"] == "message":
            writer.add(Message, role=event["role"], content=event.get("content"), turn=turn)
        elif event["type"] == "tool_call":
            writer.add(
                ToolCall, name=event["name"], args=event.get("args"), plugin_id=event.get("plugin_id"), turn=turn
            )
        else:
            writer.add(ToolResult, name=event["name"], result=event.get("result"), turn=turn)
    writer.add(RunEnd, status="ok", last_seq=len(writer.written))
    return writer.written


def bug_events(record: dict[str, Any]) -> list[Event]:
    """A bug record's run. A ``run_start`` of its own says what is reported; else everything is."""
    own = next((event for event in record["events"] if event["kind"] == "run_start"), None)
    writer = Writer()
    reports = writer.reports if own is None else tuple(_record(name) for name in own.get("reports", ()))
    writer.add(RunStart, seq=0, id="start", reports=(*reports, "end") if own is not None else reports)
    for n, event in enumerate(record["events"]):
        if event["kind"] != "run_start":
            _add_bug_event(writer, {"seq": n, **event}, shift=0 if own is not None else 1)
    return writer.written


def _record(name: str) -> str:
    return {"tool_calls": "tools"}.get(name, name)


def _add_bug_event(writer: Writer, event: dict[str, Any], shift: int) -> None:
    common: dict[str, Any] = {"seq": event["seq"] + shift, "id": event.get("event_id", f"e{event['seq']}")}
    if event.get("truncated"):
        common["flags"] = ("truncated",)
    if "ts" in event:
        common["ts"] = int(event["ts"] * 1_000_000_000)
    if event["kind"] == "message":
        writer.add(
            Message, role=event["role"], content=_content(event.get("content")), step=event.get("step"), **common
        )
    elif event["kind"] == "tool_call":
        body = {
            "name": event["tool"],
            "call_id": event.get("call_id"),
            "args": event.get("args"),
            "plugin_id": event.get("plugin_id"),
            "step": event.get("step"),
        }
        writer.add(ToolCall, **body, **common)
    elif event["kind"] == "tool_result":
        body = {"name": event.get("tool"), "call_id": event.get("call_id"), "is_error": event.get("is_error", False)}
        writer.add(ToolResult, result=_long(event.get("output", UNSENT)), **body, **common)
    elif event["kind"] == "run_end":
        status = STATUS.get(event.get("status", "completed"), event.get("status", "ok"))
        writer.add(RunEnd, status=status, output=_long(event.get("output")), last_seq=common["seq"], **common)
    elif event["kind"] in ("approval_request", "approval"):
        writer.add(RunPause if event["kind"] == "approval_request" else RunResume, **common)
    else:
        writer.add(Custom, name=event["kind"], **common)  # As a worker takes a type it does not know.


def _content(content: Any) -> Any:
    if isinstance(content, list):
        return [{"type": part["type"], "content": part["text"]} if "text" in part else part for part in content]
    return _long(content)


def _long(value: Any) -> Any:
    """``<'a' x 3 then '!'>`` is how the log writes long texts."""
    if isinstance(value, str) and value.startswith("<'") and " x " in value:
        head, _, rest = value[1:-1].partition(" x ")
        count, _, tail = rest.partition(" then ")
        return head.strip("'") * int(count) + tail.strip("'")
    return value


def options_we_lack(name: str, options: dict[str, Any]) -> set[str]:
    """The options of a check that its grader does not have."""
    kind = grader_named(name)
    assert kind is not None
    return set(options) - {f.name for f in setting_fields(kind)} - NO_SETTINGS


def of_question(name: str, config: dict[str, Any]) -> dict[str, Any]:
    """The settings of a grader of ai_eval from a question row and what stands beside it."""
    kind = grader_named(name)
    assert kind is not None
    known = {f.name for f in setting_fields(kind)}
    settings: dict[str, Any] = {}
    for setting, (key, *inner) in QUESTION.items():
        value = config["question"].get(key, UNSAID)
        for step in inner:
            value = value.get(step, UNSAID) if isinstance(value, dict) else UNSAID
        if value is not UNSAID and setting in known:
            settings[setting] = value
    limits = {**config.get("settings", {}), **config.get("target", {})}
    beside = {"rubric": config.get("rubric"), "results": config.get("state_results")}
    beside["response_char_limit"] = limits.get("response_char_limit")
    return {**settings, **{key: value for key, value in beside.items() if value is not None and key in known}}


def grader_of(name: str, options: dict[str, Any]) -> tuple[Grader | None, set[str]]:
    """The grader with these options, and the options it does not have; None where the settings are refused."""
    kind = grader_named(name)
    assert kind is not None
    known = {f.name for f in setting_fields(kind)}
    foreign = options_we_lack(name, options)
    settings = {key: value for key, value in options.items() if key in known}
    model = settings_model(kind).model_validate(settings)
    grader = kind(**{name: getattr(model, name) for name in known})
    return (None if grader.problems() else grader), foreign
