"""Does the final reply say only what its source says?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from ...questions import listed
from ._judge import Judged


@dataclass
class Faithfulness(Judged):
    """Have a judge model say whether each claim of the final reply is in ``context``: 1, or 0 where one is not.

    Without a context the check is skipped, and nobody is asked.

    >>> from stream_graders.testing import judged, run
    >>> story = run().starts().asks("Which gate?").says("It is at gate 5.").ends()
    >>> answer = {"status": "scored", "score": 0, "reason": "the context says gate 4"}
    >>> judged(Faithfulness("Flight 8 leaves from gate 4."), story, answer).outcome.value
    'fail'
    """

    key = "context"
    rule = "binary"
    references: ClassVar[dict[str, str]] = {"context": "metadata.context"}

    context: Any = None

    def asked(self) -> dict[str, str]:
        return {
            "dimension": "faithfulness: whether the context supports every claim of the response",
            "guide": "1: the context supports each claim. 0: one is not in it, or goes against it. Nothing in between.",
            "criteria": f"CONTEXT\n{listed(self.context)}",
        }
