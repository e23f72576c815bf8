"""What an agent tells arrives, in order, as the events that readers know."""

import asyncio
import logging
from collections.abc import Callable, Iterator

import pytest

from stream_graders.emit import Emitter
from stream_graders.emit.sinks import MemorySink
from stream_graders.events import (
    Agent,
    Custom,
    Event,
    Expected,
    Message,
    RunEnd,
    RunOutcome,
    RunStart,
    ToolCall,
    ToolResult,
)


@pytest.fixture
def sink() -> MemorySink:
    return MemorySink()


@pytest.fixture
def emitter(sink: MemorySink) -> Iterator[Emitter]:
    emitter = Emitter(sink, agent="refunds", version="1.2", environment="production", tenant="acme")
    yield emitter
    emitter.close()


@pytest.fixture
def told(emitter: Emitter, sink: MemorySink) -> Callable[[], list[Event]]:
    def events() -> list[Event]:
        assert emitter.flush()
        return sink.events

    return events


Told = Callable[[], list[Event]]


def test_a_run_from_its_start_to_its_end(emitter: Emitter, told: Told) -> None:
    with emitter.run(run_id="r-7") as run:
        run.user("Where is my refund?")
        with run.tool("orders.lookup", {"id": 7}) as call:
            call.result({"order_id": "ORD-1"})
        run.assistant("It is on its way.", usage={"input": 12})
    start, asked, called, returned, said, end = told()
    assert isinstance(start, RunStart)
    assert start.reports == ("messages", "tools", "results", "usage", "end")
    assert isinstance(asked, Message)
    assert (asked.role, asked.content) == ("user", "Where is my refund?")
    assert isinstance(called, ToolCall)
    assert (called.name, called.args) == ("orders.lookup", {"id": 7})
    assert isinstance(returned, ToolResult)
    assert (returned.name, returned.call_id, returned.result) == (
        "orders.lookup",
        called.call_id,
        {"order_id": "ORD-1"},
    )
    assert returned.is_error is False
    assert returned.duration_ms is not None
    assert isinstance(said, Message)
    assert (said.role, said.content, said.usage) == ("assistant", "It is on its way.", {"input": 12})
    assert isinstance(end, RunEnd)
    assert (end.status, end.last_seq) == ("ok", 5)


def test_every_event_names_its_run_agent_and_place(emitter: Emitter, told: Told) -> None:
    with emitter.run("r-7", session_id="s-1") as run:
        run.user("hello")
    events = told()
    assert [event.seq for event in events] == [0, 1, 2]
    assert len({event.id for event in events}) == 3
    assert len({event.producer for event in events}) == 1
    for event in events:
        assert (event.run_id, event.agent, event.environment) == ("r-7", Agent("refunds", "1.2"), "production")
        assert (event.tenant, event.session_id) == ("acme", "s-1")


def test_what_a_run_may_bring_along(emitter: Emitter, told: Told) -> None:
    emitter.run(
        agent="sales", version="9", model="m-1", labels={"prompt": "v7"}, expected={"criteria": "polite"}, variant="candidate",
        pair_id="p-1", parent_run_id="r-1", root_run_id="r-0",
    )  # fmt: skip
    [start] = told()
    assert isinstance(start, RunStart)
    assert start.agent == Agent("sales", "9")
    assert (start.model, start.labels, start.expected) == ("m-1", {"prompt": "v7"}, Expected(criteria="polite"))
    assert (start.variant, start.pair_id, start.parent_run_id, start.root_run_id) == ("candidate", "p-1", "r-1", "r-0")
    assert start.run_id


def test_a_pause_an_outcome_and_anything_else(emitter: Emitter, told: Told) -> None:
    run = emitter.run("r-7")
    run.pause("approval")
    run.resume()
    run.custom("cache", {"hit": True})
    run.end(output="done", status="limit")
    run.outcome("reward", 0.5)
    run.end()  # The run is over already.
    kinds = [event.__struct_config__.tag for event in told()]
    assert kinds == ["run.start", "run.pause", "run.resume", "custom", "run.end", "run.outcome"]
    _, _, _, custom, end, outcome = told()
    assert isinstance(custom, Custom)
    assert isinstance(end, RunEnd)
    assert (end.status, end.output, end.last_seq) == ("limit", "done", 4)
    assert isinstance(outcome, RunOutcome)
    assert (outcome.name, outcome.value) == ("reward", 0.5)


@pytest.mark.parametrize(
    ("error", "status"),
    [(ValueError("no"), "error"), (asyncio.CancelledError(), "cancelled"), (SystemExit(1), "error")],
)
def test_an_exception_ends_the_run_and_goes_on(emitter: Emitter, told: Told, error: BaseException, status: str) -> None:
    with pytest.raises(type(error)), emitter.run():
        raise error
    end = told()[-1]
    assert isinstance(end, RunEnd)
    assert end.status == status
    assert end.error == {"type": type(error).__name__, "message": str(error)}


