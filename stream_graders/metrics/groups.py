"""Which agents and environments have series of their own, so that no name that a producer chooses makes the page grow.

Whoever writes to the journal chooses agents and environments; suites, checks and outcomes come from the suite files. So
room is given by agent, environment and suite, first come, first served, and what has no room counts as ``other``.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

SERIES = 6_000
"""Series that may begin with runs: one a check and outcome, and one a run outcome. 40 agents with a suite of 12 checks in 2
environments take 5,200. What is rarer (violations, early and amended verdicts) comes on top: at most twice as many again."""
IDLE = 86_400.0
"""Seconds after which a group without a new run gives way to another: longer than any window that a rule looks back."""
OTHER = "other"
LONGEST = 64
"""Characters of a name that a label shows."""

Labels = tuple[str, str, str]
"""Agent, environment, suite."""
G = TypeVar("G")


@dataclass(slots=True)
class _Own(Generic[G]):
    group: G
    size: int
    seen: float


class Room(Generic[G]):
    """Gives each agent, environment and suite its group of series while there is room, and ``other``'s beyond.

    A group is found by the names as they came, so that a run costs two look-ups, and whoever has no room costs no memory.
    """

    def __init__(
        self,
        begin: Callable[[Labels], G],
        drop: Callable[[G], None],
        limit: int = SERIES,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nobody has room yet.

        Args:
            begin: makes a group's series, at 0.
            drop: removes a group's series.
            limit: how many series there may be, ``other``'s apart: there is one of those a suite.
            now: seconds on a clock that never goes back.
        """
        self._begin, self._drop, self._limit, self._now = begin, drop, limit, now
        self._own: OrderedDict[Labels, _Own[G]] = OrderedDict()
        """The one without a run for the longest time stands first."""
        self._others: dict[str, G] = {}
        self._used = 0

    def of(self, agent: str, environment: str, suite: str, size: int) -> tuple[G, bool]:
        """The group, and whether it is its own; ``size`` is how many series it begins with."""
        labels = (shown(agent), shown(environment), suite)
        own, now = self._own.get(labels), self._now()
        if own is None:
            if labels[:2] == (OTHER, OTHER) or not self._has_room(size, now):
                return self._other(suite), False
            self._used += size
            own = self._own[labels] = _Own(self._begin(labels), size, now)
        self._own.move_to_end(labels)
        own.seen = now
        return own.group, True

    def _has_room(self, size: int, now: float) -> bool:
        """Is there room, once those are gone that nobody has heard of for long?"""
        while self._used + size > self._limit:
            labels, oldest = next(iter(self._own.items()), (None, None))
            if labels is None or oldest is None or now - oldest.seen < IDLE:
                return False
            del self._own[labels]
            self._used -= oldest.size
            self._drop(oldest.group)
        return True

    def _other(self, suite: str) -> G:
        group = self._others.get(suite)
        if group is None:
            group = self._others[suite] = self._begin((OTHER, OTHER, suite))
        return group


def shown(name: str) -> str:
    """A name as a label shows it: one line of at most `LONGEST` characters.

    >>> shown("support-bot"), shown("two\\nlines"), len(shown("x" * 500))
    ('support-bot', 'two?lines', 64)
    """
    if len(name) <= LONGEST and name.isprintable():
        return name
    return "".join(letter if letter.isprintable() else "?" for letter in name[:LONGEST])
