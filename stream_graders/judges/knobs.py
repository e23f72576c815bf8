"""What holds a judge model still: temperature 0 and top_p 1, each only where its provider takes it (R147, R148)."""

import asyncio
from collections.abc import Awaitable, Callable, Collection

from .calls import Call, Fault, Reply

PINS: dict[str, float] = {"temperature": 0, "top_p": 1}


def pinned(advertised: Collection[str]) -> dict[str, float]:
    """The knobs to send to a model that advertises these; with none, none. What was sent is recorded with each answer.

    >>> pinned(["temperature", "seed"])
    {'temperature': 0}
    """
    return {name: value for name, value in PINS.items() if name in advertised}


def refused(told: str, sent: Collection[str]) -> tuple[str, ...]:
    """Those of the sent knobs that a refusal names. Where a model takes either and not both, temperature stays.

    >>> refused("Unsupported value: 'temperature' does not support 0", ["temperature", "top_p"])
    ('temperature',)
    >>> refused("`temperature` and `top_p` cannot both be specified", ["temperature", "top_p"])
    ('top_p',)
    """
    named = tuple(name for name in sent if name in told)
    return tuple(name for name in named if name != "temperature") if len(named) > 1 and "both" in told else named


class Learnt:
    """The knobs that a model has turned out not to take."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    async def call(self, call: Call, once: Callable[[Call, dict[str, float]], Awaitable[Reply]]) -> Reply:
        """One request, and one more if the model refuses a knob, which is then left out for good; both in the call's time.

        Raises:
            Fault: no reply came.
        """
        try:
            # The libraries' own clocks start anew at each read.
            async with asyncio.timeout(call.timeout):
                try:
                    return await once(call, self._left(call))
                except Fault as fault:
                    if not fault.refuses:
                        raise
                    self._refused.update(fault.refuses)
                try:
                    return await once(call, self._left(call))
                except Fault as fault:
                    self._refused.update(fault.refuses)  # Of use to the next call.
                    raise
        except TimeoutError:
            raise Fault("timeout") from None

    def _left(self, call: Call) -> dict[str, float]:
        return {name: value for name, value in call.knobs.items() if name not in self._refused}
