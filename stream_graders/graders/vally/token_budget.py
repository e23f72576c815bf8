"""Did the run keep to its number of tokens?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, RunEnd
from ...grading import RunFacts, Seen
from ...verdicts import Finding, Outcome, Reason
from ._budget import Budget

_TOTALS = ("total", "total_tokens")
_PARTS = (("input", "input_tokens", "prompt_tokens"), ("output", "output_tokens", "completion_tokens"))


@dataclass
class TokenBudget(Budget):
    """Pass a run that took at most ``max`` tokens, input and output together, by the ``usage`` that it reports.

    The larger counts of the sum over its messages and what the run's end says of the whole. A pass is only known where
    the end says it, or each assistant message does: else the run is not graded. A step that only calls tools sends no
    message, and so no tokens: where such steps are many, send the usage of the whole run with its end.

    >>> from stream_graders.testing import graded, run
    >>> graded(TokenBudget(500), run().says("Done.", usage={"input": 420, "output": 12}).ends()).evidence
    '432 tokens (within budget of 500)'
    """

    unit = "tokens"

    whole: int | None = field(default=None, init=False)
    """What the run's end says."""
    silent: int = field(default=0, init=False)
    """Assistant messages that report no usage."""
    told: int = field(default=0, init=False)
    """Messages that do."""

    def wants(self) -> tuple[type[Event], ...]:
        return (Message, RunEnd)

    def update(self, seen: Seen) -> None:
        event = seen.event
        if self.settled:
            return
        if isinstance(event, Message):
            tokens = tokens_of(event.usage)
            if tokens is not None:
                self.told += 1
                self.use(seen, tokens)
            elif seen.is_assistant:
                self.silent += 1
        elif isinstance(event, RunEnd) and (tokens := tokens_of(event.usage)) is not None:
            self.whole = tokens
            self.use(seen, max(0, tokens - self.used))

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is None and self.whole is None and (self.silent or not self.told):
            text = f"{self.silent} assistant message(s) report no usage, nor does the run's end"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        return super().finding(run)


def tokens_of(usage: Any) -> int | None:
    """The tokens that a usage counts, under the names that are in use; None where it counts none.

    >>> tokens_of({"prompt_tokens": 5, "completion_tokens": 2}), tokens_of({"total": 9, "input": 1}), tokens_of({})
    (7, 9, None)
    """
    if not isinstance(usage, dict):
        return None
    total = _count(usage, _TOTALS)
    if total is not None:
        return total
    parts = [count for names in _PARTS if (count := _count(usage, names)) is not None]
    return sum(parts) if parts else None


def _count(usage: dict[str, Any], names: tuple[str, ...]) -> int | None:
    counts = [usage[name] for name in names if type(usage.get(name)) is int and usage[name] >= 0]
    return counts[0] if counts else None
