"""Does the final reply cover all that was asked for?"""

from dataclasses import dataclass

from ._judge import Judge


@dataclass
class CompletenessGrader(Judge):
    """Have a judge model score the final reply from 0 to 5, by ``criteria`` where there are some.

    5 stands for a reply that leaves nothing out, 1 for one with major gaps (R87).

    >>> from stream_graders.testing import judged, run
    >>> story = run().starts().asks("Which gate?").says("It is at gate 4.").ends()
    >>> judged(CompletenessGrader(), story, {"status": "scored", "score": "high"}).outcome.value
    'error'
    """

    dimension = "completeness"
    meaning = "whether the response covers every point that was asked for"
    guide = "5: nothing is left out. 3: the main point is there, others are missing. 1: major gaps. 0: none is covered."
