"""Chat lists to events: small examples, and every recorded run with the counts of its source."""

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from stream_graders.adapters.chat_transcript import events, is_transcript
from stream_graders.events import (
    Custom,
    Event,
    Message,
    RunEnd,
    RunOutcome,
    RunStart,
    ToolCall,
    ToolResult,
    from_json,
    to_json,
)
from stream_graders.trajectory import Course, is_aside
from stream_graders.wire import decode


def told(*messages: dict[str, Any], **record: Any) -> list[Event]:
    return events({"messages": list(messages), **record}, "file", 3)


def call(name: str, arguments: Any, call_id: str | None = "c1", **more: Any) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": name, "arguments": arguments}, **more}


def body(event: Event, *fields: str) -> tuple[Any, ...]:
    return tuple(getattr(event, field) for field in fields)


def test_a_run_starts_ends_and_is_numbered() -> None:
    first, said, last = told({"role": "user", "content": "hi"})
    assert isinstance(first, RunStart)
    assert first.reports == ("messages", "tools", "results", "end")
    assert isinstance(said, Message)
    assert body(said, "role", "content", "step") == ("user", "hi", None)
    assert isinstance(last, RunEnd)
    assert body(last, "status", "last_seq", "output") == ("unknown", 2, None)
    assert [event.seq for event in (first, said, last)] == [0, 1, 2]
    assert {event.run_id for event in (first, said, last)} == {"file-3"}
    assert len({event.id for event in (first, said, last)}) == 3


def test_a_message_with_text_and_calls_becomes_a_message_and_calls_of_one_step() -> None:
    _, user, said, one, other, result, last, _ = told(
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "moment", "tool_calls": [call("a", "{}"), call("b", {"x": 1}, "c2")]},
        {"role": "tool", "tool_call_id": "c1", "name": "a", "content": "ok"},
        {"role": "assistant", "content": "done"},
    )
    assert [event.step for event in (user, said, one, other, result, last)] == [None, 0, 0, 0, None, 1]
    assert isinstance(one, ToolCall)
    assert body(one, "name", "call_id", "args", "args_raw") == ("a", "c1", {}, None)
    assert isinstance(other, ToolCall)
    assert body(other, "name", "call_id", "args", "args_raw") == ("b", "c2", {"x": 1}, None)
    assert isinstance(result, ToolResult)
    assert body(result, "name", "call_id", "result", "is_error") == ("a", "c1", "ok", None)


@pytest.mark.parametrize("content", [None, ""])
def test_a_message_with_calls_only_sends_none(content: Any) -> None:
    kinds = [type(event) for event in told({"role": "assistant", "content": content, "tool_calls": [call("a", "{}")]})]
    assert kinds == [RunStart, ToolCall, RunEnd]


@pytest.mark.parametrize("content", [None, ""])
def test_an_empty_message_without_calls_is_a_message(content: Any) -> None:
    kinds = [type(event) for event in told({"role": "assistant", "content": content})]
    assert kinds == [RunStart, Message, RunEnd]


ARGUMENTS = {
    "an object as text": ('{"n": 12345678901234567890123}', {"n": 12345678901234567890123}, None),
    "an object": ({"n": 1}, {"n": 1}, None),
    "text that is no object": ("[1]", "[1]", "[1]"),
    "text that is no JSON": ("{n: 1", "{n: 1", "{n: 1"),
    "nothing": (None, None, None),
}


@pytest.mark.parametrize(("sent", "read", "raw"), ARGUMENTS.values(), ids=list(ARGUMENTS))
def test_arguments_are_objects_wherever_they_can_be_read(sent: Any, read: Any, raw: str | None) -> None:
    made = told({"role": "assistant", "content": None, "tool_calls": [call("a", sent)]})[1]
    assert isinstance(made, ToolCall)
    assert (made.args, made.args_raw) == (read, raw)


RESULTS = {
    "text": ("ok", "ok", None),
    "an object as text is read, and kept as it was": ('{ "id": 1 }', {"id": 1}, '{ "id": 1 }'),
    "a list as text": ("[1, 2]", [1, 2], "[1, 2]"),
    "a number as text stays text": ("58", "58", None),
    "empty": ("", "", None),
    "nothing": (None, None, None),
    "parts": ([{"type": "text", "text": "a"}], [{"type": "text", "content": "a"}], None),
}


@pytest.mark.parametrize(("content", "result", "raw"), RESULTS.values(), ids=list(RESULTS))
def test_results(content: Any, result: Any, raw: str | None) -> None:
    made = told({"role": "tool", "tool_call_id": "c1", "name": "a", "content": content})[1]
    assert isinstance(made, ToolResult)
    assert (made.result, made.result_raw) == (result, raw)


