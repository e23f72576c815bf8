"""What holds a judge model still: temperature 0 and top_p 1, each only where its provider takes it (R147, R148)."""

from collections.abc import Collection

PINS: dict[str, float] = {"temperature": 0, "top_p": 1}


def pinned(advertised: Collection[str]) -> dict[str, float]:
    """The knobs to send to a model that advertises these; with none, none. What was sent is recorded with each answer.

    >>> pinned(["temperature", "seed"])
    {'temperature': 0}
    """
    return {name: value for name, value in PINS.items() if name in advertised}
