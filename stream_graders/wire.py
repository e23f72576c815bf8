"""Bytes to events, with every way a record can be bad, and the published JSON Schemas.

A record is validated whole or refused with a reason from a closed list (`DeadLetter`); it is never half read. The detail
of a refusal names the place and never repeats the record's content.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from .events import SCHEMA, AnyEvent, DeadLetter, Event, Tick, Unknown, from_json
from .verdicts import JudgeRequest, RunVerdict, Verdict, Violation

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 200

_DECODER: msgspec.json.Decoder[Event | Tick] = msgspec.json.Decoder(AnyEvent | Tick)
_TYPES = {kind.__struct_config__.tag for kind in AnyEvent.__args__} | {"tick"}
_QUOTED = re.compile(r"'.*'", re.DOTALL)
"""From the first quote to the last: what stands between may hold quotes of its own."""


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that is no event. ``taken`` stands in for it in its run where its envelope could be read."""

    reason: DeadLetter
    detail: str
    taken: Unknown | None = None


def decode(value: bytes | None, key: bytes | None) -> Event | Tick | Refused:
    """The event of a journal record; an `Unknown` one if its type is of a later version.

    Args:
        value: the record's value, JSON in UTF-8.
        key: the record's key; where there is one it is the run id.
    """
    if value is None or len(value) > MAX_BYTES:
        return _refuse_size(value)
    try:
        event = _DECODER.decode(value)
    except (msgspec.MsgspecError, RecursionError) as error:
        return _refused(value, key, error)
    # Counting brackets costs a tenth of measuring depth, and most records have few.
    if value.count(b"[") + value.count(b"{") > MAX_DEPTH and _depth(value) > MAX_DEPTH:
        return Refused(DeadLetter.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
    if key is not None and isinstance(event, Event) and key != event.run_id.encode():
        return Refused(DeadLetter.KEY_MISMATCH, "the key is not the run id")
    return event


def _refuse_size(value: bytes | None) -> Refused:
    if value is None:
        return Refused(DeadLetter.NO_VALUE, "the record has no value")
    return Refused(DeadLetter.OVERSIZED, f"{len(value)} bytes, at most {MAX_BYTES}")


def _refused(value: bytes, key: bytes | None, error: Exception) -> Event | Refused:
    """Why a record is no event; the slow way is for bad records only."""
    if isinstance(error, RecursionError):
        return Refused(DeadLetter.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
    if value[:1] == b"\x00":
        return Refused(DeadLetter.REGISTRY_FRAMING, "starts with a zero byte, as a schema registry frames records")
    try:
        read = from_json(value)
    except RecursionError:
        return Refused(DeadLetter.TOO_DEEP, f"nested deeper than {MAX_DEPTH} levels")
    except ValueError as fault:
        reason = DeadLetter.NOT_UTF8 if not _is_utf8(value) else DeadLetter.NOT_JSON
        return Refused(reason, _without_content(fault))
    if not isinstance(read, dict) or not isinstance(read.get("type"), str):
        return Refused(DeadLetter.NOT_AN_EVENT, "not an object with a type")
    if read.get("schema") != SCHEMA:
        return Refused(DeadLetter.SCHEMA_UNKNOWN, f"the schema is not {SCHEMA}")
    if not isinstance(read.get("run_id"), str) or not read["run_id"]:
        return Refused(DeadLetter.NO_RUN_ID, "run_id is missing or no text")
    if key is not None and key != read["run_id"].encode("utf-8", "replace"):
        return Refused(DeadLetter.KEY_MISMATCH, "the key is not the run id")
    known = read["type"] in _TYPES
    try:
        taken = msgspec.convert({**read, "type": "unknown", "lost": known}, Unknown)
    except msgspec.ValidationError as fault:
        return Refused(DeadLetter.INVALID, _without_content(fault))
    return Refused(DeadLetter.INVALID, _without_content(error), taken) if known else taken


def _depth(value: bytes) -> int:
    """How deep a JSON value nests, without recursion."""
    deepest, level = 0, [from_json(value)]
    while level:
        deepest += 1
        level = [child for parent in level for child in _children(parent)]
    return deepest - 1


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _without_content(error: Exception) -> str:
    return _QUOTED.sub("'…'", str(error))[:300]


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schemas (2020-12) that are shipped with the package, by file name."""
    kinds = {
        "event-1": AnyEvent | Tick, "verdict-1": Verdict, "run_verdict-1": RunVerdict, "violation-1": Violation,
        "judge_request-1": JudgeRequest,
    }  # fmt: skip
    return {
        f"{name}.json": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"stream_graders.{name.replace('-', '/')}",
            **msgspec.json.schema(kind),
        }
        for name, kind in kinds.items()
    }


def write_schemas(folder: Path) -> None:
    """Write the schemas; a test compares what is there with what this would write."""
    folder.mkdir(exist_ok=True)
    for name, schema in schemas().items():
        (folder / name).write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(__file__).parent / "schemas")
