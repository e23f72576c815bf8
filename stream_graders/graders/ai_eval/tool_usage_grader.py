"""Did the agent use the tools that it was expected to use, and leave the others alone?"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ...events import Event, Message, RunEnd, ToolCall
from ...grading import RunFacts, Seen
from ...verdicts import Finding, Outcome, Point, Reason, finding_with
from ._expected import Expectation, by_name, fault, places, strange
from ._flags import ACTING
from ._reply import ScoredReply, entries, listed

RECORD = "read from the agent's tool-call record"
FALLBACK = (
    "no tool-call record available; read from the response text, "
    "which only works when the answer spells out tool markers"
)


@dataclass
class ToolUsageGrader(ScoredReply):
    """Score the share of ``expected_tools`` that the run met, from 0 to 5 (R112 to R122). Without any it is skipped.

    An entry names a ``tool``, by its function or its plugin id (with a colon: only that), which ran, or with
    ``should_run: false`` did not. ``args`` are those that one call must have, among others: numbers and the texts that
    spell them are equal, true and false are themselves. ``after`` names a tool whose first call comes before. Entries are
    independent: one call may meet several. Evidence never shows an argument.

    The calls are the agent's record. Of a run of which nothing says that it reports its calls, the final reply is read
    for ``Tool call: name``, ``[tool: name]``, ``<tool>name</tool>`` and ``name(``, and the evidence says so; there an
    entry with ``args`` or ``after`` is never met.

    >>> from stream_graders.testing import graded, run
    >>> grader = ToolUsageGrader([{"tool": "find", "args": {"n": 12}}, {"tool": "drop", "should_run": False}])
    >>> verdict = graded(grader, run().calls("find", {"n": "12"}).calls("drop").ends())
    >>> verdict.score, verdict.evidence
    (2.5, "1 of 2 tool expectations met; drop ran (read from the agent's tool-call record)")
    """

    lazy = False  # It reads replies only while it knows of no call.

    metadata = ACTING
    order_free = False
    references: ClassVar[dict[str, str]] = {"expected_tools": "expected_tools"}
    assumes = "the tools are not called"

    expected_tools: Any = None

    met: str = field(default="", init=False)
    """Of each entry a letter: ``y`` a call is what it names, ``?`` one may be, ``n`` none is."""
    earlier: list[int] = field(default_factory=list, init=False)
    """The entries whose ``after`` was called."""
    called: bool = field(default=False, init=False)
    calls: list[list[Any]] = field(default_factory=list, init=False)
    """The last three calls that an entry names: event id, seq."""

    def __post_init__(self) -> None:
        self._listed = entries(self.expected_tools)
        self._asked = [Expectation(n, entry) for n, entry in enumerate(self._listed)]
        whole = [(n, asked) for n, asked in enumerate(self._asked) if asked.fault is None]
        self._tools = by_name([(n, asked.tool) for n, asked in whole])
        self._afters = by_name([(n, asked.after) for n, asked in whole if asked.after])
        self._readable = [(n, asked) for n, asked in whole if not asked.needs_record]
        self._undecided = len(whole)
        self.settled = not self._asked
        self.met = "n" * len(self._asked)
        if not any(asked.should_run for asked in self._asked):
            vars(self)["assumes"] = None  # A run without calls passes.

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall, Message, RunEnd)

    def problems(self) -> list[tuple[str, str]]:
        return [
            ("expected_tools", f"entry {n + 1} {told}")
            for n, entry in enumerate(self._listed)
            if (told := fault(entry)) is not None
        ]

    def warnings(self) -> list[tuple[str, str]]:
        if not self._asked:
            return [("expected_tools", "names no tool, so a run that brings none of its own is skipped")]
        unread = [(n, key) for n, entry in enumerate(self._listed) if (key := strange(entry)) is not None]
        return [("expected_tools", f"entry {n + 1} has {key}, which nothing reads") for n, key in unread]

    def update(self, seen: Seen) -> None:
        if self.settled:
            return
        event = seen.event
        if type(event) is ToolCall:
            self._call(event, seen)
        elif not self.called:  # With a call there is a record.
            super().update(seen)

    def finding(self, run: RunFacts) -> Finding:
        if not self._asked:
            return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, "no expected_tools; skipping", sound=True)
        whole = not run.lost and not run.tail_unknown
        if self.called or run.tools_known:
            # No message could change what the record says; if no event is missing, nothing could.
            return self._of_record(sound=self.settled or whole)
        found = super().finding(run)
        return found if whole else finding_with(found, sound=False)

    def read(self, seen: Seen) -> list[int]:
        """The entries whose tool the reply spells out a call of."""
        text = seen.text
        return [n for n, asked in self._readable if asked.is_spelled(text)]

    def told(self, judgement: Any, *, reported: bool) -> Finding:
        spelled = judgement or ()
        unmet = [
            asked.unread()
            for n, asked in enumerate(self._asked)
            if asked.fault is not None or asked.needs_record or (n in spelled) is not asked.should_run
        ]
        return self._share(unmet, FALLBACK)

    def _call(self, event: ToolCall, seen: Seen) -> None:
        if not self.called:
            # What the reply spells out is of no use any more.
            self.called, self.replied, self.output, self.unheard = True, None, None, None
        named = False
        for n in places(self._tools, event):
            asked = self._asked[n]
            named = True
            if self.met[n] == "y" or (asked.after and n not in self.earlier):
                continue
            fits = asked.fits(seen)
            if fits is not False:
                self.met = f"{self.met[:n]}{'y' if fits else '?'}{self.met[n + 1 :]}"
                self.settled = self.met.count("y") == self._undecided
        if self._afters[1]:
            self.earlier += [n for n in places(self._afters, event) if n not in self.earlier]
        if named:
            self.calls = [*self.calls[-2:], [event.id, event.seq]]

    def _of_record(self, *, sound: bool) -> Finding:
        both = list(zip(self._asked, self.met, strict=True))
        points = tuple(Point(event_id, seq, "name") for event_id, seq in self.calls)
        unknown = [asked.label for asked, letter in both if letter == "?"]
        if unknown:
            text = f"arguments of calls were not sent whole, and could decide: {listed(unknown, ', ')}"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text, points)
        unmet = [
            asked.unmet()
            for asked, letter in both
            if asked.fault is not None or (letter == "y") is not asked.should_run
        ]
        return finding_with(self._share(unmet, RECORD), points=points, sound=sound)

    def _share(self, unmet: list[str], source: str) -> Finding:
        total = len(self._asked)
        met = total - len(unmet)
        text = f"{met} of {total} tool expectations met; {listed(unmet, '; ')} ({source})"
        if not unmet:
            text = f"all {total} tool expectations met ({source})"
        return self.scored(5.0 * met / total, Reason.TOOLS_AS_EXPECTED, Reason.TOOLS_NOT_AS_EXPECTED, text)
