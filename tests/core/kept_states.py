"""States as the program of each version kept them, with what came after: every later version has to go on from them.

``python -m tests.core.kept_states`` records those of this version, once, when `STATE_VERSION` was raised. What a version
that was released has kept is never recorded anew: workers in production have such states.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from stream_graders.config import load_fleet
from stream_graders.events import Agent, Event, event_from, from_json, to_json
from stream_graders.session import STATE_VERSION, At, Effect, Ledger, Session
from stream_graders.suites import Fleet, plain_settings
from stream_graders.testing import Record, answer_to, journal, requests_of, run, verdicts_of
from stream_graders.verdicts import Verdict
from tests.core.stories import GRADERS, STORIES

KEPT = Path(__file__).parent / "kept"
MINUTE = 60_000
LATER = 10**9
"""Log time by which everything of a run is due."""


class Kept(NamedTuple):
    """A state, and what its run came to."""

    name: str
    run_id: str
    state: str
    rest: list[tuple[dict[str, Any], int, int]]
    """Events that came after, each with its log time and offset."""
    said: list[list[Any]]
    """Of each verdict after the state: check, its version, turn, id, outcome, reason, evidence."""


def fleet_of(version: int) -> Fleet:
    """The suites that the states of this version were kept under."""
    return load_fleet([KEPT / f"{version}.yaml"])


def states_of(version: int) -> Iterator[Kept]:
    """The states that were kept."""
    for line in (KEPT / f"{version}.jsonl").read_bytes().splitlines():
        yield Kept(*from_json(line))


def went_on(fleet: Fleet, kept: Kept) -> list[list[Any]]:
    """What this program says of the run of a kept state."""
    session = Session.resume(fleet, kept.run_id, kept.state.encode(), Ledger())
    return told(finished(session, ((event_from(event), At(time, offset)) for event, time, offset in kept.rest)))


def finished(session: Session, records: Iterable[Record]) -> list[Effect]:
    """The effects of the rest of a run, and of all its deadlines."""
    effects = [effect for event, at in records for effect in session.feed(event, at)]
    return effects + session.advance(LATER)


def told(effects: list[Effect]) -> list[list[Any]]:
    return [_row(verdict) for verdict in verdicts_of(effects)]


def _row(of: Verdict) -> list[Any]:
    return [of.check, of.check_version, of.turn, of.id, of.outcome, of.reason, of.evidence]


# -- recording ---------------------------------------------------------------------------------------------------------


def runs() -> Iterator[tuple[str, list[Event], int, int]]:
    """Runs by what their state is like: how many events it has read, and how long after them it was kept."""
    order = list(STORIES["an order is found and refunded"])
    again = [*order, *run("run-1", producer="p2").asks("lot Q7?", id="q").says("lot Q7 for 58", id="a")]
    yield "open", order, len(order) - 3, 0
    yield "open at its second event", order, 2, 0
    yield "open, with two producers", list(STORIES["two producers"]), 4, 0
    yield "open, and something waits behind a gap", [*order[:3], *order[4:], order[3]], len(order) - 2, 0
    yield "waiting for its agent", list(run("r", agent=None).starts().asks("hello").says("lot Q7 58").ends()), 2, 0
    yield "new, behind a gap", list(run("r").asks("hello").says("lot Q7 58").ends())[1:], 1, 0
    yield "closed, to be amended", again, len(order), 0
    yield "ended, to be resumed", again, len(order), 11 * MINUTE
    yield "judging, and nobody has answered", order, len(order), 0
    yield "judging, and some have answered", again, len(order), 0
    yield "unselected", list(run("r", agent=Agent("other")).asks("hello").says("lot Q7 58").ends()), 2, 0


def checks() -> Iterator[dict[str, Any]]:
    """One check of each grader, and one each of what a check may say beside its grader."""
    first = {type(grader): (name, grader) for name, grader in reversed(GRADERS.items())}
    for name, grader in first.values():
        settings = from_json(to_json(plain_settings(grader)))
        judge = {"judge": {"sample": 1, "budget": {"calls": 9}, "deadline": "5m"}} if grader.asks else {}
        yield {
            "check": name.replace(" ", "-"), "grader": grader.name, "severity": "minor", "settings": settings, **judge
        }  # fmt: skip
    said = {"grader": "vally.transcript_contains", "severity": "critical", "settings": {"substring": "lot"}}
    yield {"check": "in-each-turn", **said, "turn": "each", "notify": "page"}
    yield {"check": "in-any-turn", **said, "turn": "any"}
    yield {"check": "after-a-refund", **said, "when": {"called": "payments.refund"}}


def record() -> None:
    """Write the suite and the states of this version."""
    KEPT.mkdir(exist_ok=True)
    suite = {"suite": "kept", "select": {"agent": "agent-*"}, "checks": list(checks())}
    text = yaml.safe_dump(suite, sort_keys=False, width=120)
    (KEPT / f"{STATE_VERSION}.yaml").write_text(text)
    fleet = fleet_of(STATE_VERSION)
    lines = b"".join(to_json(_kept(fleet, *each)) + b"\n" for each in runs())
    (KEPT / f"{STATE_VERSION}.jsonl").write_bytes(lines)


def _kept(fleet: Fleet, name: str, events: list[Event], read: int, later: int) -> Kept:
    """Judges answer at once, but where a run is to wait for them: there none, or every other, does before the state is kept."""
    before, after = journal(events)[:read], journal(events, since=1_000 + later)[read:]
    session = Session(fleet, events[0].run_id, Ledger())
    answers: list[Record] = []
    for event, at in before:
        effects = session.feed(event, _apart(at))
        for n, request in enumerate(requests_of(effects)):
            answer = answer_to(request, {"status": "scored", "score": 1, "reason": "yes", "judge": {"model": "m"}})
            record = (answer, At(at.time, 100 * at.offset + 1 + n, 300))
            if name.startswith("judging") and (n % 2 or "nobody" in name):
                answers.append(record)
            else:
                session.feed(*record)
    session.advance(session.now + later)
    state = session.snapshot().decode()
    records = [*answers, *((event, _apart(at)) for event, at in after)]
    records = [
        (event, at._replace(offset=max(at.offset, session.offset + 1 + n))) for n, (event, at) in enumerate(records)
    ]
    rest = [(from_json(to_json(event)), at.time, at.offset) for event, at in records]
    return Kept(name, session.run_id, state, rest, told(finished(session, records)))


def _apart(at: At) -> At:
    """The place, with room behind it for answers of judges."""
    return at._replace(offset=100 * at.offset)


if __name__ == "__main__":
    record()
