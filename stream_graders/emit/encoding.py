"""A pending event to the bytes of a record that every reader accepts."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..events import SCHEMA, compact, stamp, to_json
from ..wire import Refused, decode
from .backlog import Pending
from .plain import Plain

MAX_BYTES = 900_000
"""Bytes of one record; brokers refuse more than a megabyte unless they are told otherwise."""
SHORT = 100
"""Characters of a text that is never cut."""

_NEEDED = ("name", "role", "call_id", "status", "reports")
"""Fields that an event keeps when its body cannot be sent."""


class Record(NamedTuple):
    """What a sink delivers."""

    key: bytes
    value: bytes


def encode(event: Pending, producer: str) -> Record:
    """The record of an event. Whatever the agent handed in, it decodes.

    What could not be kept as it was is flagged: ``unserialisable`` (a value is its repr), ``truncated`` (something was
    cut for its length), ``content_missing`` (the content was left out).
    """
    head = {
        "schema": SCHEMA,
        "id": f"{producer}-{event.number:x}",
        "type": event.kind,
        "run_id": event.run_id,
        "ts": stamp(event.ts),
        "seq": event.seq,
        "producer": producer,
        **event.envelope,
    }
    if event.emptied:
        head["flags"] = ["content_missing"]
    if event.kind == "run.end":
        head["last_seq"] = event.seq
    key = event.run_id.encode()
    return Record(key, _as_it_is(head, event.body, key) or _made_to_fit(head, event.body, key))


def _as_it_is(head: dict[str, Any], body: dict[str, Any], key: bytes) -> bytes | None:
    """The event as nearly every agent hands it in; None if it needs a closer look."""
    try:
        value = to_json({**head, **body})
    except Exception:  # noqa: BLE001  (it may hold any object)
        return None
    # JSON has no NaN and the encoder writes null for it, so a null may be something else.
    if len(value) > MAX_BYTES or b"null" in value or isinstance(decode(value, key), Refused):
        return None
    return value


def _made_to_fit(head: dict[str, Any], body: dict[str, Any], key: bytes) -> bytes:
    plain = Plain()
    made = {name: _SHAPES.get(name, Plain.__call__)(plain, value) for name, value in body.items()}
    flags = [*head.get("flags", ()), *(name for name in ("truncated", "unserialisable") if getattr(plain, name))]
    value = _fitted(head, made, flags)
    if value is None or isinstance(decode(value, key), Refused):
        needed = {name: made[name] for name in _NEEDED if name in made}
        value = to_json({**head, **needed, "flags": [*flags, "content_missing"]})
    return value


# -- the fields whose form readers insist on -----------------------------------------------------------------------------


def _content(plain: Plain, value: Any) -> Any:
    made = plain(value)
    if made is None or (isinstance(made, list) and all(isinstance(part, dict) for part in made)):
        return made
    return made if isinstance(made, str) else compact(made)


def _object(plain: Plain, value: Any) -> Any:
    made = plain(value)
    return made if made is None or isinstance(made, dict) else {"value": made}


def _labels(plain: Plain, value: Any) -> Any:
    made = _object(plain, value)
    return made and {name: plain.text(label) for name, label in made.items()}


def _expected(plain: Plain, value: Any) -> Any:
    made = _object(plain, value) or {}
    for name in ("format", "rubric_ref"):
        if made.get(name) is not None:
            made[name] = plain.text(made[name])
    if "metadata" in made:
        made["metadata"] = _object(plain, made["metadata"])
    return made


_SHAPES: dict[str, Callable[[Plain, Any], Any]] = {
    "content": _content,
    "output": _content,
    "usage": _object,
    "error": _object,
    "labels": _labels,
    "expected": _expected,
}


# -- what is too long ----------------------------------------------------------------------------------------------------


def _fitted(head: dict[str, Any], body: dict[str, Any], flags: list[str]) -> bytes | None:
    """The event as JSON, its longest texts cut until it fits; None if it is not for its texts that it is too long."""
    for _ in range(5):  # A cut is measured in characters, which do not all take the same room: more may be needed.
        value = to_json({**head, **body, "flags": flags})
        if len(value) <= MAX_BYTES:
            return value
        if "truncated" not in flags:
            flags.append("truncated")
        _cut(body, len(value) - MAX_BYTES + 1_000)
    return None


def _cut(body: dict[str, Any], excess: int) -> None:
    """Take ``excess`` bytes off the longest texts: those longer than some length are cut to it."""
    places: list[tuple[int, Any, Any]] = []
    _find_texts(body, places)
    places.sort(key=lambda place: -place[0])
    total = 0
    for n, (length, _, _) in enumerate(places, 1):
        total += length
        following = places[n][0] if n < len(places) else 0
        if total - n * following >= excess:
            _shorten(places[:n], max(0, (total - excess) // n))
            return
    _shorten(places, 0)


def _find_texts(value: Any, places: list[tuple[int, Any, Any]]) -> None:
    """Every long text with the bytes it takes and where it hangs."""
    for key in value if isinstance(value, dict) else range(len(value)):
        child = value[key]
        if isinstance(child, str) and len(child) > SHORT:
            places.append((len(to_json(child)), value, key))
        elif isinstance(child, dict | list):
            _find_texts(child, places)


def _shorten(places: list[tuple[int, Any, Any]], length: int) -> None:
    for encoded, parent, key in places:
        text = parent[key]
        parent[key] = text[: len(text) * length // encoded] + "…"
