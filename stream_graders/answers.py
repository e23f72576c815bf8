"""What a judge answered, as the journal carries it, and how it shows that a judge wrote it.

Anybody who may write to the journal can write a ``judge.answer``. Only judge and worker have the key that signs one, so
that an agent cannot grade itself.
"""

import hmac
import math
from typing import Any, NamedTuple

from .events import JudgeAnswer, canonical_json

SAID = 600
"""Characters of a judge's reason that are kept."""
ASSERTIONS = 100
"""What a probe may be asked about one run."""
CAUSE = 200
"""Characters of why an assertion does not hold."""
_NAMES = (
    "model", "provider", "reported", "prompt", "knobs", "usage", "micro_usd", "prices", "cache", "calls", "votes",
    "calibration", "prescreen",
)  # fmt: skip
"""What an answer may tell of how it came about; it goes into the verdict as it is."""
_TOLD_BYTES = 2_000


class Answer(NamedTuple):
    """A judge's answer. ``score`` is on the scale that was asked for, and null unless the status is ``scored``."""

    status: str
    """``scored``; ``looked``: a probe has; ``error``: asked, and no verdict came of it; ``not_graded``: not asked on purpose."""
    score: float | None
    said: str
    """The judge's reason, or what went wrong."""
    code: str
    """What went wrong in a word: ``unparseable``, ``timeout``, ``budget``; empty for a score."""
    raw: float | None
    """The number that the judge gave, where it lay off the scale."""
    flags: tuple[str, ...]
    judge: dict[str, Any]
    results: dict[str, tuple[bool, str]] | None = None
    """What a probe found, by the id of the assertion: whether it holds, and why not; None unless the status is ``looked``."""


def mac_of(key: bytes, request_id: str, answer: Any) -> str:
    """What signs an answer to a request: HMAC-SHA256 over the request's id and the answer as JSON with sorted keys."""
    told = f"{len(request_id)}:{request_id}".encode() + canonical_json(answer)
    return hmac.digest(key, told, "sha256").hex()


def is_genuine(key: bytes | None, event: JudgeAnswer) -> bool:
    """Did somebody sign the answer who has the key? Without a key nobody asks."""
    if key is None:
        return True
    return hmac.compare_digest(mac_of(key, event.request_id, event.answer).encode(), (event.mac or "").encode())


def read(value: Any) -> Answer:
    """The answer in its JSON value; what is none is an error, and raises nothing.

    >>> read({"status": "scored", "score": 4, "reason": "names the gate"}).score
    4.0
    >>> read({"status": "scored", "score": "4"}).code
    'malformed'
    """
    told = value if isinstance(value, dict) else {}
    status, score = told.get("status"), _number(told.get("score"))
    said = told.get("reason")
    said = said[:SAID] if isinstance(said, str) else ""
    code = told.get("code")
    code = code[:40] if isinstance(code, str) else ""
    listed = told.get("flags")
    flags = tuple(flag[:40] for flag in listed[:8] if isinstance(flag, str)) if isinstance(listed, list) else ()
    results = _results(told.get("results")) if status == "looked" else None
    has_value = {"scored": score is not None, "looked": results is not None}.get(str(status), True)
    if status not in ("scored", "looked", "error", "not_graded") or not has_value:
        return Answer("error", None, "the answer has no form that is known", "malformed", None, flags, {})
    score = score if status == "scored" else None
    return Answer(status, score, said, code, _number(told.get("raw_score")), flags, _judge(told.get("judge")), results)


def _results(told: Any) -> dict[str, tuple[bool, str]] | None:
    if not isinstance(told, dict) or len(told) > ASSERTIONS:
        return None
    results = {}
    for name, found in told.items():
        is_ok, cause = (found.get("ok"), found.get("cause")) if isinstance(found, dict) else (None, None)
        results[name] = (is_ok is True, cause[:CAUSE] if isinstance(cause, str) else "")
    return results


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _judge(told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        return {}
    known = {name: told[name] for name in _NAMES if name in told}
    return known if len(canonical_json(known)) <= _TOLD_BYTES else {}


ASKS = 3
"""How often a check may ask on one run: each late event may make another question of it."""


class Asked:
    """What a check has asked a judge about its run, and what became of that."""

    __slots__ = ("answer", "due", "request", "standing", "times")

    def __init__(self, request: str, due: int, times: int, standing: str, answer: Any = None) -> None:
        self.request = request
        """The id of the last request; empty where none was made."""
        self.due = due
        """Log time at which the run goes on without an answer."""
        self.times = times
        self.standing = standing
        """``out``; ``answered``; ``late``: the deadline has passed; ``sampled_out``: not drawn; ``absent``: the input ended;
        ``spent``: asked too often."""
        self.answer = answer
        """As the journal has it."""

    @property
    def read(self) -> Answer:
        """The answer, whatever its form."""
        return read(self.answer)

    def snapshot(self) -> list[Any]:
        """The state as JSON values."""
        return [self.request, self.due, self.times, self.standing, self.answer]
