"""Which recorded names a configured name stands for."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache

NAME = 512
"""Characters of a name whose answers are remembered: as many as a call may name its tool with."""


def is_tool_or_member(recorded: str, configured: str) -> bool:
    """Equal, or in the namespace of the configured name: the rule of the echo grader (R5, R6), case-sensitive.

    >>> is_tool_or_member("depot.find", "depot"), is_tool_or_member("depots.find", "depot")
    (True, False)
    """
    return recorded == configured or recorded.startswith(configured + ".")


def fits(recorded: str, pattern: str) -> bool:
    """Does a name fit a pattern? ``*`` stands for any characters, and nothing else for anything but itself.

    >>> fits("payments.refund", "payments.*"), fits("payments", "payments.*"), fits("pay", "pa?")
    (True, False, False)
    """
    if "*" not in pattern:
        return recorded == pattern
    # A result may name its tool at any length, and such names are not worth remembering.
    return _fits(recorded, pattern) if len(recorded) <= NAME else _fits.__wrapped__(recorded, pattern)


def fits_any(recorded: str, patterns: Iterable[str]) -> bool:
    """Does a name fit one of these patterns?"""
    asked = tuple(patterns)
    return _fits_any(recorded, asked) if len(recorded) <= NAME else _fits_any.__wrapped__(recorded, asked)


@lru_cache(4_096)
def _fits_any(recorded: str, patterns: tuple[str, ...]) -> bool:
    return any(fits(recorded, pattern) for pattern in patterns)


@lru_cache(4_096)  # Agents call the same few tools again and again, and checks ask of each with the same few patterns.
def _fits(recorded: str, pattern: str) -> bool:
    return fnmatchcase(recorded, pattern.replace("[", "[[]").replace("?", "[?]"))


def listed(names: list[str], limit: int = 20) -> str:
    """Names for a sentence, the tail counted."""
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f", … ({rest} more)" if rest > 0 else "")
