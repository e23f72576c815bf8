"""What each fault of an endpoint is to each client: its kind, one try, within the time of the call (judges.md 1.2)."""

import asyncio
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from stream_graders.judges.calls import Call, Client, Fault, Reply, Usage
from stream_graders.judges.openai_client import OpenAIClient
from stream_graders.judges.prompts import schema
from stream_graders.judges.pydantic_ai_client import PydanticAIClient
from tests.judges.server import Does, ScriptedServer, always, fails, one_after_another, says, scores

CALL = Call("rules", "data", schema((0, 5)), "native_schema", 600, 2.0, {"temperature": 0, "top_p": 1})


CLIENTS: dict[str, Callable[[str], Client]] = {
    "openai": lambda url: OpenAIClient(url, "m", "k"),
    "pydantic-ai:openai": lambda url: PydanticAIClient("openai", url, "m", "k"),
    "anthropic": lambda url: PydanticAIClient("anthropic", url.removesuffix("/v1"), "claude-haiku-4-5", "k"),
}
PATHS = {"openai": "/v1/chat/completions", "pydantic-ai:openai": "/v1/chat/completions", "anthropic": "/v1/messages"}


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def called(client: str, server: ScriptedServer, call: Call = CALL) -> Reply:
    return calls(client, server, call)[0]


def calls(name: str, server: ScriptedServer, *several: Call) -> list[Reply]:
    """The replies to calls of one client, one after another."""

    async def go() -> list[Reply]:
        client = CLIENTS[name](server.url)
        try:
            return [await client.call(call) for call in several]
        finally:
            await client.close()

    return asyncio.run(go())


def within(seconds: float) -> Call:
    return Call(**{**vars(CALL), "timeout": seconds})


FAULTS: dict[str, tuple[Does, str, float | None]] = {
    "too many requests": (fails(429, headers={"Retry-After": "7"}), "rate_limited", 7.0),
    "no money left": (fails(429, "insufficient_quota"), "quota", None),
    "a failing server": (fails(500), "server", None),
    "a busy server": (fails(503), "overloaded", None),
    "an overloaded one": (fails(529), "overloaded", None),
    "a bad key": (fails(401), "auth", None),
    "no right": (fails(403), "auth", None),
    "a prompt that is too long": (fails(400, "context_length_exceeded"), "context", None),
    "a refused request": (fails(400, "bad"), "rejected", None),
    "no such model": (fails(404), "rejected", None),
    "a page": (Does(200, b"<html>502 Bad Gateway</html>", {"Content-Type": "text/html"}), "bad_body", None),
    "no choices": (Does(200, {"id": "c", "choices": [], "model": "m"}), "bad_body", None),
    "an error with status 200": (Does(200, {"error": "no"}), "bad_body", None),
    "half of an object": (Does(200, b'{"id": "c", "choices": ['), "bad_body", None),
    "a list": (Does(200, b"[]"), "bad_body", None),
    "content that is no text": (Does(200, {**says("x").body, "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": {"a": 1}}}]}), "bad_body", None),  # type: ignore[dict-item]  # that is the fault
}  # fmt: skip


@pytest.mark.parametrize(("does", "kind", "retry_after"), FAULTS.values(), ids=list(FAULTS))
def test_a_fault_has_a_kind_and_is_one_try(client: str, does: Does, kind: str, retry_after: float | None) -> None:
    with ScriptedServer(always(does)) as server:
        with pytest.raises(Fault) as told:
            called(client, server)
        assert (told.value.kind, told.value.retry_after, told.value.sent) == (kind, retry_after, True)
        assert server.paths == [PATHS[client]]
        assert str(told.value) == kind
        assert told.value.__cause__ is None