def test_an_exception_in_a_tool_is_its_result_and_goes_on(emitter: Emitter, told: Told) -> None:
    run = emitter.run()
    with pytest.raises(KeyError), run.tool("orders.lookup"):
        raise KeyError("ORD-1")
    _, called, returned = told()
    assert isinstance(called, ToolCall)
    assert called.args == {}
    assert isinstance(returned, ToolResult)
    assert (returned.is_error, returned.result) == (True, None)
    assert returned.error == {"type": "KeyError", "message": "'ORD-1'"}


def test_an_exception_after_the_result_is_not_the_tools(emitter: Emitter, told: Told) -> None:
    def stumble() -> None:
        with emitter.run().tool("orders.lookup", call_id="c1") as call:
            call.result([])
            raise KeyError("the agent's own fault")

    with pytest.raises(KeyError):
        stumble()
    [returned] = [event for event in told() if isinstance(event, ToolResult)]
    assert (returned.call_id, returned.result, returned.is_error) == ("c1", [], False)


def test_a_tool_that_returns_nothing_and_one_that_says_it_failed(emitter: Emitter, told: Told) -> None:
    run = emitter.run()
    with run.tool("mail.send"):
        pass
    run.tool("mail.send").result("mailbox full", is_error=True)
    nothing, failed = [event for event in told() if isinstance(event, ToolResult)]
    assert (nothing.result, nothing.is_error) == (None, False)
    assert (failed.result, failed.is_error) == ("mailbox full", True)


def test_it_serves_coroutines_too(emitter: Emitter, told: Told) -> None:
    async def agent() -> None:
        async with emitter.run("r-7") as run, run.tool("orders.lookup") as call:
            call.result(1)

    asyncio.run(agent())
    assert [event.__struct_config__.tag for event in told()] == ["run.start", "tool.call", "tool.result", "run.end"]


def test_arguments_are_those_of_the_moment(emitter: Emitter, told: Told) -> None:
    args, parts = {"id": 7}, [{"type": "text", "content": "hello"}]
    run = emitter.run(labels=(labels := {"prompt": "v7"}))
    run.tool("orders.lookup", args)
    run.user(parts)
    args["id"] = 8
    parts.clear()
    labels["prompt"] = "v8"
    start, called, said = told()
    assert isinstance(start, RunStart)
    assert start.labels == {"prompt": "v7"}
    assert isinstance(called, ToolCall)
    assert called.args == {"id": 7}
    assert isinstance(said, Message)
    assert said.content == [{"type": "text", "content": "hello"}]


def test_a_run_that_goes_on_in_another_block_is_numbered_on(emitter: Emitter, told: Told) -> None:
    for text in ("first question", "second question"):
        with emitter.run("conversation") as run:
            run.user(text)
    assert [event.seq for event in told()] == [0, 1, 2, 3, 4, 5]
    assert [event.last_seq for event in told() if isinstance(event, RunEnd)] == [2, 5]


def test_runs_are_numbered_apart(emitter: Emitter, told: Told) -> None:
    one, other = emitter.run("one"), emitter.run("other")
    one.user("a")
    other.user("b")
    one.end()
    assert [(event.run_id, event.seq) for event in told()] == [
        ("one", 0), ("other", 0), ("one", 1), ("other", 1), ("one", 2),
    ]  # fmt: skip


def test_each_emitter_is_a_producer_of_its_own() -> None:
    sinks = [MemorySink(), MemorySink()]
    for sink in sinks:
        emitter = Emitter(sink)
        emitter.run("r-7")
        emitter.close()
    assert sinks[0].events[0].producer != sinks[1].events[0].producer


def test_the_environment_describes_an_emitter(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("SG_BOOTSTRAP_SERVERS", "SG_TOPIC", "SG_AGENT_NAME", "SG_AGENT_VERSION", "SG_ENVIRONMENT", "SG_TENANT")
    for name in names:
        monkeypatch.setenv(name, name.lower())
    emitter = Emitter.from_env()
    emitter.close()
    assert emitter._outbox.sink.describe() == "sg_topic on sg_bootstrap_servers"
    assert (emitter._agent, emitter._version) == ("sg_agent_name", "sg_agent_version")
    assert emitter._common == {"environment": "sg_environment", "tenant": "sg_tenant"}


def test_without_servers_the_agent_lives_on_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("SG_BOOTSTRAP_SERVERS", raising=False)
    emitter = Emitter.from_env()
    with emitter.run() as run:
        run.user("hello")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "SG_BOOTSTRAP_SERVERS is not set" in caplog.text
    assert emitter.stats().dropped == {"run.start": 1, "message": 1, "run.end": 1}
