"""Random legal runs, and what a broker and a network make of them.

A run is built from a list of small numbers, each an operation, so that Hypothesis draws it quickly and shrinks it to a
few events.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from stream_graders.events import (
    SCHEMA,
    UNSENT,
    Agent,
    Custom,
    Event,
    Message,
    RunEnd,
    RunOutcome,
    RunPause,
    RunResume,
    RunStart,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from stream_graders.session import At
from stream_graders.testing import EPOCH, Record

LONG = "x" * 80
TEXTS = (
    "one moment",
    "It is ORD-123456.",
    "lot Q7 for 58",
    "REFUNDED ord-123456",
    "I guarantee it",
    "lot q7",
    "",
    "ORD-777777 &amp; Straße",
    f"here: ORD-1234567 {LONG}",
    None,
    [{"type": "text", "content": "lot Q7"}, {"type": "blob"}, {"type": "text", "content": "58 refunded"}],
    "refund ORD-123456 for 58?",
)
RESULTS = (
    "ORD-123456",
    {"id": "ORD-123456", "n": 12345678901234567890123},
    '{"id":"ORD-777777"}',
    "",
    None,
    "not found",
    ["ORD-777777", {"id": 1}],
    {"id": None},
    "ORD-1234567 ORD-777777",
    f"ORD-1234567 {LONG}",
    "ORD-123456 and on",
    "Error: no such order",
)
ARGS: tuple[Any, ...] = (
    {"order": "ORD-123456", "amount": 58},
    {"order": "ORD-123456", "amount": 58.0},
    {"amount": 58, "order": "ORD-123456"},
    {"order": "ORD-777777", "amount": "12.50", "currency": "EUR"},
    '{"order":"ORD-123456","amount":58}',
    {"order": "ORD-123456", "amount": 7},
    {},
    '{"order":"ORD-12',
    ["ORD-123456"],
    None,
)
USAGES = (None, {"input_tokens": 30, "output_tokens": 5}, {"total_tokens": 40, "cost": 0.25}, {"cost": 1})
TOOLS = ("orders.find", "payments.refund", "orders.find", "auth.login", "orders.find.v2")
RECORDS = ("messages", "tools", "results", "usage", "end")


@dataclass
class Plan:
    """What holds of a whole run."""

    reports: tuple[str, ...] | None = RECORDS
    starts: bool = True
    producers: int = 1
    turns_sent: bool = False
    steps_sent: bool = False
    numbered: bool = True
    gaps_in_content: bool = False
    """Contents may be left out or cut."""
    ends: bool = True
    status: str = "ok"
    output: Any = None
    last_seq: bool = True
    labels: dict[str, str] | None = None
    ids_repeat: bool = True
    """Two calls may share an id."""
    agent_from: int = 0
    """The first event that names the agent."""


@dataclass
class Builder:
    """Makes a run from a plan and operations."""

    plan: Plan
    events: list[Event] = field(default_factory=list)
    open: list[tuple[str, str | None]] = field(default_factory=list)
    turn: int = 0
    users: int = 0
    step: int = 0
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, kind: type[Event], producer: int = 0, **body: Any) -> None:
        n = len(self.events)
        name = f"p{producer % self.plan.producers}"
        if self.plan.numbered:
            body["seq"] = self.counts.setdefault(name, 0)
            self.counts[name] += 1
        if self.plan.turns_sent:
            body["turn"] = self.turn
        agent = Agent("agent-1", "1.0") if n >= self.plan.agent_from else None
        self.events.append(
            kind(
                schema=SCHEMA, id=f"e{n}", run_id="r", ts=EPOCH + n * 1_000_000_000, producer=name, agent=agent, **body
            )
        )

    def run(self, operations: Sequence[int]) -> list[Event]:
        plan = self.plan
        if plan.starts:
            self.add(RunStart, reports=plan.reports, labels=plan.labels)
        for operation in operations:
            what, rest = divmod(operation, 64)
            OPERATIONS[what % len(OPERATIONS)](self, rest)
        if plan.ends:
            last = {"last_seq": self.counts.get("p0", 0)} if plan.last_seq and plan.numbered else {}
            self.add(RunEnd, output=plan.output, status=plan.status, **last)
        return self.events

    def user(self, n: int) -> None:
        self.turn += self.users > 0
        self.users += 1
        self.add(Message, n, role="user", content=TEXTS[n % len(TEXTS)])

    def assistant(self, n: int) -> None:
        self.step += 1
        content = self.content(TEXTS[n % len(TEXTS)], n)
        self.add(Message, n // 10, role="assistant", usage=USAGES[n % 5 % 4], **content, **self.in_step())

    def call(self, n: int) -> None:
        self.step += n % 3 > 0
        tool = TOOLS[n % len(TOOLS)]
        repeats = self.plan.ids_repeat and n % 5 == 0
        call_id = None if n % 7 == 0 else f"c{n % 4}" if repeats else f"c{len(self.events)}"
        self.open.append((tool, call_id))
        args = UNSENT if self.plan.gaps_in_content and n % 8 == 5 else ARGS[n % len(ARGS)]
        self.add(ToolCall, n // 16, name=tool, call_id=call_id, args=args, **self.in_step())

    def calls(self, n: int) -> None:
        self.call(n)
        self.call((n // 4) * 3)  # A multiple of three: made in the same step.

    def result(self, n: int) -> None:
        tool, call_id = self.open.pop(n % len(self.open)) if self.open else (TOOLS[n % len(TOOLS)], f"x{n}")
        body: dict[str, Any] = {"name": None if n % 4 == 0 else tool, "call_id": None if n % 5 == 0 else call_id}
        result = RESULTS[(n // 2) % len(RESULTS)]
        content = self.content(result, n)
        if "content" in content:
            content["result"] = content.pop("content")
        if isinstance(result, str) and n % 8 == 3:
            body["result_raw"] = result
        self.add(ToolResult, n // 16, **content, **body, is_error=(None, False, True)[n % 3])

    def content(self, content: Any, n: int) -> dict[str, Any]:
        if self.plan.gaps_in_content and n % 8 == 5:
            return {"content": UNSENT}
        if self.plan.gaps_in_content and n % 8 == 6:
            return {
                "content": content[: len(content) // 2] if isinstance(content, str) else "",
                "flags": ("truncated",),
            }
        return {"content": content}

    def in_step(self) -> dict[str, Any]:
        return {"step": self.step} if self.plan.steps_sent else {}

    def system(self, n: int) -> None:
        self.add(Message, n, role=("system", "tool", "developer")[n % 3], content=TEXTS[n % len(TEXTS)])

    def end_turn(self, n: int) -> None:
        self.add(TurnEnd, n)
        if self.plan.turns_sent:
            self.turn, self.users = self.turn + 1, 0

    def pause(self, n: int) -> None:
        self.add((RunPause, RunResume)[n % 2], n)

    def aside(self, n: int) -> None:
        if n % 2:
            self.add(Custom, n)
        else:
            self.add(RunOutcome, n, name="reward", value=n)


OPERATIONS: tuple[Callable[[Builder, int], None], ...] = (
    Builder.assistant, Builder.user, Builder.call, Builder.result, Builder.assistant, Builder.calls, Builder.result,
    Builder.user, Builder.call, Builder.result, Builder.assistant, Builder.system, Builder.end_turn, Builder.pause,
    Builder.aside, Builder.call,
)  # fmt: skip

_REPORTS = (RECORDS, RECORDS, RECORDS, None, RECORDS[1:], ("messages", "results", "end"), ("messages", "tools", "end"))
_OUTPUTS = (None, None, None, "the lot is q7, for 58", "", " ", "done")


def _plan(n: int, *, numbered: bool, ends: bool, ids_repeat: bool) -> Plan:
    """A plan from the digits of a number; the smallest number is the plainest plan."""

    def digit(base: int) -> int:
        nonlocal n
        n, rest = divmod(n, base)
        return rest

    return Plan(
        gaps_in_content=digit(4) == 3,
        producers=1 + digit(3) // 2,
        turns_sent=digit(4) == 3,
        steps_sent=digit(2) == 1,
        reports=_REPORTS[digit(len(_REPORTS))],
        output=_OUTPUTS[digit(len(_OUTPUTS))],
        status=("ok", "ok", "error", "cancelled")[digit(4)],
        starts=digit(8) != 7,
        last_seq=digit(4) != 3,
        labels=({"prompt": "v7"}, None, {"prompt": "v8"})[digit(3)],
        agent_from=(0, 0, 0, 1, 3, 99)[digit(6)],
        ends=not ends or digit(5) != 4,
        numbered=not numbered or digit(6) != 5,
        ids_repeat=ids_repeat,
    )


def built(
    plan: int, operations: Sequence[int], *, numbered: bool = False, ends: bool = False, ids_repeat: bool = True
) -> list[Event]:
    """The run of a plan's number and operations; ``numbered`` and ``ends`` let the plan leave numbers or the end out."""
    events = Builder(_plan(plan, numbered=numbered, ends=ends, ids_repeat=ids_repeat)).run(operations)
    return events or Builder(Plan()).run(operations)


