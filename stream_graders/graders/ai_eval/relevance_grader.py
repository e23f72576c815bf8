"""Is the final reply on topic, and does it answer the question?"""

from dataclasses import dataclass

from ._judge import Judge


@dataclass
class RelevanceGrader(Judge):
    """Have a judge model score the final reply from 0 to 5, by ``criteria`` where there are some.

    5 stands for a reply that is fully on topic and answers directly, 1 for one that is wholly off topic (R86).

    >>> from stream_graders.testing import judged, run
    >>> story = run().starts().asks("Which gate?").says("It is at gate 4.").ends()
    >>> judged(RelevanceGrader(), story, {"status": "scored", "score": 5, "reason": "answers it"}).score
    5.0
    """

    dimension = "relevance"
    meaning = "whether the response is on topic and answers the question"
    guide = "5: on topic, answers directly and fully. 3: on topic, answers in part. 1: wholly off topic. 0: no answer at all."
