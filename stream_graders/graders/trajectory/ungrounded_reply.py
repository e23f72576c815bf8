"""Does the final reply name only ids, numbers and amounts that were said before?"""

from dataclasses import dataclass
from itertools import chain
from typing import Any

from ...events import Event, Message, RunEnd, RunStart, ToolResult, text_of
from ...grading import RunFacts, Seen
from ...matching.words import ByPiece, forms, pieces_of, words_of
from ...replies import ReplyGrader
from ...verdicts import Finding, Outcome, Reason, finding_with
from ._hearing import Hearing

SMALL = 31
"""Whole numbers up to this one are left out: counts, days of a month, places in a list."""
NAMED = 5
"""Values that the evidence names."""


@dataclass
class UngroundedReply(Hearing, ReplyGrader):
    """Fail a run whose final reply holds an id, a number or an amount that nobody said before and no tool returned.

    Compared are words that hold a digit, in whatever case and with whatever signs: $1,200.00 is 1200, and the last four
    digits of a card are known with the card. Whole numbers up to 31 are left out. What counts as said are the messages
    of the user and the system, results of tools and the run's input, not the agent's own words. A number that the
    agent worked out itself, a sum or a difference, fails too. A reply without such values is skipped.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("find").returns({"total": 1200}).says("It is $1,200.00, order A-99.").ends()
    >>> graded(UngroundedReply(), story).evidence
    'the reply names what nothing in the run said: 99'
    """

    order_free = False
    values_only = True

    def wants(self) -> tuple[type[Event], ...]:
        return (RunStart, Message, ToolResult, RunEnd)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages", "results"})

    def update(self, seen: Seen) -> None:
        event = seen.event
        if isinstance(event, RunStart):
            self.hear(text_of(event.input))
        elif isinstance(event, RunEnd) or seen.is_assistant:
            super().update(seen)
        else:
            self.hear_from(seen)

    def read(self, seen: Seen) -> list[Any]:
        """How many values the reply holds, those that were not said, and why one may have been all the same."""
        pieces = pieces_of(seen.text)
        if seen.truncated:
            del pieces[-1:]  # What stands at a cut may be the beginning of a value.
        values = dict.fromkeys(chain.from_iterable(map(_VALUES.__getitem__, pieces)))
        unheard = [word[:40] for word in values if not self.is_heard(word)]
        return [len(values), unheard[:NAMED], len(unheard), self.doubt() if unheard else ""]

    def shows(self, seen: Seen, judgement: Any) -> tuple[int, int] | None:
        text = seen.text.casefold()
        if not judgement[1] or len(text) != len(seen.text):
            return None
        start = max(0, text.find(judgement[1][0]))
        return (start, start + len(judgement[1][0]))

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        if judgement is None:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "there is no reply")
        count, named, number, doubt = judgement
        if number:
            more = f" and {number - len(named)} more" if number > len(named) else ""
            text = f"the reply names what nothing in the run said: {', '.join(named)}{more}"
            if doubt:
                reason = Reason.CONTENT_MISSING if self.blind else Reason.STATE_LIMIT
                return Finding(Outcome.NOT_GRADED, reason, f"{doubt}; so far: {text}")
            return Finding(Outcome.FAIL, Reason.UNTRACED, text, sound=True)
        if not count:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "the reply names no id, number or amount")
        return Finding(Outcome.PASS, Reason.TRACED, f"all {count} values in the reply were said before")

    def finding(self, run: RunFacts) -> Finding:
        found = super().finding(run)
        known = run.last_gap < 0 and not run.disordered and run.reported("messages") and run.reported("results")
        if found.outcome is Outcome.FAIL and not known:
            return finding_with(found, sound=False)  # Who said it may be missing.
        return found


def _values_of(piece: str) -> list[str]:
    return [word for word in words_of(piece) if _is_value(word)]


_VALUES = ByPiece(_values_of)


def _is_value(word: str) -> bool:
    """Does a word hold a digit, and is no small number?"""
    if not any(sign.isdecimal() for sign in word):
        return False
    return not any(len(form) <= 2 and form.isdecimal() and int(form) <= SMALL for form in forms(word))