def runs(
    *, may_lack_numbers: bool = False, may_lack_an_end: bool = False, ids_repeat: bool = True, longest: int = 24
) -> st.SearchStrategy[list[Event]]:
    """Complete legal runs of one or two producers."""

    def made(plan: int, operations: list[int]) -> list[Event]:
        return built(plan, operations, numbered=may_lack_numbers, ends=may_lack_an_end, ids_repeat=ids_repeat)

    operation = st.integers(0, 16 * 64 - 1)
    operations = st.one_of(
        st.lists(operation, max_size=longest), *(st.lists(operation, min_size=m, max_size=longest) for m in (8, 12))
    )
    return st.builds(made, st.integers(0, 2**31), operations)


PAUSES = (1_000, 1_000, 0, 1_000, 5_000, 20_000, 31_000, 65_000, 11 * 60_000, 2 * 3_600_000, 26 * 3_600_000)


@st.composite
def journals(draw: st.DrawFn) -> list[Record]:
    """What a broker may hold of a run: repetitions, losses, disorder, long pauses, a producer that starts again."""
    events = draw(runs(may_lack_numbers=True, may_lack_an_end=True, longest=16))
    faults = draw(st.lists(st.integers(0, 6 * 64 - 1), max_size=6))
    for fault in faults:
        kind, n = divmod(fault, 64)
        at = n % len(events)
        if kind == 0:
            events.insert(min(len(events), at + 1 + n % 3), events[at])
        elif kind == 1 and len(events) > 1:
            del events[at]
        elif kind == 2:
            events.insert(min(len(events), at + n % 6), events.pop(at))
        elif kind == 3:
            events.append(events[at])
        elif kind == 4:
            events += _again(events[:3], f"again{n}")
        else:
            events.append(_numbered(events[at], len(events) + n % 3, n))
    pauses = draw(st.lists(st.integers(0, len(PAUSES) - 1), min_size=len(events), max_size=len(events)))
    time, records = 1_000, list[Record]()
    for offset, (event, pause) in enumerate(zip(events, pauses, strict=True)):
        time += PAUSES[pause]
        records.append((event, At(time, 3 * offset, 300 + 4_000 * (pause % 3))))
    return records


def changed(event: Event, **fields: Any) -> Event:
    """The event with some fields replaced."""
    return type(event)(**{**{name: getattr(event, name) for name in event.__struct_fields__}, **fields})


def _again(events: Sequence[Event], prefix: str) -> list[Event]:
    """The producer starts again and counts from 0."""
    return [
        changed(
            event,
            id=f"{prefix}-{n}",
            ts=EPOCH + (1_000 + 10 * int(prefix[5:]) + n) * 1_000_000_000,
            seq=None if event.seq is None else n,
            producer=events[0].producer,
        )
        for n, event in enumerate(events)
    ]


def _numbered(event: Event, seq: int, n: int) -> Event:
    """A later event of the same producer, with another number and id."""
    return changed(
        event, id=f"later{n}", ts=EPOCH + (5_000 + n) * 1_000_000_000, seq=None if event.seq is None else seq
    )
