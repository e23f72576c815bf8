"""Can a reader act on the final reply?"""

from dataclasses import dataclass

from ._judge import Judge


@dataclass
class ActionabilityGrader(Judge):
    """Have a judge model score the final reply from 0 to 5, by ``criteria`` where there are some.

    5 stands for a reply that can be acted on at once, 1 for a vague one. Whether the agent acted is not asked: only the
    text is judged (R80, R91).

    >>> from stream_graders.testing import judged, run
    >>> story = run().starts().asks("Which gate?").says("It is at gate 4.").ends()
    >>> judged(ActionabilityGrader(), story, {"status": "scored", "score": 3, "reason": "says where, not when"}).outcome.value
    'fail'
    """

    dimension = "actionability"
    meaning = "whether a reader can act on the response as it stands"
    guide = (
        "5: the reader can act at once. 3: the direction is clear and a step is missing. 1: vague, nothing follows from it. "
        "0: no text that could be acted on. Judge the text alone, not whether anything was done."
    )
