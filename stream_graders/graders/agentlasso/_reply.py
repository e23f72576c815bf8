"""What the two content checks share: how they look for a text, and how their details speak of it."""

from dataclasses import dataclass

from ...matching.patterns import Pattern
from ...matching.text import Needle
from ...replies import SoughtReply


@dataclass
class Content(SoughtReply):
    """Looks for ``value`` in the reply: a text in whatever case, or with ``regex`` a pattern as it is written."""

    written_in = "value"
    tells = True

    value: str
    regex: bool = False

    def sought(self) -> Needle | Pattern:
        return Pattern(self.value) if self.regex else Needle(self.value)

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.value else [("value", "an empty text is in every reply; write what to look for")]
