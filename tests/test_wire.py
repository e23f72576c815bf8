"""Bytes to events: each way a record can be bad, and what is read exactly; the published schemas."""

import json
from pathlib import Path
from typing import Any

import pytest

import stream_graders
from stream_graders.events import (
    SCHEMA,
    UNSENT,
    DeadLetter,
    Event,
    Message,
    RunEnd,
    RunStart,
    Tick,
    ToolCall,
    ToolResult,
    Unknown,
    compact,
    from_json,
    to_json,
)
from stream_graders.testing import run
from stream_graders.wire import MAX_BYTES, MAX_DEPTH, Refused, decode, schemas
from tests.core.stories import STORIES

SECRET = "it's \"my\" 'secret' card 4111"


def record(**fields: Any) -> dict[str, Any]:
    """A record that reads, with these fields in place."""
    body = {
        "schema": SCHEMA,
        "id": "e1",
        "type": "message",
        "run_id": "r-7",
        "ts": 1_790_000_000_000_000_000,
        "role": "user",
    }
    return {name: value for name, value in {**body, **fields}.items() if value is not ...}


def encoded(**fields: Any) -> bytes:
    return json.dumps(record(**fields), ensure_ascii=False).encode()


def nested(levels: int) -> Any:
    value: Any = SECRET
    for _ in range(levels):
        value = [value]
    return value


def test_a_good_record_is_an_event() -> None:
    event = decode(encoded(content="hi", seq=3, producer="p"), b"r-7")
    assert isinstance(event, Message)
    assert (event.content, event.seq, event.producer, event.turn) == ("hi", 3, "p", None)


BAD: dict[str, tuple[bytes | None, bytes | None, DeadLetter]] = {
    "no value": (None, b"r-7", DeadLetter.NO_VALUE),
    "too large": (encoded(content="x" * MAX_BYTES), b"r-7", DeadLetter.OVERSIZED),
    "a registry's frame": (b"\x00\x00\x00\x00\x07" + encoded(), b"r-7", DeadLetter.REGISTRY_FRAMING),
    "no JSON": (b"{" + SECRET.encode(), b"r-7", DeadLetter.NOT_JSON),
    "empty": (b"", b"r-7", DeadLetter.NOT_JSON),
    "two values": (encoded() + encoded(), b"r-7", DeadLetter.NOT_JSON),
    "NaN": (encoded().replace(b'"user"', b"NaN"), b"r-7", DeadLetter.NOT_JSON),
    "half a surrogate pair": (encoded().replace(b'"user"', b'"\\ud800"'), b"r-7", DeadLetter.NOT_JSON),
    "no UTF-8": (encoded(content="é").replace("é".encode(), b"\xe9"), b"r-7", DeadLetter.NOT_UTF8),
    "too deep": (encoded(type="tool.result", result=nested(MAX_DEPTH)), b"r-7", DeadLetter.TOO_DEEP),
    "far too deep": (b"[" * 100_000, b"r-7", DeadLetter.TOO_DEEP),
    "too deep in a field that nobody reads": (encoded(extra=nested(MAX_DEPTH)), b"r-7", DeadLetter.TOO_DEEP),
    "a list": (b"[1]", b"r-7", DeadLetter.NOT_AN_EVENT),
    "no type": (encoded(type=...), b"r-7", DeadLetter.NOT_AN_EVENT),
    "a type that is no text": (encoded(type=7), b"r-7", DeadLetter.NOT_AN_EVENT),
    "another schema": (encoded(schema=SECRET), b"r-7", DeadLetter.SCHEMA_UNKNOWN),
    "no schema": (encoded(schema=...), b"r-7", DeadLetter.SCHEMA_UNKNOWN),
    "no run": (encoded(run_id=...), b"r-7", DeadLetter.NO_RUN_ID),
    "an empty run": (encoded(run_id="", role=7), b"r-7", DeadLetter.NO_RUN_ID),
    "a run that is no text": (encoded(run_id=7), b"r-7", DeadLetter.NO_RUN_ID),
    "another key": (encoded(), b"r-8", DeadLetter.KEY_MISMATCH),
    "another key, and a bad body": (encoded(role=7), b"r-8", DeadLetter.KEY_MISMATCH),
    "an empty key": (encoded(), b"", DeadLetter.KEY_MISMATCH),
    "no id": (encoded(id=...), b"r-7", DeadLetter.INVALID),
    "an empty id": (encoded(id=""), b"r-7", DeadLetter.INVALID),
    "a long id": (encoded(id="x" * 513), b"r-7", DeadLetter.INVALID),
    "no time": (encoded(ts=...), b"r-7", DeadLetter.INVALID),
    "a time without a zone": (encoded(ts="2026-01-01T00:00:00"), b"r-7", DeadLetter.INVALID),
    "a time that is a fraction": (encoded(ts=1.5), b"r-7", DeadLetter.INVALID),
    "a number as text": (encoded(seq="5"), b"r-7", DeadLetter.INVALID),
    "a number that is a fraction": (encoded(seq=5.5), b"r-7", DeadLetter.INVALID),
    "a number that is true": (encoded(seq=True), b"r-7", DeadLetter.INVALID),
    "a negative number": (encoded(seq=-1), b"r-7", DeadLetter.INVALID),
    "a negative turn": (encoded(turn=-1), b"r-7", DeadLetter.INVALID),
    "no role": (encoded(role=...), b"r-7", DeadLetter.INVALID),
    "content that is a number": (encoded(content=7), b"r-7", DeadLetter.INVALID),
    "content that is a list of texts": (encoded(content=[SECRET]), b"r-7", DeadLetter.INVALID),
    "an unknown status": (encoded(type="run.end", status=SECRET), b"r-7", DeadLetter.INVALID),
    "an unknown record": (encoded(type="run.start", reports=[SECRET]), b"r-7", DeadLetter.INVALID),
    "a call without a tool": (encoded(type="tool.call"), b"r-7", DeadLetter.INVALID),
    "an agent without a name": (encoded(agent={"version": "1"}), b"r-7", DeadLetter.INVALID),
    "labels that are no texts": (encoded(type="run.start", labels={"a": {"b": SECRET}}), b"r-7", DeadLetter.INVALID),
}


