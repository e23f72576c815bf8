"""How far a reply rests on the source that a judge is shown with it, before anybody asks the judge.

A number for the order in which questions are asked, and a note beside an answer. It is no verdict and no score: a reply with a
swapped number looks more like its source than an honest paraphrase does (decision 0042).
"""

import asyncio
import logging
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from ..verdicts import JudgeRequest

log = logging.getLogger("stream_graders.judges")

Scorer = Callable[[list[str], list[str]], float]
"""The lowest, over the reply's sentences, of the highest likeness to a sentence of the source: 1 is as good as the same, 0 is
unlike. It is handed the source's sentences and the reply's, neither empty, and runs in a thread of its own."""
OF_SOURCE, OF_REPLY = 32, 16
"""Sentences that are looked at, from the beginning: a usual reply takes a tenth of a second, so many two at most."""
LONGEST = 300
"""Characters of a sentence that are looked at."""
NOTED_WITHIN = 2.0
"""Seconds that an answer waits for its note; without, it has none."""

_FACTS, _CONTEXT, _ALL = re.compile(r"\AGROUND TRUTH \([^\n]*\n"), re.compile(r"\ACONTEXT\n"), re.compile(r"\A")
_SOURCES = {
    "ai_eval.accuracy_grader": _FACTS,
    "ai_eval.fact_match_grader": _FACTS,
    "ai_eval.groundedness_grader": _ALL,
    "datarobot.faithfulness": _CONTEXT,
}
"""What the criteria begin with, of graders that show a source among them; the source is what follows."""
_CALLS = re.compile(r"(?:\A|\n\n)TOOL CALLS \(.*\Z", re.DOTALL)
"""The calls behind it say what was asked for, not what came back."""
_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+")


class Prescreen:
    """Looks at questions, one after another, beside the event loop."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._thread = ThreadPoolExecutor(1, "prescreen")

    def begin(self, request: JudgeRequest) -> "asyncio.Future[float | None] | None":
        """Start to look at a question; None if it comes without a source. Whoever does not need it any more cancels it."""
        source, reply = sentences(source_of(request), OF_SOURCE), sentences(request.input.get("response", ""), OF_REPLY)
        if not (source and reply):
            return None
        return asyncio.get_running_loop().run_in_executor(self._thread, self._grounded, source, reply)

    def _grounded(self, source: list[str], reply: list[str]) -> float | None:
        try:
            return round(self._scorer(source, reply), 2)
        except Exception as error:  # noqa: BLE001  (whatever the model's library raises, the judge can be asked without)
            log.warning("the pre-screen failed: %s", type(error).__name__)
            return None

    def close(self) -> None:
        """Look at nothing more."""
        self._thread.shutdown(wait=False, cancel_futures=True)


async def noted(looked: "asyncio.Future[float | None]") -> float | None:
    """What was found, if it is there soon."""
    await asyncio.wait({looked}, timeout=NOTED_WITHIN)
    return looked.result() if looked.done() and not looked.cancelled() else None


def source_of(request: JudgeRequest) -> str:
    """The text that the reply should rest on; empty where the judge is shown none."""
    begins = _SOURCES.get(request.grader)
    criteria = _CALLS.sub("", request.input.get("criteria", ""))
    found = None if begins is None else begins.match(criteria)
    return "" if found is None else criteria[found.end() :]


def sentences(text: str, most: int) -> list[str]:
    """The first sentences and lines of a text, each cut to a length.

    >>> sentences("It is at gate 4. Boarding ends\\n- at 10:15!", 5)
    ['It is at gate 4.', 'Boarding ends', 'at 10:15!']
    """
    found = (part.strip().removeprefix("- ")[:LONGEST] for part in _END.split(text))
    return [part for part in found if any(map(str.isalnum, part))][:most]
