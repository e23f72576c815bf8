"""Any value to one that JSON can hold. Nothing raises; what could not be kept as it is, is told."""

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from msgspec import Struct, structs, to_builtins

from ..events import compact

DEEPEST = 100
"""Levels of nesting; readers refuse records deeper than 200."""
MOST = 50_000
"""Values in one event; the rest is left out."""
LONGEST = 1_000_000
"""Characters of one text; an event takes less anyway."""
REPR = 10_000
"""Characters of a value that is told by its repr."""

_AS_TEXT = (UUID, Decimal, PurePath)
_TIMES = (datetime, date, time, timedelta)


class Plain:
    """Makes the values of one event plain."""

    def __init__(self) -> None:
        self.unserialisable = False
        """A value could not be kept and stands there as its repr."""
        self.truncated = False
        """Something was left out for its length."""
        self._left = MOST

    def __call__(self, value: Any, depth: int = 0) -> Any:
        """The plain form of a value."""
        self._left -= 1
        if value is None or value is True or value is False:
            return value
        if depth > DEEPEST or self._left < 0:
            self.truncated = True
            return "…"
        try:
            return self._convert(value, depth)
        except Exception:  # noqa: BLE001  (it may be any object, and any of its methods may raise)
            return self._repr(value)

    def text(self, value: Any) -> str:
        """The plain form of a value as one text: JSON where it is none."""
        plain = self(value)
        return plain if isinstance(plain, str) else compact(plain)

    def _convert(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value)
        if kind is int:
            return value if value.bit_length() <= 1024 else self._repr(value)
        if kind is float:
            return value if math.isfinite(value) else self._repr(value)
        if kind is dict or isinstance(value, Mapping):
            return self._object(value.items(), depth)
        if isinstance(value, list | tuple):
            return self._array(value, depth)
        return self._convert_rarer(value, depth)

    def _convert_rarer(self, value: Any, depth: int) -> Any:
        if isinstance(value, Enum):
            return self(value.value, depth + 1)
        if isinstance(value, str):
            return self._text(str.__str__(value))
        if isinstance(value, int):
            return self(int.__int__(value), depth + 1)
        if isinstance(value, float):
            return self(float.__float__(value), depth + 1)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._text(b64encode(value[:LONGEST]).decode())
        if isinstance(value, _AS_TEXT):
            return self._text(str(value))
        if isinstance(value, _TIMES):
            return to_builtins(value)
        if isinstance(value, set | frozenset):
            return self._array(list(value), depth)
        return self._convert_object(value, depth)

    def _convert_object(self, value: Any, depth: int) -> Any:
        if isinstance(value, Struct):
            return self._object(structs.asdict(value).items(), depth)
        if is_dataclass(value) and not isinstance(value, type):
            return self._object(((f.name, getattr(value, f.name)) for f in fields(value)), depth)
        # Models of pydantic, then arrays and scalars of numpy and its like: none of them is worth an import.
        for method in ("model_dump", "tolist"):
            convert = None if isinstance(value, type) else getattr(value, method, None)
            if callable(convert):
                return self(convert(), depth + 1)
        return self._repr(value)

    def _object(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key, value in list(items):  # A copy: the agent may change the original meanwhile.
            name = self._key(key)
            if name in made:
                self.unserialisable = True
            made[name] = self(value, depth + 1)
            if self._left < 0:
                break
        return made

    def _array(self, items: Iterable[Any], depth: int) -> list[Any]:
        made = []
        for item in items:
            made.append(self(item, depth + 1))
            if self._left < 0:
                break
        return made

    def _key(self, key: Any) -> str:
        plain = self(key)
        if isinstance(plain, str):
            return plain
        return self._repr(key) if isinstance(plain, dict | list) else compact(plain)

    def _text(self, text: str) -> str:
        if len(text) > LONGEST:
            self.truncated = True
            text = text[:LONGEST]
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError:  # Half a surrogate pair is no text in UTF-8.
            self.unserialisable = True
            return text.encode("utf-8", "replace").decode()
        return text

    def _repr(self, value: Any) -> str:
        self.unserialisable = True
        told = f"<{type(value).__name__}>"
        with suppress(Exception):
            told = repr(value)[:REPR]
        return told.encode("utf-8", "replace").decode()