def test_what_the_simulated_user_calls_is_not_the_agents() -> None:
    made = told(
        {"role": "user", "content": None, "tool_calls": [call("toggle", {}, requestor="user")]},
        {"role": "tool", "id": "c1", "content": "on", "requestor": "user"},
        {"role": "tool", "id": "c2", "content": "ok", "error": True, "requestor": "assistant"},
    )
    assert [type(event) for event in made] == [RunStart, Message, Custom, Custom, ToolResult, RunEnd]
    assert isinstance(made[4], ToolResult)
    assert body(made[4], "call_id", "is_error") == ("c2", True)


ENDS = {
    "user_stop": "ok",
    "agent_stop": "ok",
    "max_steps": "limit",
    "too_many_errors": "error",
    "something else": "unknown",
    None: "unknown",
}


@pytest.mark.parametrize(("reason", "status"), ENDS.items())
def test_why_a_run_ended(reason: str | None, status: str) -> None:
    end = told(termination_reason=reason)[-1]
    assert isinstance(end, RunEnd)
    assert body(end, "status", "reason") == (status, reason)


@pytest.mark.parametrize("record", [{"reward": 1.0}, {"reward_info": {"reward": 1.0}}])
def test_a_reward_is_a_label_that_comes_later(record: dict[str, Any]) -> None:
    *_, end, outcome = told(**record)
    assert isinstance(end, RunEnd)
    assert isinstance(outcome, RunOutcome)
    assert body(outcome, "name", "value", "seq") == ("reward", 1.0, None)


IDENTITIES = {
    "its own id": ({"id": "run-7"}, "run-7"),
    "task and trial": ({"task_id": 3, "trial": 1}, "file-t3-r1"),
    "its place in the file": ({}, "file-3"),
    "an id that is no text": ({"id": 7}, "file-3"),
    "an id that is too long": ({"id": "x" * 600}, "file-3"),
}


@pytest.mark.parametrize(("record", "run_id"), IDENTITIES.values(), ids=list(IDENTITIES))
def test_what_the_run_is_called(record: dict[str, Any], run_id: str) -> None:
    assert told(**record)[0].run_id == run_id


def test_agent_model_and_times() -> None:
    made = told(
        {"role": "user", "content": "x", "timestamp": "2026-03-04T05:06:07.5"},
        {"role": "user", "content": "x", "timestamp": "yesterday"},
        run_meta={"agent": "llm_agent", "agent_llm": "gpt-x"},
    )
    assert made[0].agent is not None
    assert made[0].agent.name == "llm_agent"
    assert isinstance(made[0], RunStart)
    assert made[0].model == "gpt-x"
    assert str(made[1].ts) == "2026-03-04 05:06:07.500000+00:00"  # Without a zone it is UTC.
    assert isinstance(made[2].ts, int)
    bare = told(model="m")[0]
    assert isinstance(bare, RunStart)
    assert bare.agent is not None
    assert (bare.agent.name, bare.model) == ("file", "m")


BAD: dict[str, tuple[Any, str]] = {
    "no role": ({"content": "x"}, "message 0 has no role"),
    "no object": ("hello", "message 0 has no role"),
    "content of no known kind": ({"role": "user", "content": 7}, "message 0 has content that is neither"),
    "parts of no known kind": ({"role": "user", "content": ["x"]}, "message 0 has content that is neither"),
    "one part of no known kind": (
        {"role": "user", "content": [{"type": "text", "text": "x"}, "y"]},
        "message 0 has content that is neither",
    ),
    "calls that are no list": ({"role": "assistant", "tool_calls": {"a": 1}}, "message 0 has tool calls that are no"),
    "a call that is no object": ({"role": "assistant", "tool_calls": ["a"]}, "message 0 has tool calls that are no"),
    "a call without a name": ({"role": "assistant", "tool_calls": [{"id": "c"}]}, "message 0 calls a tool without"),
    "a call with an empty name": (
        {"role": "assistant", "tool_calls": [call("", {})]},
        "message 0 calls a tool without",
    ),
    "a call with a number for a name": (
        {"role": "assistant", "tool_calls": [{"function": {"name": 7}}]},
        "message 0 calls a tool without",
    ),
}


