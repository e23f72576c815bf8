"""What ends a worker rather than let it do harm, and with which exit code.

A worker that was stopped (SIGSTOP, a paused machine, swap) goes on with runs that another one owns by now; one whose
offsets lie outside the log has lost events. Neither is an exception somebody could handle: the process ends at once, by
`os._exit`, and its supervisor starts it again, or does not.
"""

import asyncio
import os
import sys
import threading
import time
from enum import IntEnum
from typing import NoReturn

STALL = 5.0
"""Seconds without a beat after which nothing may be written; below the session timeout of the group."""
PRODUCE = 60.0
"""Seconds that a write may stay unacknowledged."""
STOP = 20.0
"""Seconds that a stop may take; supervisors commonly wait for thirty before they kill."""
BEAT = 0.2
ANEW = "the states of its runs have read further than it goes, so start with a new --app"


class WorkerExit(IntEnum):
    """What a worker's exit code says to its supervisor."""

    STOPPED = 0
    SETTINGS = 2
    """Settings or suites cannot be used, Kafka refuses this client something, or the slot is another worker's: a start
    would not help before that changes."""
    FAULT = 3
    """Something failed: start it again, with back-off."""
    DATA = 78
    """Data was lost, or a topic does not fit: do not start it again before somebody has looked."""


def end(code: WorkerExit, told: str) -> NoReturn:
    """End the process at once, with one line on standard error."""
    sys.stdout.flush()
    os.write(2, f"stream-graders worker: {told}\n".encode())
    os._exit(code)


def limit_stop() -> None:
    """End the process if it has not stopped by itself in time: the Kafka client waits for brokers that are away."""
    told = f"did not stop within {STOP:.0f} s; what was under way is graded again at the next start"
    timer = threading.Timer(STOP, end, (WorkerExit.STOPPED, told))
    timer.daemon = True
    timer.start()


class StallGuard:
    """Knows whether this process was standing still.

    A task beats every 0.2 s. Whoever runs first after a stop sees the old beat, because the monotonic clock runs on
    while a process stands still: the task itself, or `check` before a write.
    """

    def __init__(self, limit: float = STALL) -> None:
        self.limit = limit
        self.last = time.monotonic()
        self._longest = 0.0

    def age(self) -> float:
        """Seconds since the last beat."""
        return time.monotonic() - self.last

    def check(self) -> None:
        """End the process if it was standing still."""
        if self.age() > self.limit:
            end(
                WorkerExit.FAULT,
                f"stood still for {self.age():.1f} s, so another worker may own its runs; start it again",
            )

    def longest(self) -> float:
        """By how many seconds a beat was late at most, since this was last asked."""
        longest, self._longest = self._longest, 0.0
        return longest

    async def beat(self) -> None:
        """Beat for ever."""
        self.last = time.monotonic()
        while True:
            await asyncio.sleep(BEAT)
            self._longest = max(self._longest, self.age() - BEAT)
            self.check()
            self.last = time.monotonic()


def lost_at_start(place: str, committed: int, first: int, last: int) -> NoReturn:
    """The committed offset lies outside the log."""
    where = f"{place}: committed {committed}, the log holds {first} to {last}"
    if committed > last:
        end(WorkerExit.DATA, f"{where}: the topic was made anew, or another cluster answers; {ANEW}")
    what = f"retention removed {first - committed} records that were never graded"
    command = "`stream-graders worker --accept-loss`"
    end(WorkerExit.DATA, f"{where}: {what}; to go on from {first} run {command}")


def lost_while_running(place: str, expected: int, first: int) -> NoReturn:
    """Retention overtook a worker that lags."""
    what = f"retention removed {first - expected} records before they were graded"
    command = "`stream-graders worker --accept-loss`"
    end(WorkerExit.DATA, f"{place}: expected {expected}, the log starts at {first}: {what}; to go on run {command}")


def made_anew(place: str, read: int, last: int) -> NoReturn:
    """The log ends before what was read of it."""
    end(WorkerExit.DATA, f"{place}: read up to {read}, the log ends at {last}: the topic was made anew; {ANEW}")
