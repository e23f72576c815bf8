"""How far do several judge models together find that the reply meets a rubric?"""

from dataclasses import dataclass

from ._judge import Prompted


@dataclass
class Panel(Prompted):
    """Have each of ``models`` score from 0 to 1 how far the final reply meets ``rubric``; the median counts, 0.5 passes.

    ``models`` are judges by their names in the judge worker's settings, two at least: the check's own ``judge.model`` and
    ``panel`` do not count. If most of them give no score, there is none.

    >>> from stream_graders.testing import fed, requests_of, run, session_of, suite_of
    >>> story = run().starts().asks("Which gate?").says("It is at gate 4.").ends()
    >>> [request] = requests_of(fed(session_of(suite_of(Panel("Names the gate.", ["a", "b", "c"]))), story))
    >>> request.model, request.panel
    ('a', ('b', 'c'))
    """

    models: tuple[str, ...] | list[str] = ()

    def judges(self) -> tuple[str, ...]:
        return tuple(self.models)

    def problems(self) -> list[tuple[str, str]]:
        if len(self.models) >= 2 and len(set(self.models)) == len(self.models) and all(self.models):
            return []
        return [("models", "should name two different judges at least; one alone is vally.prompt")]