@pytest.mark.parametrize(("message", "problem"), BAD.values(), ids=list(BAD))
def test_what_cannot_be_read_is_refused_with_its_place(message: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        events({"messages": [message]}, "file", 0)


@pytest.mark.parametrize("record", [{}, {"messages": "x"}, {"traj": None}])
def test_a_record_without_a_list_is_no_transcript(record: dict[str, Any]) -> None:
    assert not is_transcript(record)
    with pytest.raises(ValueError, match="no list of messages"):
        events(record, "file", 0)


def test_odd_fields_around_a_run_do_no_harm() -> None:
    made = told({"role": "user", "content": "x", "timestamp": 5}, reward_info=[], run_meta="x", model=3, info=None)
    assert [type(event) for event in made] == [RunStart, Message, RunEnd]


# -- recorded runs -------------------------------------------------------------------------------------------------------------

RECORDED = {
    "tau_bench/gpt-4o-airline": (200, 5_308, 1_164),
    "tau2_bench/telecom_gpt-4o": (20, 715, 215),
    "tau2_bench/airline_claude-sonnet-4-5": (50, 1_188, 371),
    "tau2_bench/airline_gpt-oss-120b_langchain": (50, 2_041, 847),
    "tau2_bench/airline_claude-opus-4-6": (50, 1_196, 435),
    "tau2_bench/airline_claude-opus-4-6_ironshell": (44, 1_043, 357),
    "tau2_bench/airline_gpt-5.4": (50, 1_274, 432),
    "tau2_bench/airline_o3": (9, 292, 89),
    "tau2_bench/airline_grok-3": (8, 230, 61),
    "tau2_bench/airline_deepseek-chat": (4, 158, 48),
    "tau2_bench/airline_claude-sonnet-4-6": (7, 246, 91),
    "tau2_bench/airline_gpt-5_toolorchestra": (50, 1_320, 581),
    "tau2_bench/retail_gpt-5_toolorchestra": (114, 2_534, 873),
}
"""Runs, messages and tool calls of each file, as its description counts them."""


def listed(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a recorded run."""
    messages: list[dict[str, Any]] = record["traj"] if "traj" in record else record["messages"]
    return messages


def recorded(folder: Path, name: str) -> list[tuple[dict[str, Any], list[Event]]]:
    with gzip.open(folder / f"{name}.jsonl.gz", "rb") as lines:
        records = [from_json(line) for line in lines]
    return [(record, events(record, name, number)) for number, record in enumerate(records)]


@pytest.mark.parametrize(("name", "counts"), RECORDED.items(), ids=list(RECORDED))
def test_every_recorded_run_becomes_events(real_data: Path, name: str, counts: tuple[int, int, int]) -> None:
    told = recorded(real_data, name)
    messages = sum(len(listed(record)) for record, _ in told)
    made = [event for _, of in told for event in of]
    theirs = [e for e in made if isinstance(e, Custom) and e.name == "user.tool.call"]
    calls = sum(isinstance(event, ToolCall) for event in made) + len(theirs)
    assert (len(told), messages, calls) == counts
    silent = sum(
        message["role"] == "assistant" and not message.get("content") and bool(message.get("tool_calls"))
        for record, _ in told
        for message in listed(record)
    )
    kinds = Counter(type(event) for event in made)
    results = kinds[ToolResult] + sum(isinstance(e, Custom) and e.name == "user.tool.result" for e in made)
    assert kinds[Message] + results + silent == messages
    assert kinds[RunStart] == kinds[RunEnd] == kinds[RunOutcome] == counts[0]


def test_their_runs_and_events_have_names_of_their_own(real_data: Path) -> None:
    told = [events for name in RECORDED for _, events in recorded(real_data, name)]
    assert len({events[0].run_id for events in told}) == 656
    assert all(len({event.id for event in events}) == len(events) for events in told)
    assert all([e.seq for e in events if e.seq is not None] == list(range(len(events) - 1)) for events in told)


def test_their_results_find_their_calls(real_data: Path) -> None:
    """49 of the airline runs use one id for several calls; each result is still paired, and with a call of its tool."""
    for _, made in recorded(real_data, "tau_bench/gpt-4o-airline"):
        course = Course()
        for seen in [course.read(event, None) for event in made if not is_aside(event)]:
            if isinstance(seen.event, ToolResult):
                assert seen.call is not None
                assert seen.tool == seen.event.name
        assert course.flags == set()


def test_they_travel_over_the_wire_unchanged(real_data: Path) -> None:
    for _, made in recorded(real_data, "tau2_bench/telecom_gpt-4o"):
        for event in made:
            data = to_json(event)
            read = decode(data, event.run_id.encode())
            assert isinstance(read, type(event))
            assert to_json(read) == data
            assert json.loads(data)["run_id"] == event.run_id
