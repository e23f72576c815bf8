"""Is the final reply JSON?"""

from dataclasses import dataclass

from ...grading import Seen
from ...matching.json_syntax import fault
from ...replies import ReplyGrader
from ...verdicts import Finding, Outcome, Reason


@dataclass
class OutputValidJson(ReplyGrader):
    """Pass a run whose final reply is JSON and nothing else; blanks around it do not matter (R45).

    Strict: any JSON value counts, a bare number too; NaN, a code fence around the value, a byte order mark before it and
    nesting deeper than 200 levels fail. So does a run that reports no reply (R55).

    >>> from stream_graders.testing import graded, run
    >>> graded(OutputValidJson(), run().says('{"ok": tru}').ends()).evidence
    'The reply is not valid JSON: expecting value at line 1, column 8.'
    """

    lazy = True

    def read(self, seen: Seen) -> str:
        return fault(seen.text) or ""

    def told(self, judgement: str | None, *, reported: bool) -> Finding:
        if not reported:
            text = "the run reported no reply, so there is nothing to check"
            return Finding(Outcome.FAIL, Reason.REPLY_NOT_REPORTED, text)
        wrong = "it is empty" if judgement is None else judgement
        if wrong:
            return Finding(Outcome.FAIL, Reason.INVALID_JSON, f"The reply is not valid JSON: {wrong}.")
        return Finding(Outcome.PASS, Reason.VALID_JSON, "The reply is valid JSON.")
