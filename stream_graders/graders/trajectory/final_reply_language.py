"""Is the final reply in the language that it should be in?"""

from dataclasses import dataclass
from typing import Any

from ...grading import Seen
from ...matching.languages import Language, language_of
from ...replies import ReplyGrader
from ...verdicts import Finding, Outcome, Reason


@dataclass
class FinalReplyLanguage(ReplyGrader):
    """Pass a run whose final reply is in ``language``: an ISO 639 code, or the name of a script.

    It goes by script, and for text in Latin letters by the commonest words of English, German, French, Spanish, Italian,
    Portuguese and Dutch (de, en, es, fr, it, nl, pt). Greek, Hebrew, Japanese, Korean, Thai and Chinese (el, he, ja, ko,
    th, zh) are told by their scripts, and ``latin``, ``cyrillic``, ``arabic`` and ``devanagari`` only as scripts. Of a
    reply its first 1,000 characters count. One that is too short or too mixed to tell is not graded, nor is one without
    letters; a run without a reply is skipped.

    >>> from stream_graders.testing import graded, run
    >>> graded(FinalReplyLanguage("de"), run().says("Your order is on the way to you.").ends()).evidence
    'the reply is in en (latin letters), expected de'
    """

    lazy = True

    language: Language

    def read(self, seen: Seen) -> list[str]:
        return [*language_of(seen.text)]

    def shows(self, seen: Seen, judgement: Any) -> tuple[int, int]:
        return (0, 0)

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        if judgement is None:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, "there is no reply")
        language, script = judgement
        if self.language in (language, script):
            return Finding(Outcome.PASS, Reason.LANGUAGE_MEANT, f"the reply is in {self.language}")
        # Whatever language it is, it is none that is written otherwise.
        other_script = script not in ("", "latin") or len(self.language) > 2 or self.language in _NOT_LATIN
        if language or (script and other_script):
            what = f"{language} ({script} letters)" if language not in ("", script) else f"{script} letters"
            return Finding(Outcome.FAIL, Reason.OTHER_LANGUAGE, f"the reply is in {what}, expected {self.language}")
        text = f"the reply is too short or too mixed to tell whether it is in {self.language}"
        return Finding(Outcome.NOT_GRADED, Reason.LANGUAGE_UNKNOWN, text)


_NOT_LATIN = ("el", "he", "ja", "ko", "th", "zh")
