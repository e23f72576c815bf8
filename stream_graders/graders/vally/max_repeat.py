"""Did the agent keep from doing the same thing over and over?"""

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

from ...events import UNSENT, Event, ToolCall, ToolResult, canonical_json
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import arguments
from ...verdicts import Finding, Outcome, Point, Reason
from ._taxonomy import TAXONOMY


@dataclass
class MaxRepeat(Grader):
    """Fail a run that does the same more than ``max`` times in a row. Decided at the first time that is too many.

    What is the same says ``match``: ``observation``, the tool and its result (the default); ``name``, the tool alone;
    ``name-args``, the tool and its arguments. Messages between do not matter. A result or arguments that were not sent,
    or were cut, are the same as none, and leave a pass unknown.

    >>> from stream_graders.testing import graded, run
    >>> story = run().starts().calls("poll").returns("busy").calls("poll").returns("busy").ends()
    >>> graded(MaxRepeat(1), story).evidence
    'poll repeated 2 times in a row exceeds max of 1'
    """

    metadata = TAXONOMY

    max: int
    match: Literal["observation", "name", "name-args"] = "observation"

    row: int = field(default=0, init=False)
    """How many times what was done last was done in a row."""
    key: str = field(default="", init=False)
    """What that was, as a hash."""
    longest: int = field(default=0, init=False)
    unsure: int = field(default=0, init=False)
    """Calls or results of which nobody knows what they are the same as."""
    hit: list[Any] | None = field(default=None, init=False)
    """The time that was too many: tool, event id, seq, a gap before it."""

    def problems(self) -> list[tuple[str, str]]:
        return [("max", "should be 1 or more: what is done once is done once in a row")] if self.max < 1 else []

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolResult,) if self.match == "observation" else (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools", "results"} if self.match == "observation" else {"tools"})

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        key = self._key(seen)
        if key is None:
            self.unsure += 1
            self.row, self.key = 0, ""
            return
        self.row, self.key = (self.row + 1 if key == self.key else 1), key
        self.longest = max(self.longest, self.row)
        if self.row > self.max:
            self.hit = [str(seen.tool)[:100], seen.event.id, seen.event.seq, seen.gap]
            self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            tool, event_id, seq, gap = self.hit
            text = f"{tool} repeated {self.row} times in a row exceeds max of {self.max}"
            # What is missing may have stood between.
            sound = not gap and not run.disordered
            return Finding(Outcome.FAIL, Reason.REPEATED, text, (Point(event_id, seq),), sound=sound)
        text = f"at most {self.longest} times in a row (within max of {self.max})"
        if self.unsure:
            text = f"what {self.unsure} of the tool events hold was not sent or was cut; so far {text}"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        return Finding(Outcome.PASS, Reason.NOT_REPEATED, text)

    def _key(self, seen: Seen) -> str | None:
        """What tells an action from another; None where that is not known."""
        event = seen.event
        if seen.tool is None or (seen.partial and self.match != "name"):
            return None
        if isinstance(event, ToolResult):
            return _hash(seen.tool, seen.text.encode("utf-8", "surrogatepass"))
        assert isinstance(event, ToolCall)
        if self.match == "name":
            return _hash(seen.tool, b"")
        args = arguments(event)
        return None if args is UNSENT else _hash(seen.tool, canonical_json(args))


def _hash(tool: str, what: bytes) -> str:
    name = tool.encode("utf-8", "surrogatepass")
    return blake2b(b"%d:%b%b" % (len(name), name, what), digest_size=12).hexdigest()
