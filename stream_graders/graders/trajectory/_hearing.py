"""What was said in a run, remembered as codes of words: for the graders that ask where a value comes from."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...events import Message, ToolResult, from_json
from ...grading import Grader, Seen
from ...matching.words import CODE, asked_codes, codes_of, codes_of_text, pieces_of, pieces_of_json

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
        self._codes: dict[str, None] | None = None
        """The codes by which the words are remembered, in their order; no state, for `heard` holds them too."""

    def size(self) -> int:
        return CODE * len(self._known())

    def snapshot(self) -> list[Any]:
        if self._codes is not None:
            self.heard = "".join(self._codes)
        return super().snapshot()

    def restore(self, values: list[Any]) -> None:
        super().restore(values)
        self._codes = None

    def forget(self) -> None:
        """Remember nothing any more."""
        self.heard, self._codes = "", None

    def hear(self, text: str) -> None:
        """Remember the words of a text that other runs are likely to begin with too."""
        self.keep(codes_of_text(text, values=self.values_only))

    def keep(self, codes: Mapping[str, None]) -> None:
        """Remember words by their codes."""
        known = self._known()
        known.update(codes)
        while len(known) > WORDS:
            known.popitem()
            self.dropped = True

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

    def _known(self) -> dict[str, None]:
        if self._codes is None:
            self._codes = codes_in(self.heard)
        return self._codes


def codes_in(joined: str) -> dict[str, None]:
    """Codes that were joined to one text."""
    return dict.fromkeys([joined[n : n + CODE] for n in range(0, len(joined), CODE)])


def _words_in(seen: Seen) -> dict[str, None]:
    return codes_of(seen.once(_pieces_in))


def _values_in(seen: Seen) -> dict[str, None]:
    return codes_of(seen.once(_pieces_in), values=True)


def _pieces_in(seen: Seen) -> list[str]:
    """The pieces of a message, or of all texts, numbers and names of fields in a result."""
    event, text = seen.event, seen.text
    pieces = None
    if type(event) is ToolResult:
        if isinstance(event.result, dict | list):
            pieces = pieces_of_json(event.result, text if event.result_raw is None else None)
        elif text.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                pieces = pieces_of_json(from_json(text), text)
    if pieces is None:
        pieces = pieces_of(text)
    if seen.truncated:
        del pieces[-1:]
    return pieces
