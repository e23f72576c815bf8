"""What each check says of a whole run that lies on the table: a few lines a grader, written from the rules alone.

Nothing here is incremental, and nothing is shared with the graders but the events: an oracle and a grader that agree on
thousands of random runs agree because both follow the rule. The oracles of a family stand in ``families/``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from stream_graders.events import (
    ASIDES,
    OPENERS,
    UNSENT,
    Event,
    Message,
    RunEnd,
    RunStart,
    ToolCall,
    ToolResult,
    TurnEnd,
)
from stream_graders.suites import Check
from tests.graders.families import (
    agentlasso,
    ai_eval,
    datarobot,
    trajectory,
    trajectory_calls,
    trajectory_replies,
    trajectory_values,
    vally,
)
from tests.graders.told import Oracle, Told, assistant, called_names, is_cut, text, tools_of_results

FAMILIES = (vally, agentlasso, ai_eval, datarobot, trajectory, trajectory_calls, trajectory_values, trajectory_replies)
ORACLES: dict[type, Oracle] = {kind: oracle for family in FAMILIES for kind, oracle in family.ORACLES.items()}

# -- a check around it -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """Which records of a run (or of its beginning) are known."""

    messages: bool
    tools: bool
    results: bool


def known(events: Sequence[Event]) -> Known:
    start = next((event for event in events if isinstance(event, RunStart)), None)
    reports = None if start is None else start.reports
    return Known(
        messages=(reports is None or "messages" in reports)
        and not any(isinstance(e, Message) and e.content is UNSENT for e in events),
        tools=("tools" in (reports or ())) or any(isinstance(e, ToolCall | ToolResult) for e in events),
        results=(reports is None or "results" in reports)
        and not any(isinstance(e, ToolResult) and e.result is UNSENT and e.result_raw is None for e in events),
    )


def turns(events: Sequence[Event]) -> list[int]:
    """The turn of each event: its own, else counted by user messages."""
    numbers, at, users = list[int](), 0, 0
    for event in events:
        is_user = isinstance(event, Message) and event.role == "user"
        at = max(at, event.turn) if event.turn is not None else at + (is_user and users > 0)
        users += is_user
        numbers.append(at if event.turn is None else event.turn)
    return numbers


def sliced(events: Sequence[Event], turn: int) -> tuple[list[Event], list[Event]]:
    """The events of a turn up to its end, and all events up to and with the one that ended it."""
    inside: list[Event] = []
    for n, (event, number) in enumerate(zip(events, turns(events), strict=True)):
        if number > turn and inside:
            return inside, list(events[: n + 1])
        if number == turn:
            inside.append(event)
            if isinstance(event, TurnEnd):
                return inside, list(events[: n + 1])
    return inside, list(events)


def applies(check: Check, events: Sequence[Event]) -> bool:
    when = check.when
    if when is None:
        return True
    start = next((event for event in events if isinstance(event, RunStart)), None)
    labels = (start.labels if start is not None else None) or {}
    end = [event for event in events if isinstance(event, RunEnd)]
    return (
        (when.called is None or when.called in called_names(events))
        and (when.said is None or any(when.said.lower() in text(m.content).lower() for m in assistant(events)))
        and (not when.status or (bool(end) and end[-1].status in when.status))
        and all(labels.get(name) == value for name, value in when.labels.items())
    )


def expected(check: Check, run: Sequence[Event]) -> tuple[str, str]:
    """Outcome of a check on a complete run, and its evidence; of ``not_graded`` the reason."""
    events = [event for event in run if not isinstance(event, ASIDES)]
    while events and not isinstance(events[0], OPENERS):
        del events[0]  # What comes before anything that opens the run is not of it.
    tools = tools_of_results(events)
    told, facts = _told(check, events, tools)
    if check.when is not None and not applies(check, events):
        if check.when.called is not None and check.when.called not in called_names(events) and not known(events).tools:
            return "not_graded", "record_unknown"
        said = check.when.said
        if said is not None and not any(said.lower() in text(m.content).lower() for m in assistant(events)):
            if not known(events).messages:
                return "not_graded", "content_missing"
            if any(is_cut(message) for message in assistant(events)):
                return "not_graded", "truncated"
        return "skipped", "the condition did not come true"
    return _weighed(check, told, facts)


def _weighed(check: Check, told: Told, facts: Known) -> tuple[str, str]:
    if told.certain or told.outcome == "not_graded":
        return told.outcome, told.evidence
    needs = ORACLES[type(check.grader)].needs if told.needs is None else told.needs
    if "tools" in needs and not facts.tools:
        return "not_graded", "record_unknown"
    if ("messages" in needs and not facts.messages) or ("results" in needs and not facts.results):
        return "not_graded", "content_missing"
    if told.cut:
        return "not_graded", "truncated"
    if told.outcome == "asks":
        return "not_graded", told.evidence  # Nobody is there to answer.
    return told.outcome, told.evidence


def expected_turns(check: Check, run: Sequence[Event]) -> dict[int, tuple[str, str]]:
    """What a check says of each turn of a complete run, as `expected` says it of the whole."""
    events = [event for event in run if not isinstance(event, ASIDES)]
    while events and not isinstance(events[0], OPENERS):
        del events[0]
    tools = tools_of_results(events)
    found: dict[int, tuple[str, str]] = {}
    at, inside, empty, over = 0, list[Event](), True, False

    def close(n: int) -> None:
        told = ORACLES[type(check.grader)].tell(check.grader, inside, tools)
        if empty and told.outcome == "pass":
            told = Told("fail", f"turn {at} has no events", cut=told.cut)
        found[at] = _weighed(check, told, known(events[: n + 1]))

    for n, (event, number) in enumerate(zip(events, turns(events), strict=True)):
        if number > at and not isinstance(event, RunEnd):
            if not empty and at not in found:
                close(n)
            at, inside, empty, over = number, [], True, False
        if number == at and not over:
            empty = False
            inside += [] if isinstance(event, RunEnd) else [event]
            if isinstance(event, TurnEnd):
                over = True
                if check.turn == "each":
                    close(n)
    if at not in found:
        close(len(events))
    return found


ORDER = {"all": ("fail", "error", "not_graded", "pass"), "any": ("pass", "error", "not_graded", "fail")}


def folded(how: str, found: dict[int, tuple[str, str]]) -> tuple[str, str]:
    """What turns come to together: the first outcome that decides, of the earliest turn that has it."""
    for outcome in (*ORDER[how], "skipped"):
        for turn, (of, evidence) in found.items():
            if of == outcome:
                return of, evidence if of == "not_graded" else f"turn {turn}: {evidence}"
    raise AssertionError("a run has a turn")


def _told(check: Check, events: list[Event], tools: dict[str, str | None]) -> tuple[Told, Known]:
    oracle = ORACLES[type(check.grader)].tell
    if check.turn is None:
        return oracle(check.grader, events, tools), known(events)
    assert isinstance(check.turn, int)
    inside, before = sliced(events, check.turn)
    # The run's end reports the reply of the run, not that of a turn.
    told = oracle(check.grader, [event for event in inside if not isinstance(event, RunEnd)], tools)
    if not inside and told.outcome in ("pass", "asks"):
        told = Told("fail", f"turn {check.turn} has no events", cut=told.cut)
    return told, known(before)
