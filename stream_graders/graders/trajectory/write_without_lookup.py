"""Does the agent change only what it looked up before?"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ...events import Event, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import arguments_of
from ...matching.differences import shown_value
from ...matching.tools import fits_any
from ...matching.words import codes_of, pieces_of_json, texts_in, words_of
from ...verdicts import Finding, Outcome, Point, Reason
from ._hearing import Hearing, codes_in
from ._results import ERROR_TEXT, Failures, answered, awaited

ARGUMENTS = ("id", "*_id", "*_ids", "*Id", "*Ids")
"""Arguments that name things, where the settings name none."""
KEPT = 50
"""Words of a lookup's arguments that are kept until its result comes."""


@dataclass
class WriteWithoutLookup(Hearing, Grader):
    """Fail a run at the first write that names something which no successful lookup before it had.

    ``writes`` and ``lookups`` name tools, ``arguments`` the arguments that name things, at any depth (by default those
    called id, or ending in _id, _ids, Id or Ids); all may hold ``*`` for any characters. What a lookup had is its
    arguments and its result, once that came and is no failure. Letters' case and the signs between do not matter. A run
    without a write that names something is skipped.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("find", {"id": "A-1"}).returns("open").calls("cancel", {"id": "A-7"}).ends()
    >>> graded(WriteWithoutLookup(["cancel"], ["find"]), story).evidence
    'cancel: id "A-7" was in no earlier lookup'
    """

    writes: list[str]
    lookups: list[str]
    arguments: list[str] | None = None
    error_pattern: str | None = ERROR_TEXT

    named: bool = field(default=False, init=False)
    """A write named something."""
    waiting: list[list[Any]] = field(default_factory=list, init=False)
    """Lookups without a result: position, the codes of their arguments' words."""
    doubtful: list[str] | None = field(default=None, init=False)
    """The first write that cannot be judged: why, what is to be said."""
    hit: list[Any] | None = field(default=None, init=False)
    """The write: event id, seq, path, what is to be said, a gap before it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._failures = Failures(self.error_pattern)
        self._named = ARGUMENTS if self.arguments is None else tuple(self.arguments)

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, ToolResult)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools", "results"})

    def problems(self) -> list[tuple[str, str]]:
        found = self._failures.problems()
        for name in ("writes", "lookups"):
            if not getattr(self, name) or not all(getattr(self, name)):
                found.append((name, "name the tools"))
        if not all(self._named) or not self._named:
            found.append(("arguments", "name the arguments"))
        return found

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if isinstance(event, ToolCall):
            if fits_any(event.name, self.writes):
                self._judge(event, seen)
            elif fits_any(event.name, self.lookups):
                codes = codes_of(pieces_of_json(arguments_of(event).values or {}))
                if not awaited(self.waiting, seen, "".join(islice(codes, KEPT))):
                    self.blind = self.blind or "a lookup was forgotten before its result came"
        elif seen.tool is None or fits_any(seen.tool, self.lookups):
            self._learn(seen)

    def _learn(self, seen: Seen) -> None:
        call = answered(self.waiting, seen)
        if seen.tool is None:
            self.blind = self.blind or "a result names no tool"
            return
        failed = self._failures.of(seen)
        if failed is None:
            self.blind = self.blind or "the result of a lookup is not all known"
        elif not failed:
            self.hear_from(seen)
            if call is not None:
                self.keep(codes_in(call[0]))

    def _judge(self, event: ToolCall, seen: Seen) -> None:
        args = arguments_of(event)
        if args.values is None or args.hidden:
            why = "its arguments were not all sent" if args.hidden else f"its arguments {args.fault}"
            self.doubtful = self.doubtful or [why, event.name]
            return
        for path, value in self._things(args.values, ""):
            self.named = True
            if not all(self.is_heard(word) for word in words_of(value)):
                told = f"{event.name}: {path} {shown_value(value)} was in no earlier lookup"
                doubt = self.doubt()
                if doubt:
                    self.doubtful = self.doubtful or [doubt, told]
                else:
                    self.hit = [event.id, event.seq, path, told, seen.gap]
                    self.forget()
                    self.waiting = []
                    self.settled = True
                return

    def _things(self, value: Any, path: str) -> Iterator[tuple[str, str]]:
        """The arguments that name things, each with its path."""
        if isinstance(value, dict):
            for name, item in value.items():
                at = f"{path}.{name}" if path else name
                if fits_any(name, self._named):
                    yield from ((at, text) for text in texts_in(item))
                else:
                    yield from self._things(item, at)
        elif isinstance(value, list):
            for n, item in enumerate(value):
                yield from self._things(item, f"{path}[{n}]")

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            event_id, seq, path, told, gap = self.hit
            # The lookup may be missing.
            sound = not gap and not run.disordered and run.reported("results")
            return Finding(Outcome.FAIL, Reason.UNTRACED, told, (Point(event_id, seq, f"args.{path}"),), sound=sound)
        if self.doubtful is not None:
            why, told = self.doubtful
            reason = Reason.STATE_LIMIT if self.dropped and not self.blind else Reason.CONTENT_MISSING
            return Finding(Outcome.NOT_GRADED, reason, f"{why}; so far: {told}")
        if not self.named:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "no write named anything")
        return Finding(Outcome.PASS, Reason.TRACED, "whatever a write named was in an earlier lookup")

    def size(self) -> int:
        return super().size() + sum(20 + len(call[1]) for call in self.waiting)
