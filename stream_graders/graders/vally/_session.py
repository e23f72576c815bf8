"""Whether the agent gave a reply at all, for the two graders of a session's health."""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, Message, RunEnd
from ...grading import Grader, Seen, excerpt
from ...verdicts import Finding, Outcome, Point, Reason
from ._taxonomy import TAXONOMY


@dataclass
class Health(Grader):
    """Waits for a text of the assistant, in a message or in the output of the run's end.

    The first is enough: what comes later may be another reply, but none takes all of them back.
    """

    order_free = True
    metadata = TAXONOMY

    spoken: bool = field(default=False, init=False)
    """There was an assistant message, with text or without."""
    cut: bool = field(default=False, init=False)
    """A text was cut to nothing."""
    replied: list[Any] | None = field(default=None, init=False)
    """The first text: event id, seq, where it stands, how it begins."""

    def wants(self) -> tuple[type[Event], ...]:
        return (Message, RunEnd)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def hear(self, seen: Seen) -> None:
        """Take a message or the run's end."""
        is_end = type(seen.event) is RunEnd
        if self.replied is not None or not (is_end or seen.is_assistant):
            return
        self.spoken = self.spoken or not is_end
        if seen.text:
            path = "output" if is_end else "content"
            self.replied = [seen.event.id, seen.event.seq, path, excerpt(seen.text, 0, 0)]
        else:
            self.cut = self.cut or seen.truncated

    def silence(self) -> Finding:
        """What it means that no text was heard."""
        why = "" if self.spoken else ": the run reported no reply"
        return Finding(Outcome.FAIL, Reason.NO_OUTPUT, f"Agent produced no output{why}", cut=self.cut)

    def points(self) -> tuple[Point, ...]:
        return () if self.replied is None else (Point(*self.replied),)
