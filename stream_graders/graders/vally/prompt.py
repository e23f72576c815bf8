"""How far does a judge model find that the reply meets a rubric?"""

from dataclasses import dataclass

from ._judge import Prompted


@dataclass
class Prompt(Prompted):
    """Have a judge model score from 0 to 1 how far the final reply meets ``rubric``; 0.5 passes.

    The rubric may be a text, or a list of points; a run may bring its own. Without one the check is skipped.

    >>> from stream_graders.testing import judged, run
    >>> story = run().starts().asks("Which gate?").says("It is at gate 4.").ends()
    >>> judged(Prompt("Names the gate."), story, {"status": "scored", "score": 1, "reason": "it does"}).outcome.value
    'pass'
    """
