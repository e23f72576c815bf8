"""How hard a provider may be pressed: calls at once, a rate, a pause when it asks for one, and none while it is broken."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from aiolimiter import AsyncLimiter

from .calls import FATAL, Kind

PERIOD = 0.25
"""Seconds of a bucket. It gives all that it holds at once, so a short one is close to an even rate."""
FAILURES = 5
WITHIN = 30.0
"""So many failures in so many seconds open the breaker."""
OPEN = 30.0
LONGEST = 600.0
"""Seconds that it stays open: the first time, and at most."""


class Breaker:
    """Keeps calls from a provider that fails: closed, open, and after a while one call to try it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: deque[float] = deque(maxlen=FAILURES)
        self._until = 0.0
        self._span = OPEN
        self._probing = False

    @property
    def state(self) -> str:
        """``closed``, ``open``, or ``half_open``: one call may try."""
        if not self._until:
            return "closed"
        return "open" if self._clock() < self._until else "half_open"

    def wait(self) -> float:
        """Seconds until a call may try; 0 if one may now."""
        if self.state == "closed":
            return 0.0
        left = self._until - self._clock()
        if left > 0:
            return left
        return 1.0 if self._probing else 0.0

    def begin(self) -> None:
        """A call goes out."""
        self._probing = self._until > 0

    def succeed(self) -> None:
        """A call gave a reply."""
        self._failed.clear()
        self._until, self._span, self._probing = 0.0, OPEN, False

    def fail(self, kind: Kind) -> None:
        """A call gave none."""
        now = self._clock()
        self._failed.append(now)
        many = len(self._failed) == FAILURES and now - self._failed[0] <= WITHIN
        if self._probing:
            self._span = min(LONGEST, 2 * self._span)
        if self._probing or many or kind in FATAL:
            self._until = now + self._span
            self._failed.clear()
        self._probing = False


@dataclass(eq=False)
class Turn:
    """Somebody who waits for a slot."""

    urgent_at: float = float("inf")
    """From when on it goes before everybody that is not, in seconds since the epoch."""
    grounded: float | None = None
    """How far its reply rests on its source, once the pre-screen has looked; the least goes first."""
    given: "asyncio.Future[None] | None" = None
    """Done once it has a slot."""


class Slots:
    """So many at once. Who waits comes in order, except that those with a source change places among themselves.

    A place in the line that belongs to one of them goes to the one whose reply rests least on its source. So whoever has no
    source keeps its turn, and nobody waits beyond the time from which it is urgent.
    """

    def __init__(self, at_once: int, clock: Callable[[], float] = time.time) -> None:
        self._free = at_once
        self._clock = clock
        self._line: list[Turn] = []

    async def acquire(self, turn: Turn) -> None:
        """Wait for a slot."""
        if self._free > 0:
            self._free -= 1
            return
        turn.given = asyncio.get_running_loop().create_future()
        self._line.append(turn)
        try:
            await turn.given
        except asyncio.CancelledError:
            if turn in self._line:
                self._line.remove(turn)
            else:
                self.release()  # It had just been given one.
            raise

    def release(self) -> None:
        """Give a slot back: to who comes next, if somebody waits."""
        turn = self._next()
        if turn is None or turn.given is None:
            self._free += 1
        else:
            self._line.remove(turn)
            turn.given.set_result(None)

    def _next(self) -> Turn | None:
        # Who was cancelled is about to leave the line.
        line = [turn for turn in self._line if turn.given is not None and not turn.given.done()]
        if not line:
            return None
        late = min(line, key=lambda turn: turn.urgent_at)
        if late.urgent_at <= self._clock():
            return late
        first, ranked = line[0], [turn for turn in line if turn.grounded is not None]
        if first.grounded is None:
            return first
        least = min(ranked, key=lambda turn: turn.grounded or 0.0)
        # They change places, so that whoever stands between them does not wait longer.
        here, there = self._line.index(first), self._line.index(least)
        self._line[here], self._line[there] = least, first
        return least


class Gate:
    """One provider's slots, rate and breaker. A provider that hangs takes its own slots and nobody else's."""

    def __init__(
        self,
        at_once: int,
        requests_per_minute: int,
        tokens_per_minute: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.slots = Slots(at_once)
        self.breaker = Breaker(clock)
        self._clock = clock
        self._requests_a_minute = requests_per_minute
        self._pace = 1.0
        """The share of the rate that is used: halved when the provider says that it is too much, and slowly back."""
        self._requests = _bucket(requests_per_minute)
        self._tokens = _bucket(tokens_per_minute)
        self._paused_until = 0.0

    async def take(self, turn: Turn) -> None:
        """Wait for a slot, and for the breaker; whoever waited for the one looks at the other again."""
        while True:
            await self.slots.acquire(turn)
            wait = self.breaker.wait()
            if wait <= 0:
                return
            self.slots.release()
            await asyncio.sleep(wait)

    async def enter(self, tokens: int) -> None:
        """Wait until a call of so many tokens may go out."""
        while (left := self._paused_until - self._clock()) > 0:  # noqa: ASYNC110  (it may be made longer meanwhile)
            await asyncio.sleep(left)
        await self._requests.acquire()
        # More than a bucket holds can never be had: such a prompt takes all of it.
        await self._tokens.acquire(min(tokens, self._tokens.max_rate))

    def pause(self, seconds: float) -> None:
        """The provider asks to be left alone for a while; the rate is halved."""
        self._paused_until = max(self._paused_until, self._clock() + seconds)
        self._set_pace(self._pace / 2)

    def ease(self) -> None:
        """A call went well: a little more may be tried."""
        if self._pace < 1.0:
            self._set_pace(min(1.0, self._pace + 0.05))

    def _set_pace(self, pace: float) -> None:
        self._pace = max(0.05, pace)
        self._requests = _bucket(self._requests_a_minute * self._pace)


def _bucket(per_minute: float) -> AsyncLimiter:
    each = per_minute * PERIOD / 60
    if each >= 1:
        return AsyncLimiter(each, PERIOD)
    return AsyncLimiter(1, 60 / per_minute)
