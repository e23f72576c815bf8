"""What was said in a run, remembered as codes of words: for the graders that ask where a value comes from."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...events import Message, ToolResult, from_json
from ...grading import Grader, Seen
from ...matching.words import CODE, asked_codes, codes_in_order, codes_of, pieces_of

WORDS = 2_000
"""Words remembered; a run of the recorded ones has a few hundred."""


@dataclass
class Hearing(Grader):
    """Remembers words and numbers, each once, in five characters, however often and however they are written.

    That an unheard word is taken for a heard one happens once in a million (`stream_graders.matching.words`).
    """

    grows = True
    values_only: ClassVar[bool] = False
    """Only words that hold something else than letters are of interest."""

    heard: str = field(default="", init=False)
    """The codes of the words, one after the other."""
    dropped: bool = field(default=False, init=False)
    """A word found no room."""
    blind: str = field(default="", init=False)
    """Why something may have been said that is not known; "" while all is."""

    def __post_init__(self) -> None:
        self._cache: Any = None
        """The codes and the set that follows from them: no state."""

    def size(self) -> int:
        return len(self.heard)

    def hear(self, text: str) -> None:
        """Remember the words of a text that other runs are likely to begin with too."""
        self._add(codes_in_order(text, values=self.values_only))

    def keep(self, codes: set[str]) -> None:
        """Remember words by their codes."""
        # Sorted, for a set's order differs from process to process.
        self._add(sorted(codes - self._known()))

    def _add(self, codes: Sequence[str]) -> None:
        known = self._known()
        new = [code for code in codes if code not in known]
        room = WORDS - len(known)
        if len(new) > room:
            self.dropped = True
            del new[room:]
        if new:
            known.update(new)
            self.heard += "".join(new)
            self._cache = (self.heard, known)

    def hear_from(self, seen: Seen) -> None:
        """Remember what a message or a result says; of a text that was cut, what stands at the cut is left out."""
        if seen.partial:
            self.blind = self.blind or ("a text was cut" if seen.truncated else "content was not sent")
        event = seen.event
        if type(event) is Message and event.role == "system" and not seen.truncated:
            self.hear(seen.text)
        else:
            self.keep(seen.once(_values_in if self.values_only else _words_in))

    def is_heard(self, word: str) -> bool:
        """Was a word said, or a number in any of the ways to read it?"""
        known = self._known()
        return any(code in known for code in asked_codes(word))

    def doubt(self) -> str:
        """Why a word that is not known may have been said all the same; "" if it cannot."""
        return self.blind or (f"more than {WORDS} words were said" if self.dropped else "")

    def _known(self) -> set[str]:
        cache = self._cache
        # Copies of a fresh grader share what it holds, so an empty one begins with a set of its own.
        if not self.heard or cache is None or cache[0] is not self.heard:
            known = codes_in(self.heard)
            self._cache = (self.heard, known)
            return known
        found: set[str] = cache[1]
        return found


def codes_in(joined: str) -> set[str]:
    """Codes that were joined to one text."""
    return {joined[n : n + CODE] for n in range(0, len(joined), CODE)}


def _words_in(seen: Seen) -> set[str]:
    return codes_of(seen.once(_pieces_in))


def _values_in(seen: Seen) -> set[str]:
    return codes_of(seen.once(_pieces_in), values=True)


def _pieces_in(seen: Seen) -> set[str]:
    """The pieces of a message, or of all texts, numbers and names of fields in a result."""
    event: Any = seen.event
    said: Any = seen.text
    if type(event) is ToolResult:
        if isinstance(event.result, dict | list):
            said = event.result
        elif said.lstrip()[:1] in ("{", "[") and ("\\" in said or said.count(",") != said.count(", ")):
            # In JSON text a comma may stand between numbers, and a line break is written with a letter.
            with suppress(ValueError, RecursionError):
                said = from_json(said)
    pieces = pieces_of(said)
    if seen.truncated:
        del pieces[-1:]
    return set(pieces)
