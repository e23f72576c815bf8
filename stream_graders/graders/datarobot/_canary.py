"""The canary values of a case, and which of them a reply holds."""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...grading import Seen
from ...verdicts import Reason
from ._case import Case, named


@dataclass
class Canary(Case):
    """Looks for the ``canary`` values in the final reply, case ignored. Empty, null, 0 and false entries are none (R163)."""

    wanting = Reason.NO_CANARY
    key = "canary"
    references: ClassVar[dict[str, str]] = {"canary": "metadata.canary"}

    canary: Any = None

    def unfit(self) -> str | None:
        values = self.canary if isinstance(self.canary, list | tuple) else [self.canary]
        self._canaries = [str(value) for value in values if value]
        self._lower = [canary.lower() for canary in self._canaries]
        return None if self._canaries else "no canary defined — cannot score"

    def warnings(self) -> list[tuple[str, str]]:
        return [] if self._canaries else [("canary", "names no value, so every run is skipped")]

    def read(self, seen: Seen) -> list[Any]:
        lower = seen.lower
        there: list[int] = []
        missing: list[int] = []
        for n, canary in enumerate(self._lower):
            (there if canary in lower else missing).append(n)
        return [named(there), named(missing)]

    def shows(self, seen: Seen, judgement: Any) -> tuple[int, int] | None:
        start = min((seen.lower.find(self._lower[n]) for n in judgement[0][0]), default=None)
        return None if start is None else (start, start)

    def split(self, judgement: Any) -> tuple[Any, Any]:
        """The places of the canaries that are in the reply, and of those that are not."""
        return judgement if judgement is not None else (named([]), named(list(range(len(self._canaries)))))
