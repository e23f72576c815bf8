"""Does the agent write only values that somebody gave it?"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from ...events import Event, Message, RunStart, ToolCall, ToolResult, text_of
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import arguments_of
from ...matching.differences import loosely, shown_value
from ...matching.tools import fits_any
from ...matching.words import ByPiece, forms, pieces_of, words_of
from ...verdicts import Finding, Outcome, Point, Reason
from ._hearing import Hearing

PROSE = 6
"""A text of more words than these is the agent's own and no value."""
TRIVIAL = 2
"""Words of so few characters are left out: the month of a date, a country, an article."""
_WORDS = ByPiece(words_of)


@dataclass
class UnseenArgument(Hearing, Grader):
    """Fail a run at the first write with an argument whose value nobody gave: no message, no result of a tool.

    ``writes`` names the tools, with ``*`` for any characters. A value is known once each of its words and numbers was
    said by the user, the system or a tool, in whatever case and with whatever signs: 1,200.00 is 1200. What the agent
    itself said does not count. Left out are true, false and null, values of fewer than ``min_length`` characters, words
    of one or two, texts of more than 6 words, arguments that fit a name in ``exempt``, and the values in ``known``, such as those of an
    enum. A run without a write is skipped.

    >>> from stream_graders.testing import graded, run
    >>> story = run().asks("Book for Jo Smith").calls("book", {"name": "JO SMYTH"}).ends()
    >>> graded(UnseenArgument(["book"]), story).evidence
    'book: argument name "JO SMYTH" was said by nobody: smyth'
    """

    writes: list[str]
    exempt: list[str] | None = None
    known: list[Any] | None = None
    min_length: int = 4

    wrote: bool = field(default=False, init=False)
    doubtful: list[str] | None = field(default=None, init=False)
    """The first write that cannot be judged: why, what is to be said."""
    hit: list[Any] | None = field(default=None, init=False)
    """The write: event id, seq, path, what is to be said, a gap before it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._free = {str(value).casefold() for value in self.known or ()}

    def wants(self) -> tuple[type[Event], ...]:
        return (RunStart, Message, ToolCall, ToolResult)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages", "tools", "results"})

    def problems(self) -> list[tuple[str, str]]:
        found = [] if self.writes and all(self.writes) else [("writes", "name the tools")]
        return [*found, ("min_length", "should be 1 or more")] if self.min_length < 1 else found

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if isinstance(event, ToolCall):
            if fits_any(event.name, self.writes):
                self.wrote = True
                self._judge(event, seen)
        elif isinstance(event, RunStart):
            self.hear(text_of(event.input))
        elif not seen.is_assistant:
            self.hear_from(seen)

    def _judge(self, event: ToolCall, seen: Seen) -> None:
        args = arguments_of(event)
        if args.values is None or args.hidden:
            why = "its arguments were not all sent" if args.hidden else f"its arguments {args.fault}"
            self.doubtful = self.doubtful or [why, event.name]
            return
        for path, value in self._values(args.values, ""):
            words = list(chain.from_iterable(map(_WORDS.__getitem__, pieces_of(value))))
            if len(words) > PROSE:
                continue
            unheard = [word for word in words if not self.is_heard(word) and len(forms(word)[-1]) > TRIVIAL]
            if unheard:
                told = f"{event.name}: argument {path} {shown_value(value)} was said by nobody: {', '.join(unheard)}"
                doubt = self.doubt()
                if doubt:
                    self.doubtful = self.doubtful or [doubt, told]
                else:
                    self.hit = [event.id, event.seq, path, told[:400], seen.gap]
                    self.forget()
                    self.settled = True
                return

    def _values(self, value: Any, path: str) -> Iterator[tuple[str, str]]:
        """The texts and numbers that count, each with its path."""
        if isinstance(value, dict):
            for name, item in value.items():
                if not fits_any(name, self.exempt or ()):
                    yield from self._values(item, f"{path}.{name}" if path else name)
        elif isinstance(value, list):
            for n, item in enumerate(value):
                yield from self._values(item, f"{path}[{n}]")
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            text = str(loosely(value))
            if len(text) >= self.min_length and text.casefold() not in self._free:
                yield path, text

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            event_id, seq, path, told, gap = self.hit
            # Who said it may be missing.
            sound = not gap and not run.disordered and run.reported("messages") and run.reported("results")
            return Finding(Outcome.FAIL, Reason.UNTRACED, told, (Point(event_id, seq, f"args.{path}"),), sound=sound)
        if self.doubtful is not None:
            why, told = self.doubtful
            reason = Reason.STATE_LIMIT if self.dropped and not self.blind else Reason.CONTENT_MISSING
            return Finding(Outcome.NOT_GRADED, reason, f"{why}; so far: {told}")
        if not self.wrote:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "nothing was written")
        return Finding(Outcome.PASS, Reason.TRACED, "somebody gave every value that was written")
