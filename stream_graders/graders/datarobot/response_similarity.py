"""How close is the final reply to an acceptable one?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ...grading import Seen
from ...matching.similarity import f_measure, in_common, shared, words
from ...verdicts import Finding, Reason
from ._case import Case, entries

WORDS = 2_000
"""Words of an example that are compared."""


def _recall(reply: list[str], example: list[str]) -> float:
    return shared(reply, example) / len(example) if example else 0.0


def _f1(reply: list[str], example: list[str]) -> float:
    return f_measure(shared(reply, example), reply, example)


def _rouge(reply: list[str], example: list[str]) -> float:
    return f_measure(in_common(reply, example), reply, example)


_METRICS: dict[str, tuple[Callable[[list[str], list[str]], float], str]] = {
    "token_recall": (_recall, "share of the example's words found in the response"),
    "token_f1": (_f1, "word overlap, penalizing words the example doesn't have"),
    "rouge_l": (_rouge, "longest run of words shared in the same order"),
}


@dataclass
class ResponseSimilarity(Case):
    """Score how close the final reply is to the closest of ``acceptable_responses``, from 0 to 1; 0.5 passes.

    ``metric`` is ``token_recall`` (the default), ``token_f1`` or ``rouge_l``; all compare lowered words without
    punctuation and the commonest small words, of each example the first 2,000. ``unacceptable_responses`` change no score:
    the evidence says how close the reply is to one of them. Without an acceptable response the check is skipped.

    The origin's ``embedding_cosine`` asks a model and is refused.

    >>> from stream_graders.testing import graded, run
    >>> verdict = graded(ResponseSimilarity(["Refunds take 5 days."]), run().says("It will take 5 days").ends())
    >>> verdict.score, verdict.evidence[:17]
    (0.75, 'token_recall 0.75')
    """

    pass_at = 0.5
    key = "acceptable_responses"
    references: ClassVar[dict[str, str]] = {
        "acceptable_responses": "metadata.acceptable_responses",
        "unacceptable_responses": "metadata.unacceptable_responses",
        "metric": "metadata.metric",
    }
    assumes = "the reply is another"

    acceptable_responses: Any = None
    unacceptable_responses: Any = None
    metric: Any = None

    def unfit(self) -> str | None:
        self._metric = str(self.metric or "token_recall").lower()
        self._good = entries(self.acceptable_responses)
        self._bad = entries(self.unacceptable_responses)
        self._words = [words(text)[:WORDS] for text in [*self._good, *self._bad]]
        if not self._good:
            return "no acceptable_responses provided: cannot score"
        if self._metric not in _METRICS:
            return f"unknown metric '{self._metric}' (expected one of: {', '.join(sorted(_METRICS))}): cannot score"
        return None

    def problems(self) -> list[tuple[str, str]]:
        if self._metric in _METRICS:
            return []
        if self._metric == "embedding_cosine":
            return [("metric", "embedding_cosine asks a model for each reply; use token_recall, token_f1 or rouge_l")]
        return [("metric", f"is none of {', '.join(_METRICS)}")]

    def read(self, seen: Seen) -> list[Any]:
        return self._compare(seen.text)

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        best, close, worst, far = self._compare("") if judgement is None else judgement
        text = f"{self._metric} {best:.2f} ({_METRICS[self._metric][1]}); "
        text += f"closest of {len(self._good)} acceptable: '{_short(self._good[close])}'"
        if worst is not None:
            text += f"; closest unacceptable {worst:.2f}: '{_short(self._bad[far])}'"
            text += " (WARNING: at least as close as any acceptable example)" if worst >= best else ""
        return self.scored(round(best, 4), Reason.SIMILAR, Reason.DISSIMILAR, text)

    def _compare(self, text: str) -> list[Any]:
        """How close the closest acceptable response is, and which it is; then the same of the unacceptable ones."""
        measure = _METRICS[self._metric][0]
        reply = words(text)
        scores = [measure(reply, example) for example in self._words]
        good, bad = scores[: len(self._good)], scores[len(self._good) :]
        best = max(good)
        worst = max(bad) if bad else None
        return [best, good.index(best), worst, bad.index(worst) if worst is not None else 0]


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."
