"""What a grader is, and what it is shown.

A grader reads one run event by event. Its settings are the fields of its dataclass; its state are the fields that
``init=False`` keeps out of the constructor, all JSON values. It never asks the time, the world or another grader.
"""

from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from operator import attrgetter
from typing import Any, ClassVar, Self, TypeVar

from .events import UNSENT, Event, Message, RunEnd, ToolResult, compact, text_of
from .verdicts import Finding, Point

EXCERPT = 120
"""Characters of a text that evidence may quote."""


Made = TypeVar("Made")


class Seen:
    """An event in its place in the run, with what several graders want of it worked out once.

    ``position`` counts the run's applied events from 0. ``gap`` is true if an event before this one may be missing.
    """

    __slots__ = (
        "_lower",
        "_made",
        "_text",
        "call",
        "event",
        "gap",
        "is_assistant",
        "late",
        "loose",
        "position",
        "tool",
        "truncated",
        "turn",
    )

    def __init__(
        self, event: Event, position: int, turn: int, gap: bool = False, late: bool = False, loose: bool = False
    ) -> None:
        self.event = event
        self.position = position
        self.turn = turn
        self.gap = gap
        self.late = late
        """It fills a gap that was given up; its position is that of the event after the gap."""
        self.loose = loose
        """Its place among other producers' events is not certain: some of theirs wait behind a gap, or did."""
        self.truncated = "truncated" in event.flags if event.flags else False
        self.is_assistant = type(event) is Message and event.role == "assistant"
        """Is this a message of the assistant?"""
        self.tool: str | None = None
        """The tool of a call or result; a result without a name takes that of its call."""
        self.call: int | None = None
        """Of a result: the position of its call, where that is known."""
        self._text: str | None = None
        self._lower: str | None = None
        self._made: dict[Callable[[Seen], Any], Any] | None = None

    def once(self, work: Callable[["Seen"], Made]) -> Made:
        """What a function makes of this event, worked out for the first grader that asks and handed to the others.

        The function has a name in its module, so that it is the same for all, looks at nothing else, and nobody
        changes what it gave.
        """
        made = self._made
        if made is None:
            made = self._made = {}
        elif work in made:
            return made[work]  # type: ignore[no-any-return]  # what this very function gave
        found = made[work] = work(self)
        return found

    @property
    def text(self) -> str:
        """A message's text, a tool result's searched text ("" if it returned nothing), or the output of a run's end."""
        if self._text is None:
            event = self.event
            if type(event) is Message:
                self._text = text_of(event.content)
            elif type(event) is ToolResult:
                self._text = result_text(event)
            elif type(event) is RunEnd:
                self._text = text_of(event.output)
            else:
                self._text = ""
        return self._text

    @property
    def lower(self) -> str:
        """The text in lower case, as the source families compare."""
        if self._lower is None:
            self._lower = self.text.lower()
        return self._lower

    @property
    def partial(self) -> bool:
        """Was some of its content, or all of it, left out or cut by its sender?"""
        event = self.event
        if self.truncated or (event.flags and "content_missing" in event.flags):
            return True
        return (type(event) is Message and event.content is UNSENT) or (
            type(event) is ToolResult and event.result is UNSENT and event.result_raw is None
        )

    def point(self, path: str | None = None, excerpt: str | None = None) -> Point:
        """This event as evidence."""
        return Point(self.event.id, self.event.seq, path, excerpt)


def result_text(event: ToolResult) -> str:
    """The text of a tool result that patterns search: as sent where there is one, else compact JSON; null is none."""
    if event.result_raw is not None:
        return event.result_raw
    result = event.result
    if isinstance(result, str):
        return result
    return "" if result is None or result is UNSENT else compact(result)


@dataclass
class RunFacts:
    """What holds of the whole run (or turn) so far, beside its events."""

    tools_known: bool = False
    """The run reports its tool calls: none seen means none made."""
    messages_known: bool = True
    results_known: bool = True
    reports: list[str] | None = None
    """The records that the run says it reports; None where it does not say. A content left out later changes nothing."""
    lost: bool = False
    """An event is missing, or may be."""
    tail_unknown: bool = False
    """The run ended by silence: its last events may be missing."""
    last_gap: int = -1
    """The position before which the latest known gap lies; -1 without one."""
    disordered: bool = False
    """Events of one of several producers are missing: what came before which of the others' is not known."""
    ended: bool = False
    status: str | None = None

    def reported(self, record: str) -> bool:
        """Does the run report a record, as far as it says? Without it, what was not seen may have been all the same."""
        return self.reports is None or record in self.reports


