"""The judge worker's own file: which models there are under which names, what they cost, and what may be spent."""

import os
import re
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from ..matching.durations import milliseconds
from ..matching.paths import parse
from ..security import SecurityError, secret_of
from .calls import Mode

Seconds = Annotated[float, BeforeValidator(lambda value: milliseconds(value) / 1000)]
Positive = Annotated[int, Field(gt=0)]
PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
"""Where a probe's path takes something from the assertion."""


class JudgesError(ValueError):
    """A file that cannot be used; the message names every problem, one a line."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Prices(_Model):
    """What tokens cost, in dollars a million, and since when that is so: the name travels with each answer."""

    version: str
    input: Annotated[float, Field(ge=0)]
    output: Annotated[float, Field(ge=0)]
    cached_input: Annotated[float, Field(ge=0)] | None = None

    def micro_usd(self, fresh: int, output: int, cached: int = 0) -> int:
        """Millionths of a dollar for so many tokens, rounded upwards: never less than the bill.

        >>> Prices(version="2026-11", input=0.15, output=0.6).micro_usd(1_000, 100)
        210
        """
        of_cached = self.input if self.cached_input is None else self.cached_input
        parts = ((self.input, fresh), (of_cached, cached), (self.output, output))
        total = sum((Decimal(str(price)) * tokens for price, tokens in parts), Decimal(0))
        return int(total.to_integral_value("ROUND_CEILING"))


class Limits(_Model):
    """What may be spent; of several the first that is reached counts."""

    usd_a_day: Annotated[float, Field(gt=0)] | None = None
    usd_an_hour: Annotated[float, Field(gt=0)] | None = None
    tokens_a_day: Positive | None = None
    calls_a_day: Positive | None = None

    def of(self, window: Literal["day", "hour"]) -> dict[str, int]:
        """The limits of a window: ``micro_usd``, ``tokens``, ``calls``."""
        usd = self.usd_a_day if window == "day" else self.usd_an_hour
        told = {"micro_usd": None if usd is None else int(Decimal(str(usd)) * 1_000_000)}
        if window == "day":
            told |= {"tokens": self.tokens_a_day, "calls": self.calls_a_day}
        return {name: value for name, value in told.items() if value is not None}


class ModelSettings(_Model):
    """One judge."""

    model: str
    provider: Literal["openai", "anthropic", "pydantic-ai:openai"] = "openai"
    """Whose form is spoken to it, and where there is a choice, through which library."""
    base_url: str | None = None
    """Its address. Only Anthropic has one of its own: OpenAI's form is spoken by many, and what was meant for a server of
    one's own must not go to a provider because a line was forgotten."""
    key_variable: str | None = None
    """The environment variable that holds its key, or with ``_FILE`` behind its name the file of the key: none stands in this one."""
    mode: Mode = "native_schema"
    knobs: list[Literal["temperature", "top_p"]] = ["temperature", "top_p"]
    """Those that it advertises; they are pinned."""
    max_output_tokens: Positive = 600
    timeout: Seconds = 30.0
    at_once: Positive = 4
    """Calls that may be under way together."""
    requests_per_minute: Positive = 600
    tokens_per_minute: Positive = 1_000_000
    prices: Prices | None = None
    limits: Limits = Limits()
    calibrations: list[str] = []
    """Files that ``judge calibrate --output`` wrote, from the folder of this one on."""

    @model_validator(mode="after")
    def _provider_can(self) -> Self:
        if self.base_url is None and self.provider != "anthropic":
            raise ValueError("has no base_url: name the address of its endpoint")
        if self.mode == "json_object" and self.provider == "anthropic":
            raise ValueError("Anthropic has no json_object: set mode to native_schema or prompt_only")
        return self


class KindSettings(_Model):
    """How assertions of one kind are looked at: GET, and nothing else."""

    path: str
    """Where, under the target's ``base_url``; ``{name}`` stands for what the assertion gives under that name."""
    field: str | None = None
    """Where the value lies in the JSON that comes back; without it the value is whether the thing is there."""

    @field_validator("path")
    @classmethod
    def _is_path(cls, value: str) -> str:
        if not value.startswith("/") or set(PLACE.sub("", value)) & set("{}#") or ".." in value:
            raise ValueError("should be a path like /orders/{order}, without .. and with names in the braces")
        return value

    @field_validator("field")
    @classmethod
    def _is_field(cls, value: str | None) -> str | None:
        if value is not None:
            parse(value)
        return value


