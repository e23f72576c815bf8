"""Does the final reply have the form that was asked for?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...grading import Seen
from ...matching.json_syntax import fault
from ...matching.patterns import Pattern
from ...verdicts import Finding, Reason
from ._flags import DETERMINISTIC
from ._reply import ScoredReply

SHORT = 20
"""Characters from which a reply is no longer suspiciously short."""

# Up to three blanks, as Markdown allows them, would make a heading too: the source speaks of the start of a line.
_HEADING = Pattern(r"(?m)^#{1,6}(?:[ \t]|$)")
_LINK = Pattern(r"\[[^\]\n]+\]\([^)\n]*\)")
# Within a word two underscores mark nothing, two stars do.
_BOLD = Pattern(r"(?m)\*\*[^\s*](?:.*?\S)??\*\*|(?:^|[^\w])__[^\s_](?:.*?\S)??__(?:[^\w]|$)")


@dataclass
class FormatGrader(ScoredReply):
    """Score the form of the final reply, from 0 to 5 (R98 to R107).

    With ``format: json`` a reply that is JSON scores 5, any other 0. With every other value, and with none, the rules of
    plain text hold: of 5 points one is lost for each of ``#`` headings, ``[text](url)`` links, bold spans, more than
    ``response_char_limit`` characters, and fewer than 20. A blank reply scores 0.

    >>> from stream_graders.testing import graded, run
    >>> verdict = graded(FormatGrader(), run().says("# Refunds\\nSee **there**, please.").ends())
    >>> verdict.score, verdict.evidence
    (3.0, 'uses # headings; uses bold')
    """

    metadata = DETERMINISTIC
    references: ClassVar[dict[str, str]] = {"format": "format"}

    format: Any = None
    response_char_limit: int = 4_000

    def problems(self) -> list[tuple[str, str]]:
        return [] if self.response_char_limit > 0 else [("response_char_limit", "should be a number from 1 on")]

    def warnings(self) -> list[tuple[str, str]]:
        if self.format == "markdown":
            return [("format", "is scored by the rules of plain text, which take a point for each mark of Markdown")]
        if self.format in (None, "text", "json", "yaml"):
            return []
        return [("format", "is none of text, json, yaml, markdown; the rules of plain text hold")]

    def read(self, seen: Seen) -> list[str] | None:
        """What is wrong with the reply; null if it is blank."""
        text = seen.text
        if not text.strip():
            return None
        if self.format == "json":
            told = fault(text)
            return [] if told is None else [told]
        return self._broken(text)

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        if judgement is None:
            score, text = 0.0, "the response is empty"
        elif self.format == "json":
            score, text = (0.0, f"invalid JSON: {judgement[0]}") if judgement else (5.0, "valid JSON")
        else:
            score, text = 5.0 - len(judgement), "; ".join(judgement) or "no rule of the form is broken"
        return self.scored(score, Reason.WELL_FORMED, Reason.ILL_FORMED, text)

    def _broken(self, text: str) -> list[str]:
        broken = []
        if "#" in text and _HEADING.search(text) is not None:
            broken.append("uses # headings")
        if "](" in text and _LINK.search(text) is not None:
            broken.append("uses [text](url) links")
        if ("**" in text or "__" in text) and _BOLD.search(text) is not None:
            broken.append("uses bold")
        if len(text) > self.response_char_limit:
            broken.append(f"too long, over {self.response_char_limit} characters")
        if len(text) < SHORT:
            broken.append(f"suspiciously short, under {SHORT} characters")
        return broken