@dataclass
class Grader:
    """One question about a run, asked event by event.

    A subclass is a dataclass in a module of a family; its settings are checked from the types of its fields. ``update``
    takes one event; `finding` says what holds now. A grader that no event can change any more sets ``settled``.
    """

    name: ClassVar[str]
    """Family and module, ``vally.transcript_contains``: the YAML name, the manual page and the metric label."""
    version: ClassVar[int] = 1
    """Raised when a verdict of this grader comes to mean something else."""
    order_free: ClassVar[bool] = False
    """True if the order of events does not matter: such a grader takes late ones."""
    grows: ClassVar[bool] = False
    """True if the state grows with the run; `size` is then asked after each event."""

    scale: ClassVar[tuple[float, float]] = (0, 1)
    """The lowest and the highest score that it can give."""
    pass_at: ClassVar[float | None] = None
    """The score from which a run passes; None where the grader says itself what passes."""
    assumes: ClassVar[str | None] = None
    """What makes a run fail that has nothing to do with the question: "a run in which …". Such a check wants `when`."""
    metadata: ClassVar[dict[str, str]] = {}
    """What its source says of such a grader, in the source's words: for manual pages and reports."""
    asks: ClassVar[bool] = False
    """True if a judge has to answer before it has a verdict: see `questions.JudgeGrader`."""
    of_record: ClassVar[bool] = False
    """True if it judges how the run was recorded: what is missing is what it looks for, and a fail because of that is
    no wrong verdict on the run."""
    references: ClassVar[dict[str, str]] = {}
    """Settings that a run may bring along, each with its place in ``expected`` of its start, as ``metadata.canary``. Such a setting
    is typed ``Any``, and whatever it holds raises nothing."""

    settled: bool = field(default=False, init=False)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        package, _, module = cls.__module__.rpartition(".")
        cls.name = f"{package.rpartition('.')[2]}.{module}"

    def wants(self) -> tuple[type[Event], ...]:
        """The event types that ``update`` is to be called with."""
        raise NotImplementedError

    def needs(self) -> frozenset[str]:
        """Records without which an unsound finding is no finding: ``messages``, ``tools``, ``results``."""
        return frozenset()

    def update(self, seen: Seen) -> None:
        """Take one event of a type that it wants."""
        raise NotImplementedError

    def finding(self, run: RunFacts) -> Finding:
        """What holds now, read as if the run ended here. Changes nothing."""
        raise NotImplementedError

    def size(self) -> int:
        """Bytes of state, about; asked only of a grader that ``grows``."""
        return 0

    def problems(self) -> list[tuple[str, str]]:
        """Settings that cannot work, as (setting, what is wrong and what to do); asked when a suite is loaded."""
        return []

    def warnings(self) -> list[tuple[str, str]]:
        """Settings that will work as written, but hardly as meant; asked when a suite is loaded."""
        return []

    def settings(self) -> dict[str, Any]:
        """The settings, as they stand in a suite file."""
        return {f.name: getattr(self, f.name) for f in setting_fields(type(self))}

    def fresh(self) -> Self:
        """A grader with these settings that has seen nothing. Ask it of one that has seen nothing itself."""
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__)
        for name, make in _shape(type(self)).makers:
            new.__dict__[name] = make()
        return new

    def snapshot(self) -> list[Any]:
        """The state as JSON values. Not a copy: encode it before the next ``update``."""
        return _shape(type(self)).read(self)

    def restore(self, values: list[Any]) -> None:
        """Take over a state that `snapshot` gave."""
        self.__dict__.update(zip(_shape(type(self)).names, values, strict=True))


def state_fields(kind: type[Grader]) -> tuple[Field[Any], ...]:
    """The fields of a grader that are state, in a fixed order."""
    return tuple(f for f in fields(kind) if not f.init)


@dataclass(frozen=True)
class _Shape:
    """What `Grader` wants of a class's state fields at each run and batch, worked out once."""

    names: tuple[str, ...]
    makers: tuple[tuple[str, Callable[[], Any]], ...]
    """Of the fields that begin with a value of their own, the name and what makes it."""
    read: Callable[[Grader], list[Any]]


_SHAPES: dict[type[Grader], _Shape] = {}


def _shape(kind: type[Grader]) -> _Shape:
    known = _SHAPES.get(kind)
    return known if known is not None else _SHAPES.setdefault(kind, _shape_of(kind))


def _shape_of(kind: type[Grader]) -> _Shape:
    state = state_fields(kind)
    names = tuple(f.name for f in state)
    makers = tuple((f.name, f.default_factory) for f in state if callable(f.default_factory))
    get = attrgetter(*names)
    return _Shape(
        names, makers, (lambda grader: list(get(grader))) if len(names) > 1 else (lambda grader: [get(grader)])
    )


def setting_fields(kind: type[Grader]) -> tuple[Field[Any], ...]:
    """The fields of a grader that are settings."""
    return tuple(f for f in fields(kind) if f.init)


def shown(value: str) -> str:
    """A value, tool or pattern as evidence shows it: a JSON string."""
    return compact(value)


def excerpt(text: str, start: int, end: int) -> str:
    """What stands around ``text[start:end]``, cut to `EXCERPT` characters with marks where it was cut."""
    room = max(0, EXCERPT - (end - start)) // 2
    left, right = max(0, start - room), min(len(text), min(end, start + EXCERPT) + room)
    return ("…" if left else "") + text[left:right] + ("…" if right < len(text) else "")
