"""What can happen in a run: the neutral event, ``stream_graders.event/1``.

One struct a type, frozen and tagged by ``type``. A struct is at once the wire format, the source of the published JSON
Schema and what graders see. Unknown fields are ignored; a missing one that is required refuses the record.
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

SCHEMA: Literal["stream_graders.event/1"] = "stream_graders.event/1"

Text = Annotated[str, Meta(min_length=1, max_length=512)]
Timestamp = Annotated[datetime, Meta(tz=True)] | int
Content = str | list[dict[str, Any]] | None
Count = Annotated[int, Meta(ge=0)]
Record = Literal["messages", "tools", "results", "usage", "end"]


class ClosedList(StrEnum):
    """A closed list of reasons: the value is what is published and counted, ``meaning`` says it to a reader."""

    meaning: str

    def __new__(cls, value: str, meaning: str = "") -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.meaning = meaning
        return member


class DeadLetter(ClosedList):
    """Why a record is dead-lettered: the closed list."""

    NO_VALUE = "no_value", "the record has no value (a tombstone), and the journal keeps events, not keys"
    OVERSIZED = "oversized", "the record is larger than an event may be"
    REGISTRY_FRAMING = "registry_framing", "the value starts with a schema registry's frame: send plain JSON"
    NOT_JSON = "not_json", "the value is not JSON (NaN and Infinity are not, nor is half a surrogate pair)"
    NOT_UTF8 = "not_utf8", "the value is not UTF-8"
    TOO_DEEP = "too_deep", "the value is nested deeper than 200 levels"
    NOT_AN_EVENT = "not_an_event", "the value is JSON, but no object with a type"
    SCHEMA_UNKNOWN = "schema_unknown", "the schema is none that this version reads"
    NO_RUN_ID = "no_run_id", "the event names no run"
    INVALID = "invalid", "a field is missing or has the wrong type"
    KEY_MISMATCH = "key_mismatch", "the record's key is not the run id, so the run may lie on two partitions"
    TENANT_MISMATCH = "tenant_mismatch", "the event's tenant is not that of its run"
    SEQ_FAR_AHEAD = "seq_far_ahead", "the number is more than 10,000 beyond the expected one"
    LATE = "late", "the run is over and its amend window closed"
    SESSION_FAILED = "session_failed", "the program failed on the event: please report it"


class Agent(Struct, frozen=True, omit_defaults=True, gc=False):
    """Who acts: ``name`` selects suites, ``version`` tells releases apart."""

    name: Text
    version: str | None = None
    id: str | None = None


class Trace(Struct, frozen=True, omit_defaults=True, gc=False):
    """Where the run stands in a tracing store."""

    trace_id: str
    span_id: str | None = None
    parent_span_id: str | None = None


class Event(Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True, gc=False):
    """The envelope every event shares."""

    schema: Literal["stream_graders.event/1"]
    id: Text
    run_id: Text
    ts: Timestamp
    """When it happened at its source: RFC 3339 with an offset, or nanoseconds since 1970. Shown, never used for order."""
    seq: Count | None = None
    """Counter per run and producer, from 0, without holes: it makes loss and order visible."""
    producer: str = ""
    """The emitting process, new at each of its starts: the scope of ``seq``."""
    turn: Count | None = None
    step: Count | None = None
    agent: Agent | None = None
    environment: str | None = None
    tenant: str | None = None
    session_id: str | None = None
    parent_run_id: str | None = None
    root_run_id: str | None = None
    trace: Trace | None = None
    flags: tuple[str, ...] = ()
    attributes: dict[str, Any] | None = None


class Expected(Struct, frozen=True, omit_defaults=True):
    """References a run brings along, for graders that take them."""

    criteria: Any = None
    expected_facts: Any = None
    expected_tools: Any = None
    format: str | None = None
    rubric_ref: str | None = None
    metadata: dict[str, Any] | None = None


class RunStart(Event, tag="run.start", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A run begins. ``reports`` makes silence a fact: with ``tools`` in it, no call seen means no call made."""

    reports: tuple[Record, ...] | None = None
    expected: Expected | None = None
    labels: dict[str, str] | None = None
    model: str | None = None
    variant: Literal["live", "candidate"] = "live"
    pair_id: str | None = None
    input: Content = None
    task: str | None = None


