"""Judges whose providers have a form of their own, through pydantic-ai: Anthropic, and OpenAI's form once more.

Only ``direct`` is used, never an agent: that would ask again by itself, outside of every budget, and make a 4 of "4".
"""

import json
import warnings
from contextvars import ContextVar
from typing import Any, Literal

import httpx2
from pydantic_ai import direct, exceptions
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings

from .calls import Call, Fault, Kind, Reply, Usage
from .knobs import PINS, Learnt, refused

_FINISHES = {"stop": "stop", "length": "length", "content_filter": "filter"}
_KINDS: tuple[tuple[type[exceptions.ModelAPIError], Kind], ...] = (
    (exceptions.ModelRateLimitError, "rate_limited"),
    (exceptions.ModelQuotaExceededError, "quota"),
    (exceptions.ModelUnavailableError, "overloaded"),
    (exceptions.ModelServerError, "server"),
    (exceptions.ModelTimeoutError, "timeout"),
    (exceptions.ModelRequestTimeout, "timeout"),
    (exceptions.ModelConnectionError, "connection"),
    (exceptions.ModelContextWindowExceededError, "context"),
    (exceptions.ModelAuthenticationError, "auth"),
    (exceptions.ModelRequestRejectedError, "rejected"),
    (exceptions.ModelHTTPError, "rejected"),
)
"""The first that fits counts."""
_UNSENT = ("pool", "connect")
"""The phases of a connection in which a request has certainly reached nobody."""

_sent: ContextVar[dict[str, float]] = ContextVar("_sent")
"""The knobs that stand in the request that is on its way: the library leaves out what it knows a model to refuse."""


class NoSchemaError(ValueError):
    """The model cannot be held to a schema, as far as the library knows."""


class PydanticAIClient:
    """One model of one provider. The library's own retries are off."""

    def __init__(self, form: Literal["openai", "anthropic"], base_url: str | None, model: str, key: str) -> None:
        """What speaks a provider's form to an address, without one to the provider's own."""
        # Which knobs were left out is read from the request itself; the library would say it once more on our output.
        warnings.filterwarnings("ignore", r"Sampling parameters ", UserWarning)
        self._http = httpx2.AsyncClient(event_hooks={"request": [_look]})
        self._model = _model_of(form, base_url, model, key or "none", self._http)
        self._learnt = Learnt()

    def check(self, mode: str) -> None:
        """See that the model takes the form of answers that is asked for.

        Raises:
            NoSchemaError: it does not.
        """
        if mode == "native_schema" and not self._model.profile.get("supports_json_schema_output", False):
            raise NoSchemaError(self._model.model_name)

    async def call(self, call: Call) -> Reply:
        return await self._learnt.call(call, self._once)

    async def close(self) -> None:
        await self._http.aclose()

    async def _once(self, call: Call, knobs: dict[str, float]) -> Reply:
        settings = ModelSettings(max_tokens=call.max_output_tokens, max_retries=0, timeout=call.timeout)
        if "temperature" in knobs:
            settings["temperature"] = knobs["temperature"]
        if "top_p" in knobs:
            settings["top_p"] = knobs["top_p"]
        sent: dict[str, float] = {}
        _sent.set(sent)
        try:
            told = await direct.model_request(
                self._model,
                [ModelRequest(parts=[SystemPromptPart(call.system), UserPromptPart(call.user)])],
                model_settings=settings,
                model_request_parameters=_form(call),
                instrument=False,
            )
        except exceptions.ModelAPIError as error:
            raise _fault(error, sent) from None
        except exceptions.UserError:
            raise Fault("rejected", sent=False) from None  # The library itself holds the request to be impossible.
        except Exception:  # noqa: BLE001  (a strange body makes the library raise AttributeError, TypeError and others)
            raise Fault("bad_body") from None
        return _reply(told, sent)


def _model_of(form: str, base_url: str | None, model: str, key: str, http: httpx2.AsyncClient) -> Model:
    # Imported where it is used: each brings its provider's library, and that of the other may not be installed.
    if form == "openai":
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIChatModel(model, provider=OpenAIProvider(base_url=base_url, api_key=key, http_client=http))
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    return AnthropicModel(model, provider=AnthropicProvider(base_url=base_url, api_key=key, http_client=http))


def _form(call: Call) -> ModelRequestParameters:
    """How the provider is to hold the model to the form of an answer. No prompt is added: ours says it already."""
    if call.mode == "prompt_only":
        return ModelRequestParameters()
    return ModelRequestParameters(
        output_mode="native" if call.mode == "native_schema" else "prompted",
        output_object=OutputObjectDefinition(json_schema=call.schema, name="verdict"),
        prompted_output_template=False,
    )


async def _look(request: httpx2.Request) -> None:
    body = json.loads(request.content)
    _sent.get().update({name: body[name] for name in PINS if name in body})


def _reply(told: ModelResponse, sent: dict[str, float]) -> Reply:
    details: dict[str, Any] = told.provider_details or {}
    refusal = "refusal" in details or details.get("finish_reason") == "refusal"
    finish = "refusal" if refusal else _FINISHES.get(told.finish_reason or "", "other")
    texts = [part.content for part in told.parts if isinstance(part, TextPart)]
    if not all(isinstance(text, str) for text in texts):  # Bodies are not checked by every provider's library.
        raise Fault("bad_body")
    usage = None
    if told.usage.input_tokens or told.usage.output_tokens:  # Without a count it says 0, which would be free.
        usage = Usage(told.usage.input_tokens, told.usage.output_tokens, told.usage.cache_read_tokens)
    return Reply("".join(texts) if texts else None, finish, usage, told.model_name or "", sent)


def _fault(error: exceptions.ModelAPIError, sent: dict[str, float]) -> Fault:
    kind: Kind = next((kind for cause, kind in _KINDS if isinstance(error, cause)), "bad_body")
    if isinstance(error, exceptions.ModelHTTPError) and kind == "rejected" and error.status_code == 413:
        kind = "context"
    reached = not (isinstance(error, exceptions.ModelConnectionError) and error.phase in _UNSENT)
    refuses = refused(str(error), sent) if getattr(error, "status_code", None) == 400 else ()
    return Fault(kind, retry_after=error.retry_after, sent=reached, refuses=refuses)
