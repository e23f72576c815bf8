"""What holds whatever an agent hands in: nothing raises, every event decodes, and nothing is lost without being counted."""

import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_graders.emit import Emitter
from stream_graders.emit.runs import Run
from stream_graders.emit.sinks import MemorySink
from stream_graders.events import Event, RunStart, ToolResult
from tests.emit.held import HeldSink


class Hostile:
    """Raises at whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")


class HostileDict(dict[str, Any]):
    """A mapping that cannot be read."""

    def copy(self) -> Any:
        raise RuntimeError("copy")

    def items(self) -> Any:
        raise RuntimeError("items")

    def values(self) -> Any:
        raise RuntimeError("values")


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Order:
    order_id: str
    placed: datetime.date


class Row(msgspec.Struct):
    sku: str


class Model:
    """As pydantic's models are asked."""

    def model_dump(self) -> dict[str, Any]:
        return {"order_id": "ORD-1"}


class Text(str):
    __slots__ = ()


cycle: list[Any] = []
cycle.append(cycle)
deep: list[Any] = []
for _ in range(5_000):
    deep = [deep]

ODD: dict[str, Any] = {
    "hostile": Hostile(),
    "hostile mapping": HostileDict(a=1),
    "a class": Order,
    "a function": len,
    "not a number": math.nan,
    "infinity": {"a": [math.inf]},
    "half a surrogate pair": "a\ud800b",
    "half a pair as a key": {"\udfff": 1},
    "cycle": cycle,
    "deep": deep,
    "huge number": 10**5_000,
    "bytes": b"\xff\x00",
    "keys of all kinds": {1: "a", None: "b", (1, 2): "c", 1.5: "d", False: "e", Colour.RED: "f"},
    "a set": {1, 2},
    "a generator": (n for n in range(3)),
    "many": list(range(200_000)),
    "one long text": "x" * 3_000_000,
    "an exception": ValueError("no"),
}
KEPT: dict[str, tuple[Any, Any]] = {
    "an enum": (Colour.RED, "red"),
    "a dataclass": (Order("ORD-1", datetime.date(2026, 11, 29)), {"order_id": "ORD-1", "placed": "2026-11-29"}),
    "a struct": (Row("A"), {"sku": "A"}),
    "a model": (Model(), {"order_id": "ORD-1"}),
    "a time": (datetime.datetime(2026, 11, 29, tzinfo=datetime.UTC), "2026-11-29T00:00:00Z"),
    "a decimal": (decimal.Decimal("12.50"), "12.50"),
    "an id": (uuid.UUID(int=7), str(uuid.UUID(int=7))),
    "bytes": (b"abc", "YWJj"),
    "a tuple": ((1, None), [1, None]),
    "a text of a kind of its own": (Text("a"), "a"),
    "non-ASCII": ("é ✓ 😀", "é ✓ 😀"),
    "a large number": (2**70, 2**70),
}

USES: dict[str, Callable[[Run, Any], object]] = {
    "user": lambda run, odd: run.user(odd),
    "assistant": lambda run, odd: run.assistant(odd, usage=odd, model=odd),
    "role": lambda run, odd: run.message(odd, odd),
    "args": lambda run, odd: run.tool("t", odd),
    "tool": lambda run, odd: run.tool(odd, odd, call_id=odd),
    "result": lambda run, odd: run.tool("t").result(odd, is_error=True),
    "pause": lambda run, odd: run.pause(odd),
    "outcome": lambda run, odd: run.outcome(odd, odd),
    "custom": lambda run, odd: run.custom(odd, odd),
    "end": lambda run, odd: run.end(odd, odd),
}


def sent_by(use: Callable[[Emitter], object]) -> tuple[list[Any], Emitter]:
    sink = MemorySink()
    emitter = Emitter(sink, agent="a")
    use(emitter)
    emitter.close(timeout=60)
    return sink.events, emitter


# By name: pytest itself cannot bear to look at some of them.
@pytest.mark.parametrize("odd", list(ODD))
@pytest.mark.parametrize("use", list(USES))
def test_whatever_is_handed_in_is_sent_and_decodes(use: str, odd: str) -> None:
    events, emitter = sent_by(lambda emitter: USES[use](emitter.run("r-1"), ODD[odd]))
    assert all(isinstance(event, Event) for event in events), events
    assert [event.seq for event in events] == list(range(emitter.stats().sent))
    assert emitter.stats().sent == emitter.stats().enqueued >= 2


@pytest.mark.parametrize("odd", list(ODD))
def test_a_run_takes_anything_for_its_fields(odd: str) -> None:
    names = ("run_id", "agent", "version", "model", "session_id", "labels", "expected", "variant", "pair_id")
    events, _ = sent_by(lambda emitter: [emitter.run(**{name: ODD[odd]}) for name in names])
    assert [type(event) for event in events] == [RunStart] * len(names)


@pytest.mark.parametrize(("value", "kept"), list(KEPT.values()), ids=list(KEPT))
@pytest.mark.parametrize("beside", [0, math.nan], ids=["as it comes", "beside what needs a closer look"])
def test_values_that_json_lacks_have_one_form(value: Any, kept: Any, beside: float) -> None:
    events, _ = sent_by(lambda emitter: emitter.run().tool("t").result({"value": value, "beside": beside}))
    returned = events[-1]
    assert isinstance(returned, ToolResult)
    assert returned.result["value"] == kept
    assert returned.flags == (("unserialisable",) if beside else ())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(JSON)
def test_json_arrives_as_it_is(value: Any) -> None:
    events, _ = sent_by(lambda emitter: emitter.run().tool("t").result(value))
    returned = events[-1]
    assert isinstance(returned, ToolResult)
    assert returned.result == value
    assert returned.flags == ()


FLOODS = {
    "messages, too many": (["user"] * 12_000, 10),
    "everything, too many": (["user", "result", "custom"] * 3_000, 10),
    "calls, too many": (["args"] * 12_000, 10),
    "messages, too large": (["user"] * 300, 800_000),
    "everything, too large": (["user", "result", "custom", "args"] * 80, 800_000),
}


@pytest.mark.parametrize(("uses", "size"), list(FLOODS.values()), ids=list(FLOODS))
def test_missing_numbers_are_the_reported_drops(uses: list[str], size: int) -> None:
    sink = HeldSink()
    emitter = Emitter(sink)
    runs = [emitter.run(f"r-{n}") for n in range(3)]
    for n, use in enumerate(uses):
        USES[use](runs[n % 3], "x" * size)
    for run in runs:
        run.end()
    sink.release()
    emitter.close(timeout=60)
    stats, events = emitter.stats(), sink.events
    missing = stats.enqueued - len(events)
    assert missing == sum(stats.dropped.values())
    assert (stats.sent, stats.failed, stats.waiting) == (len(events), 0, 0)
    for run in runs:
        numbers = [event.seq for event in events if event.run_id == run.run_id]
        assert numbers == sorted(set(numbers))
    emptied = Counter(event.__struct_config__.tag for event in events if "content_missing" in event.flags)
    assert emptied == stats.emptied
