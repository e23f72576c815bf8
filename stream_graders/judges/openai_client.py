"""Judges behind any endpoint that speaks OpenAI's chat completions: OpenAI itself, vLLM, Ollama, llama.cpp."""

from typing import Any
from urllib.parse import urlsplit

import openai
from openai import AsyncOpenAI

from .calls import Call, Fault, Kind, Reply, Usage
from .knobs import Learnt, refused

_FINISHES = {"stop": "stop", "length": "length", "content_filter": "filter"}
_CONNECT = 5.0


class OpenAIClient:
    """One model of one endpoint. The library's own retries are off: a retry that nobody counts breaks every budget."""

    def __init__(self, base_url: str, model: str, key: str) -> None:
        self._model = model
        self._client = AsyncOpenAI(base_url=base_url, api_key=key or "none", max_retries=0)
        # Its newer models refuse the older name; many servers of others know no other.
        self._limit = "max_completion_tokens" if urlsplit(base_url).hostname == "api.openai.com" else "max_tokens"
        self._learnt = Learnt()

    async def call(self, call: Call) -> Reply:
        return await self._learnt.call(call, self._once)

    async def close(self) -> None:
        await self._client.close()

    async def _once(self, call: Call, knobs: dict[str, float]) -> Reply:
        forms: dict[str, Any] = {
            "native_schema": {"type": "json_schema", "json_schema": {"name": "verdict", "schema": call.schema}},
            "json_object": {"type": "json_object"},
        }
        form = {"response_format": forms[call.mode]} if call.mode in forms else {}
        create: Any = self._client.chat.completions.create
        try:
            told = await create(
                model=self._model,
                messages=[{"role": "system", "content": call.system}, {"role": "user", "content": call.user}],
                timeout=openai.Timeout(call.timeout, connect=min(_CONNECT, call.timeout)),
                **{self._limit: call.max_output_tokens},
                **form,
                **knobs,
            )
            return _reply(told, knobs)
        except openai.BadRequestError as error:
            raise Fault(_of_status(error), refuses=refused(str(error), knobs)) from None
        except (openai.OpenAIError, AttributeError, TypeError, ValueError, IndexError) as error:
            raise _fault(error) from None


def _reply(told: Any, knobs: dict[str, float]) -> Reply:
    choice = told.choices[0]
    message = choice.message
    refusal = getattr(message, "refusal", None)
    finish = "refusal" if refusal else _FINISHES.get(str(choice.finish_reason), "other")
    usage = None
    if told.usage is not None:
        details = getattr(told.usage, "prompt_tokens_details", None)
        cached = getattr(details, "cached_tokens", None) or 0
        usage = Usage(int(told.usage.prompt_tokens), int(told.usage.completion_tokens), int(cached))
    text = message.content
    if text is not None and not isinstance(text, str):
        raise TypeError("the content is no text")
    return Reply(text, finish, usage, str(told.model or ""), knobs)


def _fault(error: Exception) -> Fault:
    """The kind of an exception of the library's, or of what its reading of a strange body raised."""
    if isinstance(error, openai.APITimeoutError):
        return Fault("timeout")
    if isinstance(error, openai.APIConnectionError):
        cause = str(error.__cause__ or "")
        return Fault("connection", sent="onnect" not in cause and "refused" not in cause)
    if isinstance(error, openai.APIStatusError):
        return Fault(_of_status(error), retry_after=_wait(error))
    return Fault("bad_body")


def _of_status(error: openai.APIStatusError) -> Kind:
    code = str(error.code or "")
    if error.status_code == 429:
        return "quota" if code == "insufficient_quota" or "quota" in str(error).lower() else "rate_limited"
    if error.status_code in (401, 403):
        return "auth"
    if error.status_code in (503, 529):
        return "overloaded"
    if error.status_code == 408:
        return "timeout"
    if error.status_code >= 500:
        return "server"
    return "context" if "context_length" in code or "context length" in str(error).lower() else "rejected"


def _wait(error: openai.APIStatusError) -> float | None:
    try:
        return max(0.0, float(error.response.headers["retry-after"]))
    except (KeyError, ValueError):
        return None
