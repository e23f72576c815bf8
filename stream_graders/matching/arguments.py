"""The arguments of a call, as graders compare them."""

from decimal import Decimal, InvalidOperation
from typing import Any

from ..events import UNSENT, ToolCall, from_json


def arguments(call: ToolCall) -> Any:
    """A call's arguments: a text that parses to an object is that object. `UNSENT` where none were sent."""
    args = call.args if call.args is not UNSENT or call.args_raw is None else call.args_raw
    if not isinstance(args, str) or args.lstrip()[:1] != "{":
        return args
    try:
        value = from_json(args)
    except (ValueError, RecursionError):
        return args
    return value if isinstance(value, dict) else args


DIGITS = 400
"""Characters that a text may have to be compared as a number: working out longer ones is no longer linear."""


def holds(value: Any, asked: Any) -> bool:
    """Does a value hold what is asked of it? Of an object the keys that are named, a list whole, in its order.

    Numbers and the texts that spell them are equal, whatever their size; true and false are equal to nothing else, and
    null is not a missing key.

    >>> holds({"n": 12, "who": {"seat": "12A", "name": "x"}}, {"n": "12.0", "who": {"seat": "12A"}})
    True
    >>> holds({"on": 1}, {"on": True}), holds({}, {"on": None}), holds([1, 2], [1])
    (False, False, False)
    """
    if isinstance(asked, dict):
        return isinstance(value, dict) and all(key in value and holds(value[key], asked[key]) for key in asked)
    if isinstance(asked, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(asked)
            and all(holds(one, other) for one, other in zip(value, asked, strict=True))
        )
    if isinstance(asked, bool) or isinstance(value, bool) or asked is None or value is None:
        return asked is value
    if isinstance(asked, str) and isinstance(value, int | float):
        return _spells(asked, value)
    if isinstance(value, str) and isinstance(asked, int | float):
        return _spells(value, asked)
    return bool(asked == value)


def _spells(text: str, number: int | float) -> bool:
    if len(text) > DIGITS or "_" in text:
        return False
    try:
        # As a float where it is compared with one: the text 0.1 is no float exactly.
        return float(text) == number if isinstance(number, float) else Decimal(text) == number
    except (ValueError, InvalidOperation):
        return False
