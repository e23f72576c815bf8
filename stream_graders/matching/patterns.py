"""Patterns that users write: RE2 on UTF-8, so that the time of a search is linear in its text whatever the pattern."""

from dataclasses import dataclass, field
from typing import NamedTuple

import re2

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

_REFUSED = (
    (("(?=", "(?!", "(?<=", "(?<!"), "look-around is not supported (RE2 syntax): match the text itself instead"),
    (("\\1", "\\2", "\\3", "\\k", "(?P="), "back-references are not supported (RE2 syntax)"),
)


class Match(NamedTuple):
    """A hit: its place in the text in characters, and the captured value (None: the group took no part)."""

    start: int
    end: int
    value: str | None


@dataclass(frozen=True)
class Pattern:
    """A pattern in RE2 syntax. One that cannot be used has an ``error`` and matches nothing.

    >>> Pattern('"id":"(rt_[0-9]+)"').search('{"id":"rt_42"}')
    Match(start=1, end=13, value='rt_42')
    >>> Pattern("(a").error
    'missing ): (a'
    """

    source: str
    error: str | None = field(init=False, default=None)
    _compiled: "re2.Pattern | None" = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        try:
            compiled = re2.compile(self.source.encode(), _OPTIONS)
        except UnicodeEncodeError:
            object.__setattr__(self, "error", "the pattern holds half of a surrogate pair")
        except re2.error as error:
            object.__setattr__(self, "error", _told(self.source, error))
        else:
            object.__setattr__(self, "_compiled", compiled)

    def search(self, text: str) -> Match | None:
        """The first match; its value is group 1 where there is a group, else the whole match."""
        if self._compiled is None:
            return None
        data = text.encode("utf-8", "surrogatepass")
        found = self._compiled.search(data)
        if found is None:
            return None
        start, end = found.span(0)
        raw = found.group(1) if self._compiled.groups else found.group(0)
        value = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        if len(data) == len(text):  # Of one byte a character: the places are the same.
            return Match(start, end, value)
        return Match(len(data[:start].decode("utf-8", "replace")), len(data[:end].decode("utf-8", "replace")), value)


def _told(source: str, error: Exception) -> str:
    for parts, message in _REFUSED:
        if any(part in source for part in parts):
            return message
    detail = error.args[0] if error.args else str(error)
    return detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)