class ProbeSettings(_Model):
    """A system whose state may be looked at. What is not listed here is not asked."""

    base_url: Annotated[str, Field(pattern=r"^https?://[^/?#\s@]+(/[^?#\s]*)?$")]
    key_variable: str | None = None
    """The environment variable that holds what is sent as bearer token."""
    timeout: Seconds = 5.0
    """Of one look."""
    at_once: Positive = 4
    """Looks that may be under way together."""
    kinds: Annotated[dict[str, KindSettings], Field(min_length=1)]


class JudgesFile(_Model):
    """The whole file."""

    models: dict[str, ModelSettings] = {}
    probes: dict[str, ProbeSettings] = {}
    """By the name of the target."""
    limits: Limits = Limits()
    """Of all models together."""
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """The part of each limit that this process may use: workers that share no folder divide it among them."""
    folder: str | None = None
    """Where answers are cached and what was spent is kept. Workers of one machine may share it."""
    prescreen: Literal["minilm"] | None = None
    """What looks at questions that come with a source before they are asked: it gives an order and a note, never a score."""
    cache_days: Annotated[int, Field(ge=0)] = 30

    @model_validator(mode="after")
    def _asks_somebody(self) -> Self:
        if not self.models and not self.probes:
            raise ValueError("should have one of models and probes: there is nobody to ask")
        return self

    @model_validator(mode="after")
    def _prices_are_known(self) -> Self:
        in_usd = self.limits.usd_a_day is not None or self.limits.usd_an_hour is not None
        for name, model in self.models.items():
            own = model.limits.usd_a_day is not None or model.limits.usd_an_hour is not None
            if model.prices is None and (in_usd or own):
                raise ValueError(
                    f"models.{name} has no prices, and limits are in dollars: add `prices`, or limit tokens or calls"
                )
        return self


def load(path: Path) -> JudgesFile:
    """The settings of a file.

    Raises:
        JudgesError: it cannot be used.
    """
    try:
        file = JudgesFile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise JudgesError(f"{path}: {error.strerror}; name the judges' file with --judges") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise JudgesError(f"{path.name}: is no YAML: {' '.join(str(error).split())[:200]}") from error
    except ValidationError as error:
        told = [f"{path.name}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        told = [line.replace(": : ", ": ").replace(": Value error, ", ": ") for line in told]
        raise JudgesError("\n".join(told)) from error
    models = {
        name: model.model_copy(update={"calibrations": [str(path.parent / each) for each in model.calibrations]})
        for name, model in file.models.items()
    }
    return file.model_copy(update={"models": models})


def key_of(variable: str | None, place: str, environment: Mapping[str, str] = os.environ) -> str:
    """The key of what stands at a place of the file, from the environment or the file that it names; empty where it needs none.

    Raises:
        JudgesError: neither variable is set, or the file holds no key.
    """
    if variable is None:
        return ""
    try:
        key = secret_of(variable, environment)
    except SecurityError as error:
        raise JudgesError(f"{place}: {error}") from None
    if not key:
        of_file = f"{variable}_FILE"
        told = (
            f"{of_file}: {path} is empty"
            if (path := environment.get(of_file))
            else f"the variable {variable} is not set"
        )
        raise JudgesError(f"{place}: {told}; it holds the key")
    return key


def client_of(model: ModelSettings, name: str) -> Any:
    """What calls a model.

    Raises:
        JudgesError: its key is not set, its library is not installed, or it takes no schema and is to be held to one.
    """
    key = key_of(model.key_variable, f"models.{name}")
    try:
        if model.provider == "openai":
            from .openai_client import OpenAIClient

            return OpenAIClient(model.base_url or "", model.model, key)
    except ImportError as error:
        raise JudgesError(
            f"models.{name}: {error.name} is not installed; pip install 'stream-graders[judges]'"
        ) from error
    try:
        from .pydantic_ai_client import NoSchemaError, PydanticAIClient

        client = PydanticAIClient(
            "anthropic" if model.provider == "anthropic" else "openai", model.base_url, model.model, key
        )
    except ImportError as error:
        raise JudgesError(
            f"models.{name}: {error.name} is not installed; pip install 'stream-graders[judges-providers]'"
        ) from error
    try:
        client.check(model.mode)
    except NoSchemaError as error:
        raise JudgesError(f"models.{name}: {error} takes no schema; set mode to prompt_only") from error
    return client
