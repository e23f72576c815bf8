"""A journal with everything in it that befalls journals: for `stream-graders chaos`, seeded and without a clock."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from .events import Event, from_json, to_json
from .testing import Story, run

OPEN = 60
"""Conversations that go on at a time."""
FARTHEST = 400
"""Records by which one may be delayed."""

Item = tuple[bytes | None, bytes | None]
"""Key and value of a record."""

_REPLIES = ("one moment", "it is on its way", "welcome", "I guarantee it", "bye", "")
_TOOLS = ("orders.find", "orders.refund", "db.drop", "auth.login")


@dataclass(frozen=True)
class Mix:
    """How often what befalls a record, or a run."""

    doubled: float = 0.03
    swapped: float = 0.05
    """It comes before the one that its run has in front of it."""
    delayed: float = 0.01
    dropped: float = 0.004
    poison: float = 0.003
    """A record before it that is no event."""
    endless: float = 0.02
    """The run's end never comes."""


@dataclass
class Disturbed:
    """Records in the order in which they are written, and what was done to them."""

    seed: int
    events: int
    """Events of the agents, about: the last conversations are told to their end."""
    mix: Mix = Mix()
    runs: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("events", "doubled", "swapped", "delayed", "dropped", "poison"), 0)
    )

    def __iter__(self) -> Iterator[Item]:
        draw = Random(self.seed)  # noqa: S311  (a disturbance keeps no secrets)
        waiting: list[tuple[int, int, Item]] = []
        """Delayed records: when they come, a number that tells equal ones apart, the record."""
        live: list[list[Event]] = []
        written = 0
        while live or self.counts["events"] < self.events:
            while len(live) < OPEN and self.counts["events"] < self.events:
                live.append(self._conversation(draw))
                self.counts["events"] += len(live[-1])
            n = draw.randrange(len(live))
            for late, item in self._step(draw, live[n]):
                if late:
                    heapq.heappush(waiting, (written + draw.randint(20, FARTHEST), written, item))
                else:
                    yield item
                written += 1
            while waiting and waiting[0][0] <= written:
                yield heapq.heappop(waiting)[2]
            if not live[n]:
                live[n] = live[-1]
                live.pop()
        yield from (item for _, _, item in sorted(waiting))

    def _conversation(self, draw: Random) -> list[Event]:
        story = run(f"chaos-{self.seed}-{len(self.runs)}").starts()
        self.runs.append(story.run_id)
        for _ in range(draw.randint(1, 4)):
            story.asks(f"question {draw.randrange(100)}")
            for _ in range(draw.randrange(3)):
                number = draw.randrange(1_000)
                story.calls(draw.choice(_TOOLS), {"order": number}).returns(_result(draw, number))
                if draw.random() < 0.5:
                    story.says(f"{draw.choice(_REPLIES)} A-{number if draw.random() < 0.7 else 0}")
            story.says(draw.choice(_REPLIES))
        return _ended(story, draw, self.mix.endless)

    def _step(self, draw: Random, events: list[Event]) -> Iterator[tuple[bool, Item]]:
        """The next records of a run, each with whether it comes late."""
        mix, counts = self.mix, self.counts
        place = 0
        if len(events) > 1 and draw.random() < mix.swapped:
            place = 1
            counts["swapped"] += 1
        event = events.pop(place)
        if draw.random() < mix.poison:
            counts["poison"] += 1
            yield False, _poison(draw, event)
        # A run whose start is gone for good would have no suite to say so: agents send that first of all.
        if event.seq and draw.random() < mix.dropped:
            counts["dropped"] += 1
            return
        item = (event.run_id.encode(), to_json(event))
        late = draw.random() < mix.delayed
        counts["delayed"] += late
        yield late, item
        if draw.random() < mix.doubled:
            counts["doubled"] += 1
            yield draw.random() < 0.5, item


def _result(draw: Random, number: int) -> Any:
    return draw.choice(({"id": f"A-{number}", "total": number}, f"A-{number}", "Error: no such order", None, [number]))


def _ended(story: Story, draw: Random, endless: float) -> list[Event]:
    return list(story.events if draw.random() < endless else story.ends())


def _poison(draw: Random, event: Event) -> Item:
    """A record that is no event, or one that no run will have."""
    value = from_json(to_json(event))
    key = event.run_id.encode()
    return draw.choice(
        (
            (key, b"{"),
            (key, b"\xff\xfe"),
            (key, None),
            (key, to_json({**value, "schema": "stream_graders.event/99"})),
            (key, to_json({**value, "run_id": ""})),
            (b"somebody-else", to_json(value)),
            (key, to_json({**value, "id": f"{value['id']}-x", "seq": None, "type": "of tomorrow"})),
            (key, to_json({**value, "id": f"{value['id']}-y", "seq": 1_000_000})),
        )
    )
