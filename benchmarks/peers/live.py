"""An engine at work: started on an empty topic, and known to work by the verdicts of a first run."""

import random
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Self

from stream_graders.events import to_json

from ..account import Answer, Key
from ..lab import VERDICTS, Lab, until
from ..watch import Watch
from . import work
from .engines import Engine

FIRST = 999_999
"""The number of the first run, which no work reaches."""


class Live:
    """Until its end the engine runs; `verdicts` gives what it says."""

    def __init__(self, lab: Lab, engine: Engine) -> None:
        self.engine = engine
        self._lab = lab
        self.at = lab.place()
        self._watch = Watch(self.at.bootstrap, [self.at.names[VERDICTS]])
        self._first = work.told_run(FIRST, random.Random(FIRST))

    def __enter__(self) -> Self:
        self._watch.__enter__()
        self.program = self.engine.start(self.at)
        self._unless_failing(self._begin)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.program.kill()
        self._watch.__exit__(kind, error, at)
        self._lab.clear(self.at)

    def restart(self) -> float:
        """kill -9, and start it at once; when it was started."""
        self.program.sample()
        self.program.kill()
        self.program = self.engine.start(self.at)
        return self.program.at

    def verdicts(self) -> Iterator[tuple[float, Key, Answer, bytes]]:
        """The verdicts that came since the last call: when, whose, what, the bytes."""
        for arrived, value in self._watch.new():
            key, answer = self.engine.read(value)
            if key[0] != self._first.run_id:
                yield arrived, key, answer, value

    def _begin(self) -> None:
        events = [(event.run_id.encode(), to_json(event)) for event in self._first]
        if self.engine.is_ours:
            until(lambda: self.engine.has_begun(self.at), f"{self.engine.name}: its start", self.program)
        self._lab.feed(self.at, self._lab.write(events)).wait()
        finals: set[str] = set()

        def works() -> bool:
            for _, value in self._watch.new():
                key, _ = self.engine.read(value)
                finals.update([key[1]] if key[2] == "final" else [])
            return len(finals) == 3

        until(works, f"{self.engine.name}: the verdicts of a first run", self.program)

    def _unless_failing(self, step: Callable[[], None]) -> None:
        try:
            step()
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
