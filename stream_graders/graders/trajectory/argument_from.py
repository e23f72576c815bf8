"""Does an argument come from what another tool returned?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import UNSENT, Event, ToolCall, ToolResult
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import arguments_of, digest
from ...matching.differences import loose_key, shown_value
from ...matching.paths import inside, parse, problem_of, values_at
from ...matching.tools import fits
from ...verdicts import Finding, Outcome, Point, Reason

VALUES = 256
"""Different values remembered."""


@dataclass
class ArgumentFrom(Grader):
    """Fail a run that calls ``tool`` with an ``argument`` that no earlier result of ``source`` had at ``path``.

    Tools may hold ``*`` for any characters. Argument and path are paths like ``order.items[0].id``; a name asked of a
    list is asked of each entry, so that ``orders.id`` is the id of any order. Of an argument that is a list, each entry
    has to come from there; a call without the argument fails. Numbers are loose: 12 is "12". A run that never calls
    ``tool`` is skipped.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("find").returns({"id": "A-1"}).calls("refund", {"order": "A-7"}).ends()
    >>> graded(ArgumentFrom("refund", "order", "find", "id"), story).evidence
    'refund: argument order: expected a value at id of an earlier result of find, got "A-7"'
    """

    grows = True

    tool: str
    argument: str
    source: str
    path: str

    called: bool = field(default=False, init=False)
    values: list[str] = field(default_factory=list, init=False)
    """What stands for the values that came."""
    dropped: bool = field(default=False, init=False)
    blind: str = field(default="", init=False)
    """Why a value may have come that is not known; "" while all are."""
    doubtful: list[str] | None = field(default=None, init=False)
    """The first call that cannot be judged: the reason, what is to be said."""
    hit: list[Any] | None = field(default=None, init=False)
    """The first call with another value: event id, seq, what is to be said, a gap before it."""

    def __post_init__(self) -> None:
        self._argument = parse(self.argument) if problem_of(self.argument) is None else []
        self._path = parse(self.path) if problem_of(self.path) is None else []

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, ToolResult)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools", "results"})

    def problems(self) -> list[tuple[str, str]]:
        found = [(name, "name the tool") for name in ("tool", "source") if not getattr(self, name)]
        told = {name: problem_of(getattr(self, name)) for name in ("argument", "path")}
        return [*found, *((name, text) for name, text in told.items() if text is not None)]

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if isinstance(event, ToolCall):
            if fits(event.name, self.tool):
                self.called = True
                self._judge(event, seen)
        elif isinstance(event, ToolResult) and (seen.tool is None or fits(seen.tool, self.source)):
            self._learn(event, seen)

    def _learn(self, event: ToolResult, seen: Seen) -> None:
        if seen.tool is None or seen.partial:
            missing = Reason.TRUNCATED if seen.truncated else Reason.CONTENT_MISSING
            self.blind = self.blind or (Reason.UNPAIRED if seen.tool is None else missing)
            return
        sent = event.result
        value = seen.text if sent is UNSENT or isinstance(sent, str) else sent
        for one in values_at(value, self._path):
            for item in one if isinstance(one, list) else [one]:
                known = digest(loose_key(item))
                if known in self.values:
                    continue
                if len(self.values) < VALUES:
                    self.values.append(known)
                else:
                    self.dropped = True

    def _judge(self, event: ToolCall, seen: Seen) -> None:
        args = arguments_of(event)
        if args.hidden:
            self._doubt(Reason.CONTENT_MISSING, f"the arguments of {event.name} were not all sent")
            return
        if args.values is None:
            self._fail(seen, f"{event.name}: its arguments {args.fault}")
            return
        wanted = f"{event.name}: argument {self.argument}: expected a value at {self.path} of an earlier result of"
        found = values_at(args.values, self._argument)
        if not found:
            self._fail(seen, f"{wanted} {self.source}, got nothing")
        for one in found:
            for item in one if isinstance(one, list) else [one]:
                if digest(loose_key(item)) not in self.values:
                    told = f"{wanted} {self.source}, got {shown_value(item)}"
                    if self.blind or self.dropped:
                        self._doubt(self.blind or Reason.STATE_LIMIT, told)
                    else:
                        self._fail(seen, told)
                    return

    def _doubt(self, reason: str, told: str) -> None:
        self.doubtful = self.doubtful or [str(reason), told]

    def _fail(self, seen: Seen, told: str) -> None:
        self.hit = [seen.event.id, seen.event.seq, told, seen.gap]
        self.values = []
        self.settled = True

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            event_id, seq, told, gap = self.hit
            point = Point(event_id, seq, inside("args", self.argument))
            # The result that had the value may be missing.
            sound = not gap and not run.disordered and run.reported("results")
            return Finding(Outcome.FAIL, Reason.UNTRACED, told, (point,), sound=sound)
        if self.doubtful is not None:
            reason, told = self.doubtful
            return Finding(Outcome.NOT_GRADED, Reason(reason), f"not all values are known; so far: {told}")
        if not self.called:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, f"{self.tool} was never called")
        text = f"every {self.argument} of {self.tool} came from an earlier result of {self.source}"
        return Finding(Outcome.PASS, Reason.TRACED, text)

    def size(self) -> int:
        return 27 * len(self.values)
