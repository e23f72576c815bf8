"""Whether a text is JSON (RFC 8259), and where it stops being so."""

import json
import re
from string import ascii_letters, digits
from typing import NoReturn

from ..events import is_json

LEVELS = 200
"""How deep JSON may be nested, as in an event: the interpreter's own limit depends on who calls it."""

_BLANKS = " \t\r\n"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[{\]}]', re.DOTALL)


def fault(text: str) -> str | None:
    """Why a text is not JSON, with line and column; None if it is. Blanks around it do not matter.

    Any value counts, a number too. NaN and Infinity do not, nor does a value behind a byte order mark or in a code
    fence. Numbers may have any size, and keys may repeat.

    >>> fault(' {"a": [1e999]} '), fault('{"a": NaN}')
    (None, 'NaN is no JSON value')
    >>> fault('{"a" 1}')
    "expecting ':' delimiter at line 1, column 6"
    """
    if text.startswith("\ufeff"):
        return "it begins with a byte order mark (U+FEFF)"
    body = text.strip(_BLANKS)
    if not body:
        return "it is empty"
    if body.startswith("```"):
        return "it is a code fence"
    if body.count("[") + body.count("{") > LEVELS and _depth(body) > LEVELS:
        return f"it is nested deeper than {LEVELS} levels"
    return None if is_json(text) else _told(text)


def unfenced(text: str) -> str:
    """What stands in the code fence that a text begins with; a text that begins with none is left as it is.

    >>> unfenced('```json\\n{"a": 1}\\n```'), unfenced('{"md": "```"}')
    ('{"a": 1}', '{"md": "```"}')
    """
    body = text.strip()
    if not body.startswith("```"):
        return text
    return body[3:].lstrip(ascii_letters + digits).removesuffix("```").strip()


def _depth(text: str) -> int:
    depth = deepest = 0
    for token in _TOKEN.finditer(text):
        if token[0] in ("[", "{"):
            depth += 1
            deepest = max(deepest, depth)
        elif token[0] in ("]", "}"):
            depth -= 1
    return deepest


def _told(text: str) -> str | None:
    try:
        _STRICT.decode(text)
    except json.JSONDecodeError as error:
        what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        return f"{what} at line {error.lineno}, column {error.colno}"
    except ValueError as error:
        return str(error)
    return None


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _unread(_: str) -> None:
    """Numbers are not worked out: Python refuses to make an int of 5,000 digits, and JSON allows them."""


_STRICT = json.JSONDecoder(parse_constant=_refused, parse_int=_unread, parse_float=_unread)
