"""Where two sets of arguments differ: numbers loosely, booleans strictly, objects recursively, lists whole (design 6)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from ..events import UNSENT, canonical_json, compact
from .patterns import Pattern

_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,300})(?:\.[0-9]{1,300})?\Z")
SHOWN = 60
"""Characters of a value that a difference shows."""


class Difference(NamedTuple):
    """The first place where arguments are not as expected; values as evidence shows them."""

    path: str
    expected: str
    got: str


def number_of(value: Any) -> Decimal | None:
    """The number that a value is or that a text writes plainly; None for all else.

    >>> number_of("12.50") == number_of(12.5), number_of("012"), number_of(True)
    (True, None, None)
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(repr(value))
    return Decimal(value) if isinstance(value, str) and _NUMBER.match(value) else None


def loosely(value: Any) -> Any:
    """The value in a form that is equal for equal values: 12, 12.0 and "12" are one, true and null only themselves."""
    if isinstance(value, dict):
        return {name: loosely(item) for name, item in value.items()}
    if isinstance(value, list):
        return [loosely(item) for item in value]
    number = number_of(value)
    if number is None:
        return value
    return str(int(number)) if number == number.to_integral_value() else str(number.normalize())


def loose_key(value: Any) -> bytes:
    """Equal for values that are loosely equal, whatever the order of names."""
    return canonical_json(loosely(value))


@dataclass(frozen=True)
class Comparison:
    """How arguments are compared with those that are expected."""

    mode: Literal["exact", "subset", "ignore"] = "exact"
    ignored: frozenset[str] = frozenset()
    """Names that do not count, at any depth."""
    patterns: dict[str, Pattern] = field(default_factory=dict)
    """Arguments whose text a pattern has to find, whatever value is expected."""
    tolerance: Decimal = Decimal(0)
    """How far two numbers may lie apart."""

    def difference(self, expected: dict[str, Any] | None, got: dict[str, Any]) -> Difference | None:
        """The first difference, names in the order of the expected ones; None where there is none."""
        if self.mode == "ignore" or expected is None:
            return None
        return next(self._between(expected, got, ""), None)

    def _between(self, expected: Any, got: Any, path: str) -> Iterator[Difference]:
        if isinstance(expected, dict) and isinstance(got, dict):
            for name, value in expected.items():
                if name in self.ignored:
                    continue
                at = f"{path}.{name}" if path else name
                if not path and name in self.patterns and name in got:
                    yield from self._unfit(self.patterns[name], got[name], at)
                else:
                    yield from self._between(value, got.get(name, UNSENT), at)
            if self.mode == "exact":
                for name, value in got.items():
                    if name not in expected and name not in self.ignored:
                        yield Difference(f"{path}.{name}" if path else name, "nothing", shown_value(value))
        elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
            for n, (one, other) in enumerate(zip(expected, got, strict=True)):
                yield from self._between(one, other, f"{path}[{n}]")
        elif not self._are_equal(expected, got):
            yield Difference(path, shown_value(expected), shown_value(got))

    def _are_equal(self, expected: Any, got: Any) -> bool:
        if got is UNSENT or isinstance(expected, dict | list) or isinstance(got, dict | list):
            return False
        one, other = number_of(expected), number_of(got)
        if one is not None and other is not None:
            return abs(one - other) <= self.tolerance
        return type(expected) is type(got) and bool(expected == got)

    @staticmethod
    def _unfit(pattern: Pattern, got: Any, path: str) -> Iterator[Difference]:
        if pattern.search(got if isinstance(got, str) else compact(got)) is None:
            yield Difference(path, f"what {compact(pattern.source)} finds", shown_value(got))


def shown_value(value: Any) -> str:
    """A value at a length that evidence can bear."""
    if value is UNSENT:
        return "nothing"
    text = compact(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"
