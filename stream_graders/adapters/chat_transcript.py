"""Whole runs kept as chat lists, one JSON object a line: OpenAI messages, tau-bench, tau2-bench.

A line holds ``messages`` (or ``traj``) in the chat form. An assistant message with text and three tool calls becomes a
message and three calls of one step; one with calls only sends no message. Calls that the simulated user makes are not
the agent's: they become ``custom``. The list is complete, so its end is the run's end.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ..events import (
    SCHEMA,
    Agent,
    Custom,
    Event,
    Message,
    RunEnd,
    RunOutcome,
    RunStart,
    ToolCall,
    ToolResult,
    from_json,
)

EPOCH = 1_700_000_000_000_000_000
"""The time of the first message of a list without times, in nanoseconds; each message comes a second later."""

_STATUS = {"user_stop": "ok", "agent_stop": "ok", "max_steps": "limit", "too_many_errors": "error"}


def is_transcript(record: Any) -> bool:
    """Is this JSON value a run in the chat form?"""
    return isinstance(record, dict) and isinstance(record.get("traj", record.get("messages")), list)


def events(record: dict[str, Any], source: str, number: int) -> list[Event]:
    """The events of one run.

    Args:
        record: the line.
        source: where it comes from, a file's name without its endings; part of the run id.
        number: the line's place in its source, from 0.

    Raises:
        ValueError: the record is no chat list, or a message has no role, no such content or a call without a name.
    """
    messages = record.get("traj", record.get("messages"))
    if not isinstance(messages, list):
        raise ValueError("no list of messages under 'messages' or 'traj'")
    writer = _Writer(_run_id(record, source, number), _agent(record, source))
    writer.add(
        RunStart, record.get("start_time"), reports=("messages", "tools", "results", "end"), model=_model(record)
    )
    step = -1
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ValueError(f"message {writer.read} has no role")
        step += message["role"] == "assistant"
        try:
            for kind, body in _pieces(message, max(step, 0)):
                writer.add(kind, message.get("timestamp"), **body)
        except ValueError as error:
            raise ValueError(f"message {writer.read} {error}") from error
        writer.read += 1
    reason = record.get("termination_reason")
    status = _STATUS.get(str(reason), "unknown") if reason is not None else "unknown"
    writer.add(RunEnd, record.get("end_time"), status=status, reason=reason, last_seq=len(writer.written))
    info = record.get("reward_info")
    reward = record.get("reward", info.get("reward") if isinstance(info, dict) else None)
    if reward is not None:
        writer.add(RunOutcome, record.get("end_time"), name="reward", value=reward, numbered=False)
    return writer.written


class _Writer:
    """Numbers the events of a run."""

    def __init__(self, run_id: str, agent: Agent) -> None:
        self.run_id = run_id
        self.agent = agent
        self.read = 0
        self.written: list[Event] = []

    def add(self, kind: type[Event], timestamp: Any, *, numbered: bool = True, **body: Any) -> None:
        n = len(self.written)
        ts = _time(timestamp)
        self.written.append(
            kind(
                schema=SCHEMA,
                id=f"{self.run_id}:{n}",
                run_id=self.run_id,
                ts=EPOCH + self.read * 1_000_000_000 if ts is None else ts,
                seq=n if numbered else None,
                producer="transcript",
                agent=self.agent,
                **body,
            )
        )


def _pieces(message: dict[str, Any], step: int) -> Iterator[tuple[type[Event], dict[str, Any]]]:
    role, content = message["role"], message.get("content")
    if role == "tool":
        kind = Custom if message.get("requestor") == "user" else ToolResult
        yield kind, _result(message) if kind is ToolResult else {"name": "user.tool.result", "body": content}
        return
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise ValueError("has tool calls that are no list of objects")
    if role != "assistant" or content or not calls:
        yield Message, {"role": role, "content": _parts(content), "step": step if role == "assistant" else None}
    for call in calls:
        if call.get("requestor") == "user":
            yield Custom, {"name": "user.tool.call", "body": call}
        else:
            yield ToolCall, {**_call(call), "step": step}


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call["function"] if isinstance(call.get("function"), dict) else call
    name = function.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= 512:
        raise ValueError("calls a tool without a name, or by one that is too long")
    args, raw = function.get("arguments"), None
    if isinstance(args, str):
        args, raw = _parsed(args), args
        args, raw = (args, None) if isinstance(args, dict) else (raw, raw)
    return {"name": name, "call_id": _text(call.get("id")), "args": args, "args_raw": raw}


def _result(message: dict[str, Any]) -> dict[str, Any]:
    content = _parts(message.get("content"))
    call_id = _text(message.get("tool_call_id") or message.get("id"))
    body: dict[str, Any] = {"call_id": call_id, "name": _text(message.get("name"))}
    if isinstance(content, str):
        parsed = _parsed(content)
        body["result"] = parsed if isinstance(parsed, dict | list) else content
        body["result_raw"] = content if isinstance(parsed, dict | list) else None
    else:
        body["result"] = content
    error = message.get("error")
    return {**body, "is_error": error if isinstance(error, bool) else None}


def _parts(content: Any) -> Any:
    """Text as it is; a list of parts with the text under ``content``, where OpenAI writes ``text``."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise ValueError("has content that is neither text nor a list of parts")
    return [{"type": "text", "content": part["text"]} if "text" in part else part for part in content]


def _text(value: Any) -> str | None:
    """A name or id; some senders number theirs."""
    return None if value is None else str(value)


def _parsed(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return from_json(text)
    except (ValueError, RecursionError):
        return None


def _run_id(record: dict[str, Any], source: str, number: int) -> str:
    if isinstance(record.get("id"), str) and 0 < len(record["id"]) <= 512:
        return str(record["id"])
    if "task_id" in record and "trial" in record:
        return f"{source}-t{record['task_id']}-r{record['trial']}"
    return f"{source}-{number}"


def _agent(record: dict[str, Any], source: str) -> Agent:
    meta = record.get("run_meta")
    name = meta.get("agent") if isinstance(meta, dict) else None
    return Agent(name if isinstance(name, str) and name else source[:500])


def _model(record: dict[str, Any]) -> str | None:
    meta = record.get("run_meta")
    model = meta.get("agent_llm") if isinstance(meta, dict) else record.get("model")
    return model if isinstance(model, str) else None


def _time(value: Any) -> datetime | None:
    """A message's time; one without a zone is read as UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