@pytest.mark.parametrize(("value", "key", "reason"), BAD.values(), ids=list(BAD))
def test_a_bad_record_is_refused_with_its_reason_and_without_its_content(
    value: bytes | None, key: bytes | None, reason: DeadLetter
) -> None:
    refused = decode(value, key)
    assert isinstance(refused, Refused)
    assert refused.reason is reason
    assert refused.detail
    assert len(refused.detail) <= 300
    for word in ("secret", "4111", "it's", '"my"'):
        assert word not in refused.detail


def test_every_reason_that_a_record_alone_can_give_is_here() -> None:
    of_a_run = {DeadLetter.TENANT_MISMATCH, DeadLetter.SEQ_FAR_AHEAD, DeadLetter.LATE, DeadLetter.SESSION_FAILED}
    assert {reason for _, _, reason in BAD.values()} == set(DeadLetter) - of_a_run
    assert all(reason.meaning for reason in DeadLetter)


TAKEN = {
    "a body that does not read takes the place of its event": (encoded(role=7, seq=3, producer="p"), True),
    "a call without a tool too": (encoded(type="tool.call", seq=3, producer="p"), True),
}


@pytest.mark.parametrize(("value", "lost"), TAKEN.values(), ids=list(TAKEN))
def test_where_the_envelope_reads(value: bytes, lost: bool) -> None:
    refused = decode(value, b"r-7")
    assert isinstance(refused, Refused)
    assert refused.taken is not None
    assert (refused.taken.seq, refused.taken.producer, refused.taken.lost) == (3, "p", lost)


def test_where_it_does_not_nothing_stands_in() -> None:
    refused = decode(encoded(seq="x", role=7), b"r-7")
    assert isinstance(refused, Refused)
    assert refused.taken is None


