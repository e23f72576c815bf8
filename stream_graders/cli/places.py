"""Where runs lie that a command is asked to look at: files, or a topic of Kafka."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from ..events import Event
from ..session import At
from .errors import UserError
from .runs import events_of

TOPIC = "kafka:"
"""What a topic's name begins with where a file may stand too."""
LAST = 100_000
"""Records of a topic that are read where all runs are looked at, unless the command is told another number."""


def topic_of(places: list[Path], bootstrap: str | None, last: int | None = None) -> tuple[str, str] | None:
    """Kafka's addresses and the topic, where the places are one; None where they are files.

    Raises:
        UserError: files stand beside a topic, or a topic without Kafka's address, or a number of records without a topic.
    """
    topics = [str(place).removeprefix(TOPIC) for place in places if str(place).startswith(TOPIC)]
    if not topics:
        if last is not None:
            raise UserError("--last counts records of a topic; name one, like kafka:agent.events.v1, or leave it out")
        return None
    if len(places) > 1 or not topics[0]:
        raise UserError(f"{', '.join(map(str, places))}: name files, or one topic like kafka:agent.events.v1")
    if not bootstrap:
        raise UserError(f"{places[0]}: name Kafka's address too, with --bootstrap or in SG_BOOTSTRAP_SERVERS")
    return bootstrap, topics[0]


@dataclass
class Sought:
    """One run, as it is looked for."""

    run_id: str
    places: list[Path]
    bootstrap: str | None
    unread: Counter[str] = field(default_factory=Counter)
    """Records that are no events, by reason."""
    first_unread: str = ""
    others: set[str] = field(default_factory=set)
    """Ids of runs beside it."""
    now: int | None = None
    """The log time at which a topic ends; files have none."""
    is_cut: bool = False
    """Its beginning is not in the topic any more."""

    def events(self) -> Iterator[tuple[Event, At | None]]:
        """Its events, those of a topic with their place in the log.

        Raises:
            UserError: a place cannot be read.
        """
        topic = topic_of(self.places, self.bootstrap)
        if topic is None:
            for event, _ in events_of(self._refuse, self.places):
                if event.run_id == self.run_id:
                    yield event, None
                else:
                    self.others.add(event.run_id)
            return
        from .journal import opened  # Whoever reads files does not wait for Kafka's client to load.

        with opened(*topic) as log:
            yield from log.of_run(self.run_id, self._refuse, self.others)
            self.now, self.is_cut = log.now, self.run_id in log.cut

    def missing(self) -> str:
        """That it was not found, and what is near, in a line."""
        where = "these files" if topic_of(self.places, self.bootstrap) is None else f"{self.places[0]} any more, or yet"
        near = get_close_matches(self.run_id, self.others, n=3, cutoff=0.5)
        count = f"{len(self.others)} runs"
        hint = f"the nearest of {count}: {', '.join(near)}" if near else f"{count} are there"
        return f"no event of run {self.run_id} is in {where}; {hint}"

    def told(self) -> Iterator[str]:
        """What was not read of the place, a line each."""
        if self.is_cut:
            yield f"{self.places[0]} does not hold the beginning of run {self.run_id} any more: read what follows with that in mind"
        if self.unread:
            yield f"{self.unread.total()} records cannot be read, the first: {self.first_unread}"

    def _refuse(self, reason: str, told: str) -> None:
        self.unread[reason] += 1
        self.first_unread = self.first_unread or told
