"""JSON Schema, as much of it as checks of a reply use: types, objects, lists, limits, and patterns in RE2 syntax.

A keyword that is not known here is refused, not passed over: a schema that asks for less than it says would pass what it
should not.
"""

from collections.abc import Iterator
from typing import Any

from .patterns import Pattern

DEPTH = 50
"""How deep a schema may be nested."""

_TYPES = ("null", "boolean", "object", "array", "number", "integer", "string")
_NOTES = ("$schema", "$id", "$comment", "title", "description", "default", "examples")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_LIMITS = ("minimum", "maximum")
_KEYWORDS = (
    *("type", "enum", "const", "properties", "required", "additionalProperties", "items", "pattern"),
    *_COUNTS,
    *_LIMITS,
)


def schema_faults(schema: Any, depth: int = 0) -> Iterator[str]:
    """What is wrong with a schema, one line each.

    >>> list(schema_faults({"type": "object", "properties": {"n": {"minimum": "1", "anyOf": []}}}))
    ["minimum is '1', which should be a number", 'anyOf is not supported']
    """
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{schema!r} is no schema, which is a mapping"
        return
    if depth > DEPTH:
        yield f"is nested deeper than {DEPTH} levels"
        return
    for keyword, value in schema.items():
        if keyword in _NOTES:
            continue
        if keyword not in _KEYWORDS:
            yield f"{keyword} is not supported"
        elif fault := _fault(keyword, value):
            yield f"{keyword} is {value!r}, which should be {fault}"
        elif keyword == "pattern" and (error := Pattern(value).error) is not None:
            yield f"pattern is not valid: {error}"
    properties = schema.get("properties")
    for inner in properties.values() if isinstance(properties, dict) else ():
        yield from schema_faults(inner, depth + 1)
    for keyword in ("additionalProperties", "items"):
        if keyword in schema:
            yield from schema_faults(schema[keyword], depth + 1)


def _fault(keyword: str, value: Any) -> str | None:
    """What a keyword's value should be, if it is something else."""
    if keyword == "type":
        names = value if isinstance(value, list) else [value]
        return None if names and all(name in _TYPES for name in names) else f"of {', '.join(_TYPES)}"
    if keyword in _COUNTS:
        return None if type(value) is int and value >= 0 else "a whole number from 0 on"
    if keyword in _LIMITS:
        return None if _is_number(value) else "a number"
    if keyword == "properties":
        return None if isinstance(value, dict) else "a mapping from names to schemas"
    if keyword == "required":
        return None if isinstance(value, list) and all(isinstance(name, str) for name in value) else "a list of names"
    if keyword == "enum":
        return None if isinstance(value, list) and value else "a list of values"
    if keyword == "pattern":
        return None if isinstance(value, str) else "text"
    return None


class JsonSchema:
    """A schema without faults.

    >>> schema = JsonSchema({"type": "object", "required": ["lot"], "properties": {"lot": {"pattern": "^Q[0-9]$"}}})
    >>> schema.fits({"lot": "Q7"}), schema.fits({"lot": "7"}), schema.fits({}), schema.fits([])
    (True, False, False, False)
    """

    def __init__(self, schema: Any) -> None:
        self._never = schema is False
        self._asked: dict[str, Any] = schema if isinstance(schema, dict) else {}
        asked = self._asked
        types = asked.get("type", [])
        self._types: list[str] = types if isinstance(types, list) else [types]
        self._pattern = Pattern(asked["pattern"]) if "pattern" in asked else None
        self._properties = {name: JsonSchema(inner) for name, inner in asked.get("properties", {}).items()}
        self._others = JsonSchema(asked["additionalProperties"]) if "additionalProperties" in asked else None
        self._items = JsonSchema(asked["items"]) if "items" in asked else None

    def fits(self, value: Any) -> bool:
        """Does a JSON value keep to it?"""
        asked = self._asked
        if self._never or (self._types and not any(_is(value, name) for name in self._types)):
            return False
        if "const" in asked and not _same(value, asked["const"]):
            return False
        if "enum" in asked and not any(_same(value, one) for one in asked["enum"]):
            return False
        if isinstance(value, dict):
            return self._fits_object(value)
        if isinstance(value, list):
            if not _within(len(value), asked.get("minItems"), asked.get("maxItems")):
                return False
            return self._items is None or all(map(self._items.fits, value))
        if isinstance(value, str):
            if not _within(len(value), asked.get("minLength"), asked.get("maxLength")):
                return False
            return self._pattern is None or self._pattern.search(value) is not None
        return not _is_number(value) or _within(value, asked.get("minimum"), asked.get("maximum"))

    def _fits_object(self, value: dict[str, Any]) -> bool:
        if not all(name in value for name in self._asked.get("required", ())):
            return False
        for name, inner in value.items():
            schema = self._properties.get(name, self._others)
            if schema is not None and not schema.fits(inner):
                return False
        return True


def _is(value: Any, name: str) -> bool:
    if name == "null":
        return value is None
    if name == "integer":
        return _is_number(value) and (isinstance(value, int) or value.is_integer())
    if name == "number":
        return _is_number(value)
    return isinstance(value, {"boolean": bool, "object": dict, "array": list, "string": str}[name])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _within(size: float, lowest: float | None, highest: float | None) -> bool:
    return (lowest is None or size >= lowest) and (highest is None or size <= highest)


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON values: 1 is 1.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    return bool(one == other)
