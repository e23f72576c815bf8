"""An answer as the journal carries it: JSON values of bounded size, which `stream_graders.answers.read` reads."""

from collections.abc import Mapping
from typing import Any

from ..answers import SAID
from .parsing import Parsed


def scored(parsed: Parsed, judge: Mapping[str, Any]) -> dict[str, Any]:
    """What a reply came to: a score, or the error that it is."""
    told: dict[str, Any] = {"status": "error" if parsed.score is None else "scored", "judge": dict(judge)}
    if parsed.score is not None:
        told["score"] = parsed.score
    if parsed.raw is not None:
        told["raw_score"] = parsed.raw
    if parsed.code:
        told["code"] = parsed.code
    if parsed.flags:
        told["flags"] = list(parsed.flags)
    return {**told, "reason": parsed.reason[:SAID]}


def failed(code: str, why: str, judge: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The judge was asked, or should have been, and no verdict came of it."""
    return {"status": "error", "code": code, "reason": why[:SAID], "judge": dict(judge or {})}


def looked(results: Mapping[str, Mapping[str, Any]], judge: Mapping[str, Any]) -> dict[str, Any]:
    """A probe has looked: what it found, by the id of the assertion."""
    return {"status": "looked", "results": dict(results), "reason": "", "judge": dict(judge)}


def spared(code: str, why: str) -> dict[str, Any]:
    """The judge was not asked on purpose."""
    return {"status": "not_graded", "code": code, "reason": why[:SAID]}
