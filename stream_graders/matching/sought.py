"""A text or a pattern in a message, looked for alike."""

from typing import NamedTuple

from .patterns import Pattern
from .text import Needle


class Hit(NamedTuple):
    """Where it stands, in characters."""

    start: int
    end: int
    firm: bool
    """True if no further text could undo it."""


def look(sought: Needle | Pattern, text: str, lower: str) -> Hit | None:
    """The first place in a text, which is given lowered too.

    A match of a pattern that touches the end of its text is not firm: ``$`` or ``\\b`` may hold there only because
    nothing follows.

    >>> look(Pattern("ok$"), "it is ok", ""), look(Needle("OK"), "it is ok.", "it is ok.")
    (Hit(start=6, end=8, firm=False), Hit(start=6, end=8, firm=True))
    """
    if isinstance(sought, Needle):
        return Hit(*sought.place(text), True) if sought.within(text, lower) else None
    match = sought.search(text)
    return None if match is None else Hit(match.start, match.end, match.end < len(text))
