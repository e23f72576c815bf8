"""The arguments of a call, as graders compare them."""

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
