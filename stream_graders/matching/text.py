"""Plain text in a message."""

import re
from dataclasses import dataclass, field

from .patterns import Pattern


@dataclass(frozen=True)
class Needle:
    """A text to look for; without ``case_sensitive`` both sides are lowered, as the source families do."""

    text: str
    case_sensitive: bool = False
    _sought: str = field(init=False, repr=False, default="")

    def __post_init__(self) -> None:
        object.__setattr__(self, "_sought", self.text if self.case_sensitive else self.text.lower())

    def within(self, text: str, lower: str) -> bool:
        """Is it in a text that is given as it is and lowered?"""
        return self._sought in (text if self.case_sensitive else lower)

    def place(self, text: str) -> tuple[int, int]:
        """Where it stands in a text that holds it, in characters of the original.

        Lowering can change lengths, so the place is looked for in the original first and is (0, 0) where it cannot be told.
        """
        start = (text if self.case_sensitive else text.lower()).find(self._sought)
        if start < 0 or (not self.case_sensitive and len(text.lower()) != len(text)):
            return (0, 0)
        return (start, start + len(self._sought))


@dataclass(frozen=True)
class Phrases:
    """Phrases to look for as whole words, case ignored, and not right behind a word that takes them back.

    >>> asked = Phrases(("yes", "go ahead"), ("not",))
    >>> asked.end_in("Well, go  AHEAD then"), asked.end_in("yesterday"), asked.end_in("not yes")
    (15, -1, -1)
    """

    phrases: tuple[str, ...]
    negations: tuple[str, ...] = ()
    _sought: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _anywhere: Pattern = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Of fixed texts and bounded blanks only: the time of a search stays linear whatever the phrases are.
        found, taken_back = _any_of(self.phrases, _BLANKS), _any_of(self.negations, _BLANKS)
        before = rf"(?:(?P<not>{taken_back}){_BLANKS})?" if taken_back else ""
        object.__setattr__(self, "_sought", re.compile(rf"(?<!\w){before}(?:{found})(?!\w)", re.IGNORECASE))
        # That no phrase is there at all, as in most texts, RE2 says many times faster.
        anywhere = rf"(?i)(?:^|[^a-z0-9_])(?:{_any_of(self.phrases, _BLANKS_OF_RE2)})(?:$|[^a-z0-9_])"
        object.__setattr__(self, "_anywhere", Pattern(anywhere))

    def end_in(self, text: str) -> int:
        """Where the first phrase ends that is not taken back, in characters; -1 if there is none."""
        if self._anywhere.error is None and self._anywhere.search(text) is None:
            return -1
        for match in self._sought.finditer(text):
            if not self.negations or match["not"] is None:
                return match.end()
        return -1


def _any_of(phrases: tuple[str, ...], blanks: str) -> str:
    by_length = sorted(phrases, key=len, reverse=True)
    return "|".join(blanks.join(map(re.escape, phrase.split())) for phrase in by_length)


_BLANKS = r"\s{1,4}"
_BLANKS_OF_RE2 = r"[\s\v\pZ\x{1c}-\x{1f}\x{85}]{1,4}"
"""The same: to RE2 only those of ASCII are blanks."""
