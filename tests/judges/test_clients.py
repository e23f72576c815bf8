"""What each fault of an endpoint is to a client: its kind, one try, within the time of the call (judges.md 1.2)."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from stream_graders.judges.calls import Call, Fault, Reply
from stream_graders.judges.openai_client import OpenAIClient
from stream_graders.judges.prompts import schema
from tests.judges.server import Does, ScriptedServer, always, fails, one_after_another, says, scores

CALL = Call("rules", "data", schema((0, 5)), "native_schema", 600, 2.0, {"temperature": 0, "top_p": 1})


def called(server: ScriptedServer, call: Call = CALL) -> Reply:
    async def go() -> Reply:
        client = OpenAIClient(server.url, "m", "k")
        try:
            return await client.call(call)
        finally:
            await client.close()

    return asyncio.run(go())


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
    "content that is no text": (Does(200, {**says("x").body, "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": {"a": 1}}}]}), "bad_body", None),  # type: ignore[dict-item]
}  # fmt: skip


@pytest.mark.parametrize(("does", "kind", "retry_after"), FAULTS.values(), ids=list(FAULTS))
def test_a_fault_has_a_kind_and_is_one_try(does: Does, kind: str, retry_after: float | None) -> None:
    with ScriptedServer(always(does)) as server:
        with pytest.raises(Fault) as told:
            called(server)
        assert (told.value.kind, told.value.retry_after, told.value.sent) == (kind, retry_after, True)
        assert len(server.asked) == 1


@pytest.mark.parametrize(
    "does",
    [Does(waits=threading.Event()), Does(200, b"x" * 1_000_000, drip=0.05)],
    ids=["it hangs", "it drips"],
)
def test_a_call_ends_in_its_time_whatever_the_endpoint_does(does: Does) -> None:
    """A library that counts each read anew waits for a drip for ever."""
    with ScriptedServer(always(does)) as server:
        with pytest.raises(Fault) as told:
            called(server, Call(**{**vars(CALL), "timeout": 0.5}))
        assert told.value.kind == "timeout"
        assert len(server.asked) == 1


def test_an_endpoint_that_is_not_there_costs_nothing() -> None:
    with ScriptedServer(always(scores(1))) as server:
        gone = server
    with pytest.raises(Fault) as told:
        called(gone)
    assert (told.value.kind, told.value.sent) == ("connection", False)


@pytest.mark.parametrize(
    ("does", "text", "finish"),
    [
        (scores(4), '{"reason": "because", "outcome": "graded", "score": 4}', "stop"),
        (says("half of", finish="length"), "half of", "length"),
        (says(None, finish="content_filter"), None, "filter"),
        (says(None, refusal="I will not"), None, "refusal"),
    ],
    ids=["a score", "cut off", "filtered", "refused"],
)
def test_a_reply_tells_how_it_ended(does: Does, text: str | None, finish: str) -> None:
    with ScriptedServer(always(does)) as server:
        reply = called(server)
    assert (reply.text, reply.finish, reply.reported) == (text, finish, "scripted-1")
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output) == (100, 20)


def test_without_a_count_there_is_no_usage() -> None:
    with ScriptedServer(always(says("x", usage=None))) as server:
        assert called(server).usage is None


MODES: dict[str, Callable[[Any], bool]] = {
    "native_schema": lambda form: form["json_schema"]["schema"]["properties"]["score"]["maximum"] == 5,
    "json_object": lambda form: form == {"type": "json_object"},
    "prompt_only": lambda form: form is None,
}


@pytest.mark.parametrize(("mode", "holds"), MODES.items(), ids=list(MODES))
def test_the_form_of_an_answer_is_asked_for_as_the_endpoint_takes_it(mode: Any, holds: Callable[[Any], bool]) -> None:
    with ScriptedServer(always(scores(4))) as server:
        called(server, Call(**{**vars(CALL), "mode": mode}))
        assert holds(server.asked[0].get("response_format"))


def test_a_knob_that_the_model_refuses_is_dropped_once_and_for_all() -> None:
    refusal = fails(400, "unsupported_value", message="Unsupported value: 'temperature' does not support 0")
    with ScriptedServer(one_after_another(refusal, scores(4))) as server:

        async def twice() -> list[Reply]:
            client = OpenAIClient(server.url, "m", "")
            try:
                return [await client.call(CALL), await client.call(CALL)]
            finally:
                await client.close()

        replies = asyncio.run(twice())
        assert [reply.knobs for reply in replies] == [{"top_p": 1}, {"top_p": 1}]
        assert ["temperature" in body for body in server.asked] == [True, False, False]
