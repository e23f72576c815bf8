"""The arguments of a tool call: read once in one way, whatever form they were sent in."""

from base64 import urlsafe_b64encode
from decimal import Decimal, InvalidOperation
from hashlib import blake2b
from typing import Any, NamedTuple

from ..events import UNSENT, ToolCall, canonical_json, from_json


class Arguments(NamedTuple):
    """What a call was made with.

    ``values`` is None where no object can be read; ``fault`` then says why. ``hidden`` tells that the sender left
    something out, so that the fault, or what the values lack, says nothing of the agent.
    """

    values: dict[str, Any] | None
    fault: str = ""
    hidden: bool = False


def arguments_of(event: ToolCall) -> Arguments:
    """The arguments of a call. Text that parses to an object is that object; null is no arguments (design 6).

    >>> from stream_graders.testing import run
    >>> [arguments_of(call).fault for call in run().calls("f", '{"a": 1}').calls("f", '{"a": ').calls("f", [1])]
    ['', 'are no JSON object: they end or break off in the middle', 'are a list, not an object']
    """
    hidden = bool(event.flags) and ("truncated" in event.flags or "content_missing" in event.flags)
    value = event.args
    if value is UNSENT and event.args_raw is not None:
        value = event.args_raw
    if isinstance(value, dict):
        return Arguments(value, hidden=hidden)
    if value is UNSENT:
        return Arguments(None, "were not sent", hidden=True)
    if isinstance(value, str):
        if not value.strip():
            return Arguments({}, hidden=hidden)
        try:
            value = from_json(value)
        except (ValueError, RecursionError):
            return Arguments(None, "are no JSON object: they end or break off in the middle", hidden)
        if isinstance(value, dict):
            return Arguments(value, hidden=hidden)
    if value is None:
        return Arguments({}, hidden=hidden)
    kind = "a list" if isinstance(value, list) else "a single value"
    return Arguments(None, f"are {kind}, not an object", hidden)


def digest(data: bytes) -> str:
    """60 bits that stand for the data in state, as ten characters; not `hash`, which differs from process to process.

    Among a thousand, two that differ are taken for the same once in a million million.
    """
    return urlsafe_b64encode(blake2b(data, digest_size=8).digest()).decode()[:10]


def call_digest(event: ToolCall) -> str | None:
    """Stands for the tool and its arguments, whatever the order of their names; None where they were not all sent."""
    value = event.args
    if value.__class__ is not dict or event.flags:
        read = arguments_of(event)
        if read.hidden:
            return None
        value = (event.args_raw if event.args is UNSENT else event.args) if read.values is None else read.values
    return digest(event.name.encode("utf-8", "surrogatepass") + b"\0" + canonical_json(value))


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
