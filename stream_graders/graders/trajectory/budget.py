"""Did the run take more calls, steps, turns, tokens, money or time than it may?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, RunEnd, RunStart, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Point, Reason
from ._clock import seconds

_INPUT = ("input_tokens", "prompt_tokens", "input")
_OUTPUT = ("output_tokens", "completion_tokens", "output")
_TOTAL = ("total_tokens", "total")
_COST = ("cost", "cost_usd", "total_cost_usd", "total_cost")


@dataclass
class Budget(Grader):
    """Fail a run at the event with which it exceeds one of its limits.

    ``max_calls`` counts tool calls; ``max_turns`` turns; ``max_steps`` the steps that the agent's messages and calls
    are numbered with. ``max_tokens`` and ``max_cost`` add up the ``usage`` of assistant messages, or take that of the
    run's end where it is higher: input and output tokens, and the cost in the currency that the producer writes.
    ``max_seconds`` is the time from the first to the last event by the clock of one producer, pauses included. A limit
    whose numbers the run does not carry is not graded, unless another one is exceeded.

    >>> from stream_graders.testing import graded, run
    >>> graded(Budget(max_calls=1), run().calls("find").calls("find").ends()).evidence
    '2 tool calls, at most 1 allowed'
    """

    max_calls: int | None = None
    max_steps: int | None = None
    max_turns: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    max_seconds: float | None = None

    calls: int = field(default=0, init=False)
    turns: int = field(default=0, init=False)
    steps: int = field(default=0, init=False)
    at: list[int] = field(default_factory=list, init=False)
    """Turn and step of the agent's last event."""
    unnumbered: bool = field(default=False, init=False)
    """An event of the agent has no step."""
    spent: list[float | None] = field(default_factory=lambda: [None, None], init=False)
    """Tokens and cost of the messages so far; None while none reports them."""
    unspent: list[bool] = field(default_factory=lambda: [False, False], init=False)
    """An assistant message reports no tokens, no cost."""
    total: list[float | None] = field(default_factory=lambda: [None, None], init=False)
    """Tokens and cost as the run's end reports them."""
    clocks: dict[str, list[float]] = field(default_factory=dict, init=False)
    """The earliest and latest time of each producer's events."""
    events: int = field(default=0, init=False)
    over: list[Any] | None = field(default=None, init=False)
    """The event that exceeded a limit: id, seq, what it is to say, is it about steps?"""

    def __post_init__(self) -> None:
        self._limits: list[tuple[str, float]] = [
            (name[4:], limit) for name, limit in self.settings().items() if limit is not None
        ]
        self._usage = self.max_tokens is not None or self.max_cost is not None

    def wants(self) -> tuple[type[Event], ...]:
        if self.max_seconds is not None:
            return (RunStart, Message, ToolCall, ToolResult, RunEnd)
        found: list[type[Event]] = []
        if self.max_calls is not None or self.max_steps is not None:
            found.append(ToolCall)
        if self.max_steps is not None or self.max_turns is not None or self._usage:
            found.append(Message)
        return (*found, RunEnd) if self._usage else tuple(found)

    def needs(self) -> frozenset[str]:
        return frozenset() if self.max_calls is None and self.max_steps is None else frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        if not self._limits:
            return [("max_calls", "set at least one limit: nothing could exceed none")]
        return [(f"max_{name}", "should be 0 or more") for name, limit in self._limits if limit < 0]

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        is_call = type(event) is ToolCall
        if is_call:
            self.calls += 1
            if self._exceeds("calls", self.max_calls, self.calls, event):
                return
        if self.max_steps is not None and (is_call or seen.is_assistant):
            self._step(seen)
            if self._exceeds("steps", self.max_steps, self.steps, event):
                return
        if self.max_turns is not None and type(event) is Message:
            self.turns = max(self.turns, seen.turn + 1)
            if self._exceeds("turns", self.max_turns, self.turns, event):
                return
        if self._usage and not is_call:
            self._spend(seen)
            for name, limit in (("tokens", self.max_tokens), ("cost", self.max_cost)):
                if limit is not None and self._exceeds(name, limit, self._measured(name), event):
                    return
        if self.max_seconds is not None:
            self._time(event)
            self._exceeds("seconds", self.max_seconds, self._measured("seconds"), event)

    def _exceeds(self, name: str, limit: float | None, value: float | None, event: Event) -> bool:
        """Is a limit exceeded by what was measured? Then this event decides."""
        if limit is None or value is None or value <= limit:
            return False
        told = f"{_said(name, value)}, at most {limit:g} allowed"
        self.over = [event.id, event.seq, told, name == "steps"]
        self.settled = True
        return True

    def _step(self, seen: Seen) -> None:
        step = seen.event.step
        if step is None:
            self.unnumbered = True
        elif self.at != [seen.turn, step]:
            self.at = [seen.turn, step]
            self.steps += 1

    def _spend(self, seen: Seen) -> None:
        event = seen.event
        if type(event) is RunEnd:
            self.total = [_tokens(event.usage), _first(event.usage, _COST)]
        elif type(event) is Message and event.role == "assistant":
            if event.usage is None:
                self.unspent = [True, True]
                return
            for n, value in enumerate((_tokens(event.usage), _first(event.usage, _COST))):
                if value is None:
                    self.unspent[n] = True
                else:
                    self.spent[n] = (self.spent[n] or 0) + value

    def _time(self, event: Event) -> None:
        now = seconds(event)
        if self.events < 2:
            self.events += 1
        clock = self.clocks.get(event.producer)
        if clock is not None:
            if now > clock[1]:
                clock[1] = now
            elif now < clock[0]:
                clock[0] = now
        elif len(self.clocks) < 16:  # As many producers as the order of a run knows (design 5).
            self.clocks[event.producer] = [now, now]

    def _measured(self, name: str) -> float | None:
        """What a limit limits, as far as it is known; None where the run does not carry it."""
        if name == "calls":
            return self.calls
        if name == "turns":
            return self.turns
        if name == "steps":
            return self.steps
        if name == "seconds":
            span = 0.0
            for first, latest in self.clocks.values():
                span = max(span, latest - first)
            return span if span or self.events < 2 else None
        n = 0 if name == "tokens" else 1
        spent, total = self.spent[n], self.total[n]
        return spent if total is None or (spent is not None and spent > total) else total

    def _compared(self) -> list[tuple[str, float, float | None]]:
        """What is limited, its limit, and what was measured."""
        return [(name, limit, self._measured(name)) for name, limit in self._limits]

    def _unknown(self, run: RunFacts) -> list[str]:
        """The limits of which it is not known that they were kept."""
        silent = not run.reported("messages")
        doubtful = {
            "turns": silent,
            "steps": silent or self.unnumbered,
            "tokens": self.total[0] is None and (silent or self.unspent[0]),
            "cost": self.total[1] is None and (silent or self.unspent[1]),
        }
        return [name for name, _, value in self._compared() if value is None or doubtful.get(name)]

    def finding(self, run: RunFacts) -> Finding:
        if self.over is not None:
            event_id, seq, told, ordered = self.over
            sound = not (ordered and run.disordered)
            return Finding(Outcome.FAIL, Reason.OUTSIDE_LIMIT, told, (Point(event_id, seq),), sound=sound)
        told = ", ".join(
            f"{_said(name, value)} of {limit:g}" for name, limit, value in self._compared() if value is not None
        )
        unknown = self._unknown(run)
        if unknown:
            text = f"the run does not carry all {' and '.join(unknown)}" + (f"; so far: {told}" if told else "")
            return Finding(Outcome.NOT_GRADED, Reason.NOT_MEASURED, text)
        return Finding(Outcome.PASS, Reason.WITHIN_LIMIT, told)


def _said(name: str, value: float) -> str:
    value = round(value, 3 if name == "seconds" else 6)
    number = str(int(value)) if value == int(value) else str(value)
    if name == "cost":
        return f"a cost of {number}"
    return f"{number} tool calls" if name == "calls" else f"{number} {name}"


def _first(usage: Any, names: tuple[str, ...]) -> float | None:
    """The first of these numbers that a usage carries."""
    for name in names if isinstance(usage, dict) else ():
        value = usage.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def _tokens(usage: Any) -> float | None:
    total = _first(usage, _TOTAL)
    if total is not None:
        return total
    parts = [value for names in (_INPUT, _OUTPUT) if (value := _first(usage, names)) is not None]
    return sum(parts) if parts else None
