"""Plain text in a message."""

from dataclasses import dataclass, field


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
