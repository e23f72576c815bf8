"""What a judge model is asked and what comes back: the one form behind which providers' clients stand."""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Mode = Literal["native_schema", "json_object", "prompt_only"]
"""How an endpoint holds a model to the form of an answer; whatever it promises, the reply is read strictly."""
Kind = Literal[
    "rate_limited", "overloaded", "timeout", "connection", "server", "quota", "auth", "rejected", "context", "bad_body"
]
RETRIED: tuple[Kind, ...] = ("rate_limited", "overloaded", "timeout", "connection", "server")
"""Faults that may be over at the next try."""
FATAL: tuple[Kind, ...] = ("quota", "auth")
"""Faults that no try mends: the provider is left alone at once."""


@dataclass(frozen=True)
class Call:
    """One call of a model."""

    system: str
    user: str
    schema: dict[str, Any]
    mode: Mode
    max_output_tokens: int
    timeout: float
    """Seconds for the whole call."""
    knobs: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Usage:
    """Tokens that a provider counted."""

    input: int
    output: int
    cached: int = 0


@dataclass(frozen=True)
class Reply:
    """What a model said."""

    text: str | None
    finish: str
    """``stop``, ``length``, ``filter``, ``refusal`` or ``other``."""
    usage: Usage | None
    reported: str
    """The model as the provider names it."""
    knobs: dict[str, float]
    """The knobs that were sent in the end."""


class Fault(Exception):  # noqa: N818  (a fault of the provider's, of which most are retried: no error of ours)
    """A call that gave no reply. It repeats no word of the provider's: that may quote the run."""

    def __init__(
        self, kind: Kind, *, retry_after: float | None = None, sent: bool = True, refuses: tuple[str, ...] = ()
    ) -> None:
        super().__init__(kind)
        self.kind: Kind = kind
        self.retry_after = retry_after
        """Seconds that the provider asks to wait."""
        self.sent = sent
        """False if the request certainly never reached the provider, so that it costs nothing."""
        self.refuses = refuses
        """The knobs that the model does not take, if that is why."""


class Client(Protocol):
    """Calls the models of one provider."""

    async def call(self, call: Call) -> Reply:
        """One try, without retries but for one without the knobs that the model refuses.

        Raises:
            Fault: no reply came.
        """

    async def close(self) -> None:
        """Give back its connections."""
