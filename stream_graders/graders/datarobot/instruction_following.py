"""Does the final reply keep to the form that was asked for?"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from ...grading import Seen
from ...matching.json_syntax import fault, unfenced
from ...matching.patterns import Pattern
from ...verdicts import Finding, Reason
from ._case import Case, joined, named


class _Reply(NamedTuple):
    text: str
    lower: str
    words: int


class _Constraint(NamedTuple):
    label: str
    holds: Callable[[_Reply], bool]
    got: int | None = None
    """Which of the reply's sizes the label ends with: 0 its words, 1 its characters."""


@dataclass
class InstructionFollowing(Case):
    """Score the share of ``constraints`` that the final reply meets, from 0 to 1; half of them are enough to pass.

    Constraints: ``max_words``, ``min_words``, ``max_chars``; ``must_be_json`` (in a code fence too); ``must_include`` and
    ``must_exclude``, a text or a list of texts, each a constraint, case ignored; ``regex``, searched for. A pattern that
    is not valid is not met. A limit that is no number, and names that are none of these, are left out; without any
    constraint the check is skipped.

    >>> from stream_graders.testing import graded, run
    >>> grader = InstructionFollowing({"max_words": 2, "must_include": ["EUR", "58"]})
    >>> graded(grader, run().says("That is 58 dollars.").ends()).evidence
    "1/3 satisfied; failed: max_words<=2 (got 4); must_include 'EUR'"
    """

    pass_at = 0.5
    key = "constraints"
    references: ClassVar[dict[str, str]] = {"constraints": "metadata.constraints"}
    assumes = "the reply has another form"

    constraints: Any = None

    def unfit(self) -> str | None:
        self._faults: list[str] = []
        self._constraints: list[_Constraint] = []
        if not self.constraints:
            return "no constraints specified — cannot score"
        if isinstance(self.constraints, dict):
            self._constraints = [*self._limits(self.constraints), *_shapes(self.constraints)]
            self._faults += _strange(self.constraints)
        return None if self._constraints else "no recognized constraints — cannot score"

    def warnings(self) -> list[tuple[str, str]]:
        return [*super().warnings(), *(("constraints", fault) for fault in self._faults)]

    def read(self, seen: Seen) -> list[Any]:
        return self._judge(seen.text, seen.lower)

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        sizes, failed = self._judge("", "") if judgement is None else judgement
        total = len(self._constraints)
        met = total - failed[1]
        labels = [c.label if c.got is None else f"{c.label} (got {sizes[c.got]})" for c in self._constraints]
        text = f"{met}/{total} satisfied; failed: {joined(labels, failed, '; ')}"
        if met == total:
            text = f"all {total} constraints satisfied"
        return self.scored(met / total, Reason.FOLLOWED, Reason.NOT_FOLLOWED, text)

    def _judge(self, text: str, lower: str) -> list[Any]:
        reply = _Reply(text, lower, len(text.split()))
        failed = [n for n, constraint in enumerate(self._constraints) if not constraint.holds(reply)]
        return [[reply.words, len(text)], named(failed)]

    def _limits(self, constraints: dict[Any, Any]) -> Iterator[_Constraint]:
        for name in ("max_words", "min_words", "max_chars"):
            value = constraints.get(name)
            limit = _whole(value)
            if limit is not None:
                yield _limit(name, limit)
            elif value is not None:
                self._faults.append(f"{name} is no whole number, so it is left out")


def _limit(name: str, limit: int) -> _Constraint:
    if name == "max_words":
        return _Constraint(f"max_words<={limit}", lambda reply: reply.words <= limit, 0)
    if name == "min_words":
        return _Constraint(f"min_words>={limit}", lambda reply: reply.words >= limit, 0)
    return _Constraint(f"max_chars<={limit}", lambda reply: len(reply.text) <= limit, 1)


def _shapes(constraints: dict[Any, Any]) -> Iterator[_Constraint]:
    if constraints.get("must_be_json"):
        yield _Constraint("must_be_json", lambda reply: fault(unfenced(reply.text)) is None)
    yield from (_including(needle) for needle in _texts(constraints.get("must_include")))
    yield from (_excluding(needle) for needle in _texts(constraints.get("must_exclude")))
    if constraints.get("regex"):
        yield _matching(Pattern(str(constraints["regex"])))


def _including(needle: str) -> _Constraint:
    lower = needle.lower()
    return _Constraint(f"must_include '{needle}'", lambda reply: lower in reply.lower)


def _excluding(needle: str) -> _Constraint:
    lower = needle.lower()
    return _Constraint(f"must_exclude '{needle}'", lambda reply: lower not in reply.lower)


def _matching(pattern: Pattern) -> _Constraint:
    error = "" if pattern.error is None else f" ({pattern.error})"
    return _Constraint(f"regex /{pattern.source}/{error}", lambda reply: pattern.search(reply.text) is not None)


def _strange(constraints: dict[Any, Any]) -> Iterator[str]:
    """What of the constraints will not work as meant."""
    known = ("max_words", "min_words", "max_chars", "must_be_json", "must_include", "must_exclude", "regex")
    yield from (f"{name} is none of {', '.join(known)}, so it is left out" for name in constraints if name not in known)
    pattern = Pattern(str(constraints.get("regex") or ""))
    if pattern.error is not None:
        yield f"regex is never met: {pattern.error}"


def _whole(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = int(value)
    except (ValueError, OverflowError):
        return None
    return number if isinstance(value, str) or number == value else None


def _texts(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(entry) for entry in value] if isinstance(value, list | tuple) else [str(value)]
