"""What was said in a run, remembered as codes of words: for the graders that ask where a value comes from."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...events import ToolResult, from_json
from ...grading import Grader, Seen
from ...matching.words import CODE, asked_codes, codes_of, texts_in

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

    def hear(self, texts: Iterable[str]) -> None:
        """Remember the words of these texts."""
        self.keep(codes_of(texts, values=self.values_only))

    def keep(self, codes: set[str]) -> None:
        """Remember words by their codes."""
        known = self._known()
        # Sorted, for a set's order differs from process to process.
        new = sorted(codes - known)
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
        texts = texts_of(seen)
        if seen.truncated and texts:
            texts[-1:] = texts[-1].split()[:-1]
        self.hear(texts)

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


def texts_of(seen: Seen) -> list[str]:
    """The text of a message, or all texts, numbers and names of fields in a result."""
    event, text = seen.event, seen.text
    if not isinstance(event, ToolResult):
        return [text]
    value = event.result
    if not isinstance(value, dict | list):
        if text.lstrip()[:1] not in ("{", "["):
            return [text]
        # In JSON text a comma may stand between numbers, and a line break is written with a letter.
        try:
            value = from_json(text)
        except (ValueError, RecursionError):
            return [text]
    return texts_in(value)
