"""Whether a tool's result is a failure, and which call it answers: for the graders that ask what came of a call."""

from dataclasses import dataclass, field
from typing import Any

from ...events import ToolCall, ToolResult
from ...grading import Seen
from ...matching.arguments import call_digest
from ...matching.patterns import Pattern

ERROR_TEXT = r"(?i)^\s*error\b"
"""What a failure looks like whose sender does not mark it."""
_BLANKS = "\t\n\f\r "
"""What RE2 takes for blanks."""
WAITING = 64
"""Calls whose results are awaited; of more, the oldest is forgotten."""


@dataclass(frozen=True)
class Failures:
    """Tells failed results: those marked ``is_error``, and those whose text a pattern finds."""

    pattern: str | None
    _compiled: Pattern | None = field(init=False, default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_compiled", None if self.pattern is None else Pattern(self.pattern))

    def of(self, seen: Seen) -> bool | None:
        """Did the call fail? None where what its sender left out could say so."""
        event = seen.event
        if not isinstance(event, ToolResult):
            return None
        if event.is_error:
            return True
        if self._compiled is None:
            return False
        if self.pattern == ERROR_TEXT and seen.text.lstrip(_BLANKS)[:5].lower() != "error":
            found = None  # As the pattern would find: asked of each result, it costs more than most graders.
        else:
            found = self._compiled.search(seen.text)
        # A match that runs into the cut may be the beginning of another word.
        if found is not None and not (seen.truncated and found.end == len(seen.text)):
            return True
        return None if seen.partial else False

    def problems(self) -> list[tuple[str, str]]:
        """What is wrong with the pattern as a setting."""
        if self.pattern == "":
            return [("error_pattern", "an empty pattern finds every result; write null for none")]
        error = None if self._compiled is None else self._compiled.error
        return [] if error is None else [("error_pattern", error)]


def digest_of(seen: Seen) -> str | None:
    """Stands for the call that an event is, tool and arguments; for `Seen.once`. None where they were not all sent."""
    assert isinstance(seen.event, ToolCall)
    return call_digest(seen.event)


def awaited(waiting: list[list[Any]], seen: Seen, *what: Any) -> bool:
    """Note a call whose result is of interest; False if that made another one be forgotten."""
    waiting.append([seen.position, *what])
    if len(waiting) <= WAITING:
        return True
    del waiting[0]
    return False


def answered(waiting: list[list[Any]], seen: Seen) -> list[Any] | None:
    """What was noted of the call that a result answers; it is awaited no more. None if that was not noted."""
    if seen.call is not None:
        for n, (position, *what) in enumerate(waiting):
            if position == seen.call:
                del waiting[n]
                return what
    return None