def test_a_type_of_a_later_version_takes_its_place_and_no_more() -> None:
    event = decode(encoded(type="memory.write", seq=4, body=[1]), b"r-7")
    assert isinstance(event, Unknown)
    assert (event.seq, event.lost) == (4, False)


def test_nobody_can_send_what_stands_in_for_a_lost_event_as_its_own() -> None:
    event = decode(encoded(type="unknown", lost=True), b"r-7")
    assert isinstance(event, Unknown)
    assert not event.lost


def test_a_tick_belongs_to_no_run() -> None:
    assert isinstance(decode(b'{"type":"tick","schema":"stream_graders.event/1"}', None), Tick)


def test_without_a_key_the_run_is_that_of_the_event() -> None:
    assert isinstance(decode(encoded(), None), Message)


def test_the_largest_and_the_deepest_record_are_read() -> None:
    room = MAX_BYTES - len(encoded(content=""))
    assert isinstance(decode(encoded(content="x" * room), b"r-7"), Message)
    deep = decode(encoded(type="tool.result", result=nested(MAX_DEPTH - 1)), b"r-7")
    assert isinstance(deep, ToolResult)


def test_many_brackets_in_a_text_are_not_depth() -> None:
    assert isinstance(decode(encoded(content="[" * 5_000), b"r-7"), Message)
    wide = decode(encoded(type="tool.result", result=[[]] * 5_000), b"r-7")
    assert isinstance(wide, ToolResult)


@pytest.mark.parametrize("number", [2**53 + 1, 2**63, 2**64 + 1, 10**40, -(10**40)])
def test_integers_are_exact(number: int) -> None:
    event = decode(encoded(type="tool.result", result={"n": number}), b"r-7")
    assert isinstance(event, ToolResult)
    assert event.result == {"n": number}
    assert compact(event.result) == f'{{"n":{number}}}'
    assert from_json(to_json(event))["result"] == {"n": number}


def test_a_number_of_any_size_is_a_number() -> None:
    event = decode(encoded(seq=10**30), b"r-7")
    assert isinstance(event, Message)
    assert event.seq == 10**30


@pytest.mark.parametrize("ts", [1, 0, -5, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.123456789+05:30"])
def test_times(ts: Any) -> None:
    assert isinstance(decode(encoded(ts=ts), b"r-7"), Message)


def test_nothing_and_null_are_told_apart() -> None:
    bare, null = decode(encoded(), None), decode(encoded(content=None), None)
    assert isinstance(bare, Message)
    assert isinstance(null, Message)
    assert (bare.content is UNSENT, null.content) == (True, None)


def test_unknown_fields_are_ignored() -> None:
    assert isinstance(decode(encoded(flavour="x", source={"topic": "t"}), b"r-7"), Message)


@pytest.mark.parametrize("story", STORIES.values(), ids=list(STORIES))
def test_what_we_write_we_read(story: list[Event]) -> None:
    for event in story:
        data = to_json(event)
        read = decode(data, event.run_id.encode())
        assert read == event
        assert isinstance(read, Event)
        assert to_json(read) == data


def test_every_type_travels() -> None:
    story = run().starts(labels={"a": "b"}).asks([{"type": "text", "content": "x"}]).calls("t", {"n": [1]}).returns({})
    for event in story.ends_turn().pauses().resumes().ends(output="x", error={"type": "e"}):
        assert decode(to_json(event), b"run-1") == event
    kinds = {type(decode(to_json(event), None)) for event in story}
    assert {RunStart, Message, ToolCall, ToolResult, RunEnd} < kinds


def test_the_schemas_that_are_shipped_are_those_of_the_code() -> None:
    folder = Path(stream_graders.__file__).parent / "schemas"
    shipped = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    assert shipped.pop("suite.json")  # Of what people write: tests/config/test_schema.py.
    assert shipped == json.loads(json.dumps(schemas())), "run: python -m stream_graders.wire"


def test_the_schemas_say_what_they_are() -> None:
    for name, schema in schemas().items():
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        assert schema["$id"] == f"stream_graders.{name.removesuffix('.json').replace('-', '/')}"
