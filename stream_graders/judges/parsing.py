"""A judge model's reply as a score, or as an error that says why it is none. Strict: nothing is repaired or guessed.

A number that nobody gave is worse than none: a reply that was cut off, that refuses, that names two scores or one off a
binary scale is an error, and no error is ever a score of 0 (R149 to R155).
"""

import json
import math
import re
from typing import Any, NamedTuple

from ..verdicts import Rule

LONGEST = 8 * 1024
"""Characters of a reply, its reasoning left out, beyond which it is no verdict: the answer that is asked for has 700."""
SAID = 600
"""Characters of the reason that are kept."""
FINISHES = {"length": "truncated", "filter": "filtered", "refusal": "refused"}
"""What a reply is that did not end by itself, and the code of the error."""

_NUMBER = re.compile(r"[+-]?[0-9]{1,30}(?:\.[0-9]{1,30})?")
_REASONING = ("think", "thinking", "reasoning", "thought")
_REFUSAL = re.compile(
    r"(?i)\b(?:i(?:'m| am) sorry|i (?:can(?:not|'t)|won't|am unable to)\b[^.]{0,40}\b(?:help|assist|grade|evaluate|answer))"
)


class Parsed(NamedTuple):
    """What a reply comes to: a score on the scale, or a code that says why there is none."""

    score: float | None
    reason: str = ""
    code: str = ""
    raw: float | None = None
    """The number that was given, where the score is another one because it lay off the scale."""
    flags: tuple[str, ...] = ()


class _BrokenError(ValueError):
    """What begins as a JSON object is none."""


def parse(
    text: str | None, rule: Rule, scale: tuple[float, float], *, finish: str = "stop", nonce: str | None = None
) -> Parsed:
    """Read a reply.

    Args:
        text: what the model said; None where it said nothing.
        rule: what a score off the scale is: ``clamp`` the nearest end, ``binary`` and ``strict`` an error.
        scale: lowest and highest score.
        finish: why the model ended: ``stop``, ``length``, ``filter``, ``refusal``, ``other``.
        nonce: a word that only a verdict of this request can carry, under ``nonce``; objects without it are no verdicts.

    >>> parse('{"reason": "on topic", "score": 7}', "clamp", (0, 5))
    Parsed(score=5.0, reason='on topic', code='', raw=7.0, flags=('clamped',))
    >>> parse("I would say four out of five.", "clamp", (0, 5)).code
    'unparseable'
    """
    if finish in FINISHES:
        return Parsed(None, code=FINISHES[finish])
    told = without_reasoning((text or "").lstrip("\ufeff")).strip()
    if not told:
        return Parsed(None, code="empty")
    if len(told) > LONGEST:
        return Parsed(None, code="too_long")
    try:
        verdicts = [found for found in _objects(told) if "score" in found]
    except (_BrokenError, RecursionError):
        return Parsed(None, code="unparseable")
    if nonce is not None:
        verdicts = [found for found in verdicts if found.get("nonce") == nonce]
    if not verdicts:
        return Parsed(None, code="unparseable")
    if any(found.get("outcome") == "cannot_grade" for found in verdicts):
        return Parsed(None, _reason(verdicts[0]), "abstained")
    numbers = [_number(found["score"]) for found in verdicts]
    if None in numbers:
        return Parsed(None, _reason(verdicts[0]), "non_numeric")
    if len(set(numbers)) > 1:
        return Parsed(None, code="two_verdicts")
    assert numbers[0] is not None
    return _scored(numbers[0], _reason(verdicts[0]), rule, scale)


def _scored(number: float, reason: str, rule: Rule, scale: tuple[float, float]) -> Parsed:
    lowest, highest = scale
    flags = ("refusal_suspect",) if _REFUSAL.search(reason) else ()
    if lowest <= number <= highest:
        if rule == "binary":  # Half rounds upwards (design 6).
            number = highest if number >= (lowest + highest) / 2 else lowest
        return Parsed(float(number), reason, flags=flags)
    if rule != "clamp":
        return Parsed(None, reason, "off_scale", number)
    return Parsed(float(max(lowest, min(highest, number))), reason, raw=number, flags=(*flags, "clamped"))


def without_reasoning(text: str) -> str:
    """A reply without its reasoning; a block that never ends takes the rest along, for what is in it is no verdict.

    >>> without_reasoning("<think>5?</think>a<THINK>b")
    'a'
    """
    lower = text.lower()
    if len(lower) != len(text):  # A sign that is two in lower case: places would not fit.
        lower = text
    kept: list[str] = []
    at = 0
    for begin, name in _openings(lower):
        if begin < at:
            continue
        kept.append(text[at:begin])
        end = lower.find(f"</{name}>", begin)
        if end < 0:
            return "".join(kept)
        at = end + len(name) + 3
    return "".join([*kept, text[at:]])


def _openings(lower: str) -> list[tuple[int, str]]:
    return [(found.start(), found.group(1)) for found in re.finditer(f"<({'|'.join(_REASONING)})>", lower)]


def _objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects that stand in a text, one after another; those inside a list or another object are none.

    A brace of prose is passed over; what begins as an object does (with a quote or another brace) and is none breaks the
    whole: the rest of it may hold anything.
    """
    found: list[dict[str, Any]] = []
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        start = opening.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            raise _BrokenError from error
        if isinstance(value, dict):
            found.append(value)
    return found


_OPENING = re.compile(r'\{\s*["}]|\[\s*[\[{"]')


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


# Line breaks inside a text are let through: models write them, and they mean one thing only.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once, parse_constant=_no_number)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        value = value.strip()
        value = float(value) if value.isascii() and _NUMBER.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _reason(verdict: dict[str, Any]) -> str:
    reason = verdict.get("reason")
    return reason[:SAID] if isinstance(reason, str) else ""
