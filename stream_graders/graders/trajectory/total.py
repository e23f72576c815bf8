"""Does an amount add up to more, or to less, than it may in a run?"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ...events import Event, ToolCall
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import arguments_of
from ...matching.differences import number_of
from ...matching.paths import inside, parse, problem_of, values_at
from ...matching.tools import fits
from ...verdicts import Finding, Outcome, Point, Reason

CURRENCIES = 16
"""Currencies that are added up each by itself."""


@dataclass
class Total(Grader):
    """Fail a run in which the ``argument`` of all calls of ``tool`` adds up to more than ``max``, or less than ``min``.

    ``tool`` may hold ``*`` for any characters, the argument is a path (a name asked of a list is asked of each entry).
    The sum may exceed ``max`` at no time, so the call that does so decides. With ``currency``, the path of another
    argument, the limits hold for each of its values by itself. Failed calls count. A call whose amount is no number
    makes the sum unknown; a run without such calls is skipped.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("refund", {"amount": 60}).calls("refund", {"amount": "45.5"}).ends()
    >>> graded(Total("refund", "amount", max=100), story).evidence
    'refund: amount adds up to 105.5, at most 100 allowed'
    """

    tool: str
    argument: str
    max: float | None = None
    min: float | None = None
    currency: str | None = None

    sums: dict[str, str] = field(default_factory=dict, init=False)
    """By currency ("" without one), the sum."""
    unknown: int = field(default=0, init=False)
    """Calls without a number."""
    unsent: int = field(default=0, init=False)
    """Calls whose arguments were not all sent."""
    dropped: int = field(default=0, init=False)
    hit: list[Any] | None = field(default=None, init=False)
    """The call that exceeded the limit: event id, seq, currency, a gap before it."""

    def __post_init__(self) -> None:
        self._argument = parse(self.argument) if problem_of(self.argument) is None else []
        currency = self.currency
        self._currency = parse(currency) if currency is not None and problem_of(currency) is None else None

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        found = [] if self.tool else [("tool", "name the tool")]
        paths = {"argument": self.argument, **({} if self.currency is None else {"currency": self.currency})}
        found += [(name, told) for name, path in paths.items() if (told := problem_of(path)) is not None]
        if self.max is None and self.min is None:
            found.append(("max", "give max, min or both"))
        elif self.max is not None and self.min is not None and self.min > self.max:
            found.append(("min", "should not be more than max"))
        return found

    def update(self, seen: Seen) -> None:
        event = seen.event
        if self.settled or not isinstance(event, ToolCall) or not fits(event.name, self.tool):
            return
        args = arguments_of(event)
        if args.hidden:
            self.unsent += 1
            return
        amounts = [number_of(value) for value in values_at(args.values or {}, self._argument)]
        currency = self._currency_of(args.values or {})
        if not amounts or None in amounts or currency is None:
            self.unknown += 1
            return
        if currency not in self.sums and len(self.sums) >= CURRENCIES:
            self.dropped += 1
            return
        total = sum((amount for amount in amounts if amount is not None), Decimal(self.sums.get(currency, "0")))
        self.sums[currency] = str(total)
        # Of an amount that is not known nobody knows that it is not below zero.
        if self.max is not None and total > Decimal(repr(self.max)) and not self.unknown and not self.unsent:
            self.hit = [event.id, event.seq, currency, seen.gap]
            self.settled = True

    def _currency_of(self, values: dict[str, Any]) -> str | None:
        """The currency of a call, "" where none is asked for; None where it does not say."""
        if self._currency is None:
            return ""
        found = values_at(values, self._currency)
        return found[0][:20] if len(found) == 1 and isinstance(found[0], str) else None

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            event_id, seq, currency, gap = self.hit
            text = f"{self._told(currency)}, at most {self.max:g} allowed"
            point = Point(event_id, seq, inside("args", self.argument))
            # What is missing may be an amount below zero.
            sound = not gap and not run.disordered
            return Finding(Outcome.FAIL, Reason.OUTSIDE_LIMIT, text, (point,), sound=sound)
        told = ", ".join(map(self._told, self.sums))
        if self.unsent or self.unknown:
            reason = Reason.CONTENT_MISSING if self.unsent else Reason.NOT_MEASURED
            text = f"the {self.argument} of {self.unsent + self.unknown} call(s) is not known as a number"
            return Finding(Outcome.NOT_GRADED, reason, f"{text}; so far: {told}" if told else text)
        if self.dropped:
            text = f"{self.dropped} call(s) are in more than {CURRENCIES} currencies; so far: {told}"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text)
        if not self.sums:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, f"{self.tool} was never called")
        for currency, total in self.sums.items():
            if self.min is not None and Decimal(total) < Decimal(repr(self.min)):
                text = f"{self._told(currency)}, at least {self.min:g} wanted"
                return Finding(Outcome.FAIL, Reason.OUTSIDE_LIMIT, text)
        return Finding(Outcome.PASS, Reason.WITHIN_LIMIT, told)

    def _told(self, currency: str) -> str:
        total = f"{Decimal(self.sums[currency]):f}"
        total = total.rstrip("0").rstrip(".") if "." in total else total
        return f"{self.tool}: {self.argument} adds up to {total}" + (f" {currency}" if currency else "")
