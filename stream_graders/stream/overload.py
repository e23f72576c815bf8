"""How far behind a worker was where: written down before a record is graded by it, so that a repetition decides the same.

Whether a run is shed depends on the worker's clock, which no other worker and no replay can know. So each change of the
lag that a suite asks about becomes a mark, with the offset from which on it counts, in the changelog under the one key that
no run has. A worker that reads the same records again finds the marks there (design 2, as far as it reaches).
"""

from collections.abc import Sequence

from ..events import from_json, to_json
from ..session import STATE_VERSION

KEY = b""
"""No run id is empty."""
MARKS = 64
"""As many are kept; those before the last committed offset never count again."""


class Overload:
    """The marks of one partition."""

    def __init__(self, kept: bytes | None = None) -> None:
        """Take over what `snapshot` gave."""
        self._marks: list[list[int]] = [] if kept is None else from_json(kept)[4]
        """Offset, and how far behind from there on, in milliseconds: one of the lags that a suite names, or 0."""

    @property
    def last(self) -> int:
        """What the last mark says."""
        return self._marks[-1][1] if self._marks else 0

    def at(self, offset: int) -> int:
        """How far behind the worker is for a record, in milliseconds."""
        if not self._marks:
            return 0  # Nearly always, and once an event.
        return next((behind for first, behind in reversed(self._marks) if first <= offset), 0)

    def mark(self, offset: int, behind: int) -> bool:
        """From an offset on the lag is another; False if that is so already, or a mark behind the offset stands."""
        if behind == self.last or (self._marks and offset < self._marks[-1][0]):
            return False
        self._marks = [*self._marks[1 - MARKS :], [offset, behind]]
        return True

    def snapshot(self) -> bytes:
        """The marks in the form of a run's state: whichever was written last wins a recovery."""
        return to_json([STATE_VERSION, self._marks[-1][0], None, "overload", self._marks])


def level(lag: int, before: int, steps: Sequence[int]) -> int:
    """The highest of some lags that a lag has reached; it is left again at half of it, so that it does not flutter.

    >>> level(700, 0, [600, 3600]), level(400, 600, [600, 3600]), level(200, 600, [600, 3600])
    (600, 600, 0)
    """
    reached = max((step for step in steps if step <= lag), default=0)
    return before if reached < before and 2 * lag >= before else reached