class Message(Event, tag="message", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Somebody says something. No ``content`` at all means it was not sent; null and "" are an empty message."""

    role: str
    content: Content | UnsetType = UNSET
    message_id: str | None = None
    name: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    usage: dict[str, Any] | None = None


class ToolCall(Event, tag="tool.call", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The agent asks for a tool."""

    name: Text
    call_id: str | None = None
    args: Any = UNSET
    args_raw: str | None = None
    plugin_id: str | None = None
    kind: str | None = None
    server: str | None = None


class ToolResult(Event, tag="tool.result", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A tool answers. No ``result`` at all means it was not sent; null is a tool that returned nothing."""

    call_id: str | None = None
    name: str | None = None
    result: Any = UNSET
    result_raw: str | None = None
    """The text as the tool sent it, kept by whoever parsed it into ``result``."""
    parts: list[dict[str, Any]] | None = None
    is_error: bool | None = None
    error: dict[str, Any] | None = None
    duration_ms: float | None = None


class TurnEnd(Event, tag="turn.end", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The current turn is over."""


class RunPause(Event, tag="run.pause", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The run waits for somebody on purpose: silence does not end it."""

    reason: str | None = None


class RunResume(Event, tag="run.resume", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The wait is over."""


class RunEnd(Event, tag="run.end", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The run is over; ``last_seq`` says how many events its producer sent."""

    status: Literal["ok", "error", "cancelled", "timeout", "limit", "handoff", "unknown"] = "unknown"
    last_seq: Count | None = None
    output: Content = None
    reason: str | None = None
    error: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None
    implied: bool = False


class RunOutcome(Event, tag="run.outcome", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A label that comes later: a reward, a person's verdict, a business result."""

    name: str
    value: Any = None
    label: str | None = None
    explanation: str | None = None
    annotator: str | None = None


class Custom(Event, tag="custom", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Anything else a producer wants in the journal; it only takes its ``seq``."""

    name: str | None = None
    body: Any = None


class JudgeAnswer(Event, tag="judge.answer", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """A judge's reply to a request of ours; written by the judge worker alone."""

    request_id: str
    answer: Any = None
    mac: str | None = None
    """What only who holds the key of judge and worker can have computed over the request and the answer."""


class Tick(Struct, tag="tick", tag_field="type", frozen=True, kw_only=True, gc=False):
    """Log time passes in a partition; written by a worker alone, belongs to no run."""

    schema: Literal["stream_graders.event/1"]


class Unknown(Event, tag="unknown", frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """What an edge puts in place of an event it cannot give to graders, so that its ``seq`` is taken.

    ``lost`` tells a record whose body could not be read (the run now lacks an event) from a type of a later version.
    """

    lost: bool = False


AnyEvent = (
    RunStart
    | Message
    | ToolCall
    | ToolResult
    | TurnEnd
    | RunPause
    | RunResume
    | RunEnd
    | RunOutcome
    | Custom
    | JudgeAnswer
)

UNSENT: Any = UNSET
"""The value of a ``content``, ``args`` or ``result`` that its sender left out."""

OPENERS = (RunStart, Message, ToolCall, ToolResult, RunEnd)
"""The types that open a run; the others never do."""

ASIDES = (RunOutcome, Custom, JudgeAnswer, Unknown)
"""The types that never open, reopen or amend a run and are no activity."""


def text_of(content: Content | UnsetType) -> str:
    """All text parts, joined by newlines; reasoning and media are not text.

    >>> text_of([{"type": "text", "content": "a"}, {"type": "blob"}, {"type": "text", "content": "b"}])
    'a\\nb'
    """
    if isinstance(content, str):
        return content
    if not content:
        return ""
    return "\n".join(
        part["content"] for part in content if part.get("type") == "text" and isinstance(part.get("content"), str)
    )


def at_place(expected: Expected, place: str) -> Any:
    """What a run expects at a place, ``metadata.canary``; None where there is nothing."""
    name, _, inner = place.partition(".")
    value: Any = getattr(expected, name)
    for step in inner.split(".") if inner else ():
        value = value.get(step) if isinstance(value, dict) else None
    return value


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stamp(ts: datetime | int | str) -> str:
    """The one spelling of a time in what we publish: UTC, milliseconds, or microseconds where there are any.

    >>> stamp(1_764_410_400_123_000_000)
    '2025-11-29T10:00:00.123Z'
    """
    if isinstance(ts, str):
        return ts  # Stamped before.
    if isinstance(ts, int):
        try:
            moment = _EPOCH + timedelta(microseconds=ts // 1000)
        except OverflowError:
            return f"{ts}ns"
    elif ts.tzinfo is UTC:
        moment = ts
    else:
        try:
            moment = ts.astimezone(UTC)
        except OverflowError:  # The first or last hours of the calendar, in another zone.
            return ts.isoformat()
    precision = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.isoformat(timespec=precision)[: -len("+00:00")] + "Z"


_ENCODER = msgspec.json.Encoder()
_SORTED = msgspec.json.Encoder(order="sorted")
_DECODER = msgspec.json.Decoder()
_SYNTAX = msgspec.json.Decoder(msgspec.Raw)
"""Reads without making values: a fifth of the time."""
_Kept = AnyEvent | Unknown


def to_json(value: Any) -> bytes:
    """Compact JSON of structs and JSON values: no blanks, keys as they came, non-ASCII kept, integers exact."""
    return _ENCODER.encode(value)


def from_json(data: bytes | str) -> Any:
    """The value of a JSON text; integers exact.

    Raises:
        ValueError: it is not JSON.
        RecursionError: it is nested too deep.
    """
    return _DECODER.decode(data)


def is_json(text: str) -> bool:
    """Is it JSON, as far as a quick reader can tell? What it refuses may be JSON all the same, such as deep nesting."""
    try:
        _SYNTAX.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def canonical_json(value: Any) -> bytes:
    """Compact JSON with sorted keys: equal values have equal bytes."""
    return _SORTED.encode(value)


def compact(value: Any) -> str:
    """`to_json` as text.

    >>> compact({"b": 12345678901234567890123, "a": ["é", None]})
    '{"b":12345678901234567890123,"a":["é",null]}'
    """
    return _ENCODER.encode(value).decode()


def part_of_json(value: Any) -> Any:
    """A value that was encoded once, to stand in larger ones that `to_json` encodes again and again."""
    return msgspec.Raw(_ENCODER.encode(value))


def expected_from(value: Any) -> Expected:
    """References from their JSON value, as a kept state holds them."""
    return msgspec.convert(value, Expected)


def event_from(value: Any) -> Event:
    """An event from its JSON value, as a kept state holds it."""
    event: Event = msgspec.convert(value, _Kept)
    return event
