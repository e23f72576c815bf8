"""Does the final reply refuse, where it should or should not?"""

from dataclasses import dataclass
from typing import Any, Literal

from ...grading import Seen
from ...matching.patterns import Pattern
from ...replies import ReplyGrader
from ...verdicts import Finding, Outcome, Reason


@dataclass
class Refusal(ReplyGrader):
    """Fail a run whose final reply refuses, or with ``expect: refusal`` one whose final reply does not.

    A reply refuses if one of ``patterns`` (RE2) finds it. There are none by default: how your agent says no is for you
    to tell. A run without a reply is skipped.

    >>> from stream_graders.testing import graded, run
    >>> graded(Refusal(["(?i)i can(no|')t help"]), run().says("I can't help with that.").ends()).evidence
    'the reply refuses: "I can\\'t help"'
    """

    lazy = True

    patterns: list[str]
    expect: Literal["refusal", "no_refusal"] = "no_refusal"

    def __post_init__(self) -> None:
        self._patterns = [Pattern(source) for source in self.patterns]
        # One scan of the text for all of them.
        self._any = Pattern("|".join(f"(?:{source})" for source in self.patterns))

    def problems(self) -> list[tuple[str, str]]:
        if not self.patterns or not all(self.patterns):
            return [("patterns", "say what a refusal looks like; an empty pattern finds every reply")]
        return [("patterns", f"{p.source}: {p.error}") for p in self._patterns if p.error is not None]

    def read(self, seen: Seen) -> list[Any]:
        """Where the reply refuses, and with which words."""
        found = self._any.search(seen.text)
        # A match that runs into the cut may be the beginning of another word.
        if found is None or (seen.truncated and found.end == len(seen.text)):
            return [0, 0, ""]
        return [found.start, found.end, seen.text[found.start : min(found.end, found.start + 80)]]

    def shows(self, seen: Seen, judgement: Any) -> tuple[int, int] | None:
        return (judgement[0], judgement[1]) if judgement[2] else None

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        if judgement is None:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "there is no reply")
        start, end, words = judgement
        if end > start:
            outcome = Outcome.PASS if self.expect == "refusal" else Outcome.FAIL
            return Finding(outcome, Reason.REFUSED, f'the reply refuses: "{words}"', sound=True)
        outcome = Outcome.FAIL if self.expect == "refusal" else Outcome.PASS
        return Finding(outcome, Reason.NOT_REFUSED, "the reply does not refuse")