def test_the_key_and_the_address_are_those_of_the_judges_file(client: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{library}_API_KEY", "another key")
        monkeypatch.setenv(f"{library}_BASE_URL", "http://127.0.0.1:1")
    with ScriptedServer(always(scores(1))) as server:
        called(client, server)
        assert server.keys == ["k"]
    own = PydanticAIClient("anthropic", None, "claude-haiku-4-5", "k")
    assert str(own._model.base_url).rstrip("/") == "https://api.anthropic.com"


SECRET = "what a run said"


def test_no_word_of_a_provider_stands_in_a_fault(client: str) -> None:
    with ScriptedServer(always(fails(400, "bad", message=f"cannot read {SECRET!r}"))) as server:
        with pytest.raises(Fault) as told:
            called(client, server)
        assert SECRET not in "".join(traceback.format_exception(told.value))


HANGS = Does(waits=threading.Event())
NO_TEMPERATURE = fails(400, "unsupported_value", message="Unsupported value: 'temperature' does not support 0")
SLOW: dict[str, tuple[tuple[Does, ...], int]] = {
    "it hangs": ((HANGS,), 1),
    "it drips": ((Does(200, b"x" * 1_000_000, drip=0.05),), 1),
    "it refuses a knob, then hangs": ((NO_TEMPERATURE, HANGS), 2),
}


@pytest.mark.parametrize(("does", "tries"), SLOW.values(), ids=list(SLOW))
def test_a_call_ends_in_its_time_whatever_the_endpoint_does(client: str, does: tuple[Does, ...], tries: int) -> None:
    """A library that counts each read anew waits for a drip for ever."""
    with ScriptedServer(one_after_another(*does)) as server:
        begun = time.monotonic()
        with pytest.raises(Fault) as told:
            called(client, server, within(2.0))
        # Far above the call's time, for a busy machine; a library's own retries or clocks would end after it or never.
        assert time.monotonic() - begun < 30
        assert told.value.kind == "timeout"
        assert len(server.asked) == tries


def test_an_endpoint_that_is_not_there_costs_nothing(client: str) -> None:
    with ScriptedServer(always(scores(1))) as server:
        gone = server
    with pytest.raises(Fault) as told:
        called(client, gone)
    assert (told.value.kind, told.value.sent) == ("connection", False)


REPLIES: dict[str, tuple[Does, str | None, str]] = {
    "a score": (scores(4), '{"reason": "because", "outcome": "graded", "score": 4}', "stop"),
    "cut off": (says("half of", finish="length"), "half of", "length"),
    "filtered": (says(None, finish="content_filter"), None, "filter"),
    "refused": (says(None, refusal="I will not"), None, "refusal"),
}


@pytest.mark.parametrize(("does", "text", "finish"), REPLIES.values(), ids=list(REPLIES))
def test_a_reply_tells_how_it_ended(client: str, does: Does, text: str | None, finish: str) -> None:
    with ScriptedServer(always(does)) as server:
        reply = called(client, server)
    if client == "anthropic" and finish == "filter":
        finish = "refusal"  # It has one word for both.
    assert (reply.text, reply.finish, reply.reported) == (text, finish, "scripted-1")
    assert reply.usage == Usage(100, 20, 30)


@pytest.mark.parametrize("client", ["openai", "pydantic-ai:openai"])
def test_without_a_count_there_is_no_usage(client: str) -> None:
    with ScriptedServer(always(says("x", usage=None))) as server:
        assert called(client, server).usage is None


def test_anthropics_replies_all_have_a_count() -> None:
    with ScriptedServer(always(says("x", usage=None))) as server:
        with pytest.raises(Fault) as told:
            called("anthropic", server)
        assert told.value.kind == "bad_body"


MODES: dict[str, Callable[[Any], bool]] = {
    "native_schema": lambda form: form["json_schema"]["schema"]["properties"]["score"]["maximum"] == 5,
    "json_object": lambda form: form == {"type": "json_object"},
    "prompt_only": lambda form: form is None,
}


@pytest.mark.parametrize("client", ["openai", "pydantic-ai:openai"])
@pytest.mark.parametrize(("mode", "holds"), MODES.items(), ids=list(MODES))
def test_the_form_of_an_answer_is_asked_for_as_the_endpoint_takes_it(
    client: str, mode: Any, holds: Callable[[Any], bool]
) -> None:
    with ScriptedServer(always(scores(4))) as server:
        called(client, server, Call(**{**vars(CALL), "mode": mode}))
        [asked] = server.asked
        assert holds(asked.get("response_format"))
        assert [message["content"] for message in asked["messages"]] == ["rules", "data"]


@pytest.mark.parametrize(("mode", "held"), [("native_schema", True), ("prompt_only", False)])
def test_anthropic_is_asked_for_the_form_of_an_answer_in_its_own_way(mode: Any, held: bool) -> None:
    with ScriptedServer(always(scores(4))) as server:
        called("anthropic", server, Call(**{**vars(CALL), "mode": mode}))
        [asked] = server.asked
        assert ("output_config" in asked) == held
        assert (asked["system"], asked["messages"][0]["content"][0]["text"]) == ("rules", "data")
        assert asked["max_tokens"] == 600


def test_a_knob_that_the_model_refuses_is_dropped_once_and_for_all(client: str) -> None:
    with ScriptedServer(one_after_another(NO_TEMPERATURE, scores(4))) as server:
        replies = calls(client, server, CALL, CALL)
        assert [reply.knobs for reply in replies] == [{"top_p": 1}, {"top_p": 1}]
        assert ["temperature" in body for body in server.asked] == [True, False, False]


def test_of_two_knobs_that_exclude_each_other_temperature_stays(client: str) -> None:
    either = fails(400, "bad", message="`temperature` and `top_p` cannot both be specified for this model.")
    with ScriptedServer(one_after_another(either, scores(4))) as server:
        assert called(client, server).knobs == {"temperature": 0}


def test_a_model_that_refuses_one_knob_after_another_is_asked_once_more_each_time(client: str) -> None:
    top_p = fails(400, "bad", message="Unsupported parameter: 'top_p'")
    with ScriptedServer(one_after_another(NO_TEMPERATURE, top_p, scores(4))) as server:

        async def go() -> tuple[Fault, Reply]:
            asking = CLIENTS[client](server.url)
            try:
                with pytest.raises(Fault) as told:
                    await asking.call(CALL)
                return told.value, await asking.call(CALL)
            finally:
                await asking.close()

        fault, reply = asyncio.run(go())
        assert (fault.kind, reply.knobs, len(server.asked)) == ("rejected", {}, 3)


def test_knobs_that_the_library_knows_a_model_to_refuse_were_not_sent() -> None:
    with ScriptedServer(always(scores(4))) as server:

        async def go(client: Client) -> Reply:
            try:
                return await client.call(CALL)
            finally:
                await client.close()

        for known in (
            PydanticAIClient("openai", server.url, "gpt-5-mini", "k"),
            PydanticAIClient("anthropic", server.url.removesuffix("/v1"), "claude-opus-5", "k"),
        ):
            assert asyncio.run(go(known)).knobs == {}
        assert [{"temperature", "top_p"} & set(body) for body in server.asked] == [set(), set()]


@pytest.mark.parametrize(
    ("url", "name"),
    [("https://api.openai.com/v1", "max_completion_tokens"), ("http://127.0.0.1:1/v1", "max_tokens")],
    ids=["OpenAI's own models", "a server of one's own"],
)
def test_the_longest_answer_goes_by_the_name_that_the_endpoint_takes(url: str, name: str) -> None:
    assert OpenAIClient(url, "m", "k")._limit == name
