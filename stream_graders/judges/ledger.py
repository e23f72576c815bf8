"""What judges have cost: money, tokens and calls by scope and day or hour, in a file that a crash leaves right.

What a call may cost at most is put down as spent before it, and what it did not cost is given back after. So nothing that
was spent is ever missing: a process that dies in between has spent all that it meant to.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

UNITS = ("micro_usd", "tokens", "calls")
KEPT_DAYS = 40


class Limit(NamedTuple):
    """What one scope may use in its window."""

    scope: str
    window: str
    """``day`` or ``hour``, in UTC."""
    caps: Mapping[str, int]


class Cost(NamedTuple):
    """What a call uses."""

    micro_usd: int
    tokens: int
    calls: int = 1


class Reservation(NamedTuple):
    """What was put down before a call."""

    places: tuple[tuple[str, str], ...]
    """Scopes with their windows, as they were when it was made: a call that ends the next day is of the day before."""
    cost: Cost


class Ledger:
    """A ledger in an SQLite file, which several processes of one machine may share."""

    def __init__(self, path: Path | str = ":memory:", share: float = 1.0) -> None:
        self._share = share
        self._db = sqlite3.connect(path, timeout=10.0, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")  # A lost page would be money that nobody counted.
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS spent (scope TEXT, window TEXT, micro_usd INTEGER, tokens INTEGER, calls INTEGER,"
            " PRIMARY KEY (scope, window))"
        )

    def reserve(self, limits: Iterable[Limit], cost: Cost, now: float | None = None) -> Reservation | str:
        """Put down what a call may cost at most in every scope, or name the scope that has no room for it."""
        now = time.time() if now is None else now
        limits = list(limits)
        places = tuple((limit.scope, _window(limit.window, now)) for limit in limits)
        with self._written():
            for limit, place in zip(limits, places, strict=True):
                spent = self.spent(*place)
                for unit, cap in limit.caps.items():
                    if getattr(spent, unit) + getattr(cost, unit) > cap * self._share:
                        return f"{limit.scope} a {limit.window} ({unit})"
            self._add(places, cost)
        return Reservation(places, cost)

    def settle(self, reservation: Reservation, cost: Cost) -> None:
        """Put down what the call did cost; without a count of the provider's, leave it at the reservation."""
        reserved = reservation.cost
        change = Cost(cost.micro_usd - reserved.micro_usd, cost.tokens - reserved.tokens, cost.calls - reserved.calls)
        with self._written():
            self._add(reservation.places, change)

    def release(self, reservation: Reservation) -> None:
        """Give all of it back: the call certainly never reached anybody."""
        self.settle(reservation, Cost(0, 0, 0))

    def spent(self, scope: str, window: str) -> Cost:
        """What a scope has used in a window, as ``2026-11-30`` or ``2026-11-30T14``."""
        row = self._db.execute(
            "SELECT micro_usd, tokens, calls FROM spent WHERE scope = ? AND window = ?", (scope, window)
        ).fetchone()
        return Cost(0, 0, 0) if row is None else Cost(*row)

    def used(self, limit: Limit, now: float | None = None) -> float:
        """The share of a limit that is used up, of its unit that has the least left."""
        spent = self.spent(limit.scope, _window(limit.window, time.time() if now is None else now))
        return max((getattr(spent, unit) / (cap * self._share) for unit, cap in limit.caps.items()), default=0.0)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _add(self, places: Iterable[tuple[str, str]], cost: Cost) -> None:
        self._db.executemany(
            "INSERT INTO spent VALUES (?, ?, ?, ?, ?) ON CONFLICT (scope, window) DO UPDATE SET"
            " micro_usd = micro_usd + excluded.micro_usd, tokens = tokens + excluded.tokens, calls = calls + excluded.calls",
            [(scope, window, *cost) for scope, window in places],
        )

    @contextmanager
    def _written(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _window(kind: str, now: float) -> str:
    return time.strftime("%Y-%m-%dT%H" if kind == "hour" else "%Y-%m-%d", time.gmtime(now))
