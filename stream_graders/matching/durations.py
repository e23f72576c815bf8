"""Durations as people write them: ``30s``, ``15m``."""

import re
from typing import Any

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_FORM = re.compile(r"([0-9]+)\s*(ms|s|m|h|d)")


def milliseconds(value: Any) -> int:
    """A duration in milliseconds.

    Raises:
        ValueError: the value is none.

    >>> milliseconds("15m")
    900000
    """
    match = _FORM.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"{value!r} is no duration; write 30s, 15m, 24h or 7d")
    return int(match[1]) * _UNITS[match[2]]
