"""Runs written as stories, and the shortest way to grade one. For tests and examples, ours and yours.

>>> story = run().asks("where is my order?").calls("orders.find").returns({"id": "A-17"}).says("It is A-17.").ends()
>>> [event.__struct_config__.tag for event in story]
['message', 'tool.call', 'tool.result', 'message', 'run.end']
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .answers import mac_of
from .asking import Ask
from .events import (
    SCHEMA,
    Agent,
    Event,
    JudgeAnswer,
    Message,
    RunEnd,
    RunPause,
    RunResume,
    RunStart,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from .gradebook import Publish
from .grading import Grader
from .session import At, Effect, Ledger, Session
from .suites import Check, Fleet, Suite
from .verdicts import JudgeRequest, RunVerdict, Verdict

EPOCH = 1_790_000_000_000_000_000
"""The time of a story's first event, in nanoseconds; each event comes a second later."""

Record = tuple[Event, At]
"""An event and where it stands in the journal."""


@dataclass
class Story:
    """The events of one run, told in order. Every method adds one and returns the story."""

    run_id: str = "run-1"
    producer: str = "p1"
    common: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    _call: tuple[str, str] | None = None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events)

    def starts(self, **body: Any) -> "Story":
        """The run begins, as our emitter says it: everything is reported."""
        body.setdefault("reports", ("messages", "tools", "results", "usage", "end"))
        return self._add(RunStart, **body)

    def asks(self, text: Any, **body: Any) -> "Story":
        """The user says something."""
        return self._add(Message, role="user", content=text, **body)

    def says(self, text: Any, **body: Any) -> "Story":
        """The assistant says something."""
        return self._add(Message, role="assistant", content=text, **body)

    def calls(self, tool: str, args: Any = None, **body: Any) -> "Story":
        """The agent calls a tool."""
        call_id = body.pop("call_id", f"c{len(self.events)}")
        self._call = (tool, call_id)
        return self._add(ToolCall, name=tool, args={} if args is None else args, call_id=call_id, **body)

    def returns(self, result: Any = None, **body: Any) -> "Story":
        """A tool answers: the last one called, unless ``name`` or ``call_id`` say otherwise."""
        if self._call is not None:
            body.setdefault("name", self._call[0])
            body.setdefault("call_id", self._call[1])
        return self._add(ToolResult, result=result, **body)

    def ends_turn(self, **body: Any) -> "Story":
        """The turn ends."""
        return self._add(TurnEnd, **body)

    def pauses(self, **body: Any) -> "Story":
        """The run waits on purpose."""
        return self._add(RunPause, **body)

    def resumes(self, **body: Any) -> "Story":
        """The wait is over."""
        return self._add(RunResume, **body)

    def ends(self, **body: Any) -> "Story":
        """The run ends."""
        body.setdefault("status", "ok")
        body.setdefault("last_seq", len(self.events))
        return self._add(RunEnd, **body)

    def adds(self, kind: type[Event], **body: Any) -> "Story":
        """Any other event."""
        return self._add(kind, **body)

    def _add(self, kind: type[Event], **body: Any) -> "Story":
        n = len(self.events)
        envelope = {
            "schema": SCHEMA,
            "id": f"{self.run_id}-{n}",
            "run_id": self.run_id,
            "ts": EPOCH + n * 1_000_000_000,
            "seq": n,
            "producer": self.producer,
            "agent": Agent("agent-1", "1.0"),
            **self.common,
        }
        self.events.append(kind(**{**envelope, **body}))
        return self


def run(run_id: str = "run-1", **common: Any) -> Story:
    """A new story; ``common`` goes into the envelope of each of its events."""
    return Story(run_id, common=common)


def suite_of(*graders: Grader | Check, name: str = "suite", **settings: Any) -> Suite:
    """A suite of critical checks named after their graders."""
    checks = [
        grader if isinstance(grader, Check) else Check(f"{grader.name}-{n}", grader, "critical")
        for n, grader in enumerate(graders)
    ]
    return Suite(name, tuple(checks), **settings)


def fed(session: Session, events: Iterable[Event], *, since: int = 1_000, step: int = 1_000) -> list[Effect]:
    """Feed events one a second of log time; what comes of it."""
    effects: list[Effect] = []
    for n, event in enumerate(events):
        effects += session.feed(event, At(since + n * step, session.offset + 1, 300))
    return effects


def journal(events: Iterable[Event], *, since: int = 1_000, step: int = 1_000) -> list[Record]:
    """Events as records of a journal, one a second of log time."""
    return [(event, At(since + n * step, n, 300)) for n, event in enumerate(events)]


def session_of(suites: Suite | Sequence[Suite], run_id: str = "run-1") -> Session:
    """A session under these suites, with a ledger of its own."""
    return Session(Fleet((suites,) if isinstance(suites, Suite) else tuple(suites)), run_id, Ledger())


def verdicts_of(effects: Iterable[Effect]) -> list[Verdict]:
    """The verdicts among effects, in order."""
    return [e.record for e in effects if isinstance(e, Publish) and isinstance(e.record, Verdict)]


def run_verdicts_of(effects: Iterable[Effect]) -> list[RunVerdict]:
    """The run verdicts among effects, in order."""
    return [e.record for e in effects if isinstance(e, Publish) and isinstance(e.record, RunVerdict)]


def requests_of(effects: Iterable[Effect]) -> list[JudgeRequest]:
    """What judges are asked among effects, in order."""
    return [e.record for e in effects if isinstance(e, Ask)]


def answer_to(request: JudgeRequest, answer: Any, key: bytes | None = None) -> JudgeAnswer:
    """The event that carries a judge's answer to a request."""
    return JudgeAnswer(
        schema=SCHEMA,
        id=f"answer-{request.id}",
        run_id=request.run_id,
        ts=EPOCH,
        request_id=request.id,
        answer=answer,
        mac=None if key is None else mac_of(key, request.id, answer),
    )


def judged(check: Grader | Check, events: Iterable[Event], answer: Any, **settings: Any) -> Verdict:
    """The last verdict of one check on a finished list of events, with this answer to what it asks."""
    told = list(events)
    session = session_of(suite_of(check, **settings), told[0].run_id)
    effects = [*fed(session, told, step=0)]
    for request in requests_of(effects):
        effects += session.feed(answer_to(request, answer), At(session.now, session.offset + 1, 300))
    return [v for v in verdicts_of([*effects, *session.finish()]) if v.state != "early"][-1]


def graded(check: Grader | Check, events: Iterable[Event], **settings: Any) -> Verdict:
    """The last verdict of one check on a finished list of events, graded as `stream-graders grade` does."""
    told = list(events)
    session = session_of(suite_of(check, **settings), told[0].run_id if told else "run-1")
    effects = fed(session, told, step=0)
    return [v for v in verdicts_of([*effects, *session.finish()]) if v.state != "early"][-1]
