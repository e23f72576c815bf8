"""Graders of our own family as the tests configure them, and their oracles: order, errors, ends and limits."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from stream_graders.events import (
    Event,
    Message,
    RunEnd,
    ToolCall,
)
from stream_graders.graders.trajectory.allowed_tools import AllowedTools
from stream_graders.graders.trajectory.bad_end import BadEnd
from stream_graders.graders.trajectory.budget import Budget
from stream_graders.graders.trajectory.never_after import NeverAfter
from stream_graders.graders.trajectory.no_reply import NoReply
from stream_graders.graders.trajectory.precedes import Precedes
from stream_graders.graders.trajectory.repeated_call import RepeatedCall
from stream_graders.graders.trajectory.responds_within import RespondsWithin
from stream_graders.graders.trajectory.retried_same_error import RetriedSameError
from stream_graders.graders.trajectory.tool_errors import ToolErrors
from stream_graders.grading import Grader
from stream_graders.testing import run
from tests.graders.calls import calls_in, fits, fits_any, is_failure, is_hidden, reports, results_in, same
from tests.graders.told import Oracle, Told, calls_of_results, is_cut, searched, text, tokens_in

GRADERS: dict[str, Grader] = {
    "precedes": Precedes("auth.login", "payments.refund"),
    "precedes, by pattern": Precedes("auth.*", "*.refund"),
    "allowed tools": AllowedTools(["orders.*", "auth.login"]),
    "never after": NeverAfter("orders.*", after="payments.*"),
    "errors": ToolErrors(max=1),
    "error rate": ToolErrors(max_rate=0.25, tools=["orders.*"]),
    "repeated": RepeatedCall(times=2, writes=["*.refund"], exempt=["auth.*"]),
    "repeated, whatever is written": RepeatedCall(times=2),
    "retried": RetriedSameError(),
    "bad end": BadEnd(),
    "bad end by reason": BadEnd(["cancelled"], ["max_*"], without_reply=True),
    "no reply": NoReply(),
    "no reply but a hand-off": NoReply(["payments.*"]),
    "budget of calls": Budget(max_calls=4, max_turns=3),
    "budget of steps": Budget(max_steps=3),
    "budget of tokens": Budget(max_tokens=100, max_seconds=12),
    "budget of money": Budget(max_cost=1.25),
    "responds within": RespondsWithin(2.5),
}

_AGAIN = ({"order": "A", "amount": 5}, {"amount": 5, "order": "A"}, {"order": "A", "amount": 5})

STORIES: dict[str, Iterable[Event]] = {
    "the same call three times": (
        run()
        .starts()
        .asks("where?")
        .calls("orders.find", _AGAIN[0])
        .returns("none")
        .calls("orders.find", _AGAIN[1])
        .returns("none")
        .says("again")
        .calls("orders.find", _AGAIN[2])
        .returns("none")
        .ends()
    ),
    "the same error twice, then a write, then it goes": (
        run()
        .starts()
        .asks("refund")
        .calls("payments.refund", _AGAIN[0])
        .returns("Error: locked")
        .calls("payments.refund", _AGAIN[1])
        .returns("Error: locked")
        .calls("payments.refund", _AGAIN[2])
        .returns("ok")
        .says("done")
        .ends()
    ),
    "handed off": run().starts().asks("a person, please").calls("payments.hand").ends(status="handoff"),
    "ended by a limit": run().starts().asks("x").says("y").asks("z").ends(status="limit", reason="max_steps"),
}
"""Runs that this family's graders are held over beside those of `tests.core.stories`."""


# -- oracles -----------------------------------------------------------------------------------------------------------


def precedes(grader: Precedes, events: Sequence[Event], tools: Any) -> Told:
    calls = [(n, event) for n, event in enumerate(events) if isinstance(event, ToolCall)]
    then = next(((n, call) for n, call in calls if fits(call.name, grader.then)), None)
    if then is None:
        return Told("skipped", f"{grader.then} was never called")
    at, call = then
    before = [*events[:at], *step_of(events, at)]
    if any(isinstance(event, ToolCall) and fits(event.name, grader.first) for event in before):
        return Told("pass", f"{call.name} was called after {grader.first}")
    return Told("fail", f"{call.name} was called without an earlier {grader.first}")


def step_of(events: Sequence[Event], at: int) -> list[Event]:
    """The calls and messages that follow an event in its step."""
    step = events[at].step
    together: list[Event] = []
    for event in [e for e in events[at + 1 :] if isinstance(e, ToolCall | Message)] if step is not None else []:
        free = isinstance(event, Message) and event.role != "user" and event.step is None
        if event.step != step and not free:
            break
        together.append(event)
    return together


def allowed_tools(grader: AllowedTools, events: Sequence[Event], tools: Any) -> Told:
    other = next((call.name for call in calls_in(events) if not fits_any(call.name, grader.tools)), None)
    if other is not None:
        return Told("fail", f"{other} was called; allowed: {', '.join(grader.tools)}", certain=True)
    if not calls_in(events):
        return Told("skipped", "no tool was called")
    return Told("pass", f"no other tool was called; allowed: {', '.join(grader.tools)}")


def never_after(grader: NeverAfter, events: Sequence[Event], tools: Any) -> Told:
    at = next((n for n, e in enumerate(events) if isinstance(e, ToolCall) and fits(e.name, grader.after)), None)
    if at is None:
        return Told("skipped", f"{grader.after} was never called")
    together = step_of(events, at)
    later = [call for call in calls_in(events[at + 1 :]) if call not in together and fits(call.name, grader.tool)]
    led = calls_in(events[at:])[0].name
    if later:
        return Told("fail", f"{later[0].name} was called after {led}", certain=True)
    return Told("pass", f"{grader.tool} was not called after {led}")


def tool_errors(grader: ToolErrors, events: Sequence[Event], tools: dict[str, str | None]) -> Told:
    results = [e for e in results_in(events) if grader.tools is None or fits_any(tools[e.id], grader.tools)]
    unnamed = grader.tools is not None and any(tools[e.id] is None for e in results_in(events))
    errors = sum(is_failure(e) is True for e in results)
    if grader.max is not None and errors > grader.max:
        seen = [sum(is_failure(e) is True for e in results[: n + 1]) for n in range(len(results))]
        return Told("fail", f"{grader.max + 1} of {seen.index(grader.max + 1) + 1} tool results", certain=True)
    if not reports(events, "results"):
        return Told("not_graded", "content_missing")
    if unnamed:
        return Told("not_graded", "unpaired")
    if not results:
        return Told("skipped", "no result")
    unread = [e for e in results if is_failure(e) is None]
    if unread:
        return Told("not_graded", "truncated" if any(is_cut(e) for e in unread) else "content_missing")
    if grader.max_rate is not None and errors / len(results) > grader.max_rate:
        return Told("fail", f"{errors} of {len(results)} tool results")
    return Told("pass", f"{errors} of {len(results)} tool results")


def repeated_call(grader: RepeatedCall, events: Sequence[Event], tools: dict[str, str | None]) -> Told:
    calls = calls_of_results(events)
    pairs: list[Any] = []
    unpaired, cut = False, False
    for event in results_in(events):
        call = calls.get(event.id)
        may_write = grader.writes is not None and (tools[event.id] is None or fits_any(tools[event.id], grader.writes))
        if may_write:
            cut = cut or (is_cut(event) and is_failure(event) is None)
            unpaired = unpaired or (tools[event.id] is None)
            if not is_failure(event):
                pairs = []
                continue
        if call is None:
            unpaired = True
        elif fits_any(call.name, grader.exempt) or same(call) is None:
            continue
        elif is_hidden(event):
            cut = cut or is_cut(event)
        else:
            pairs.append((same(call), searched(event)))
            if pairs.count(pairs[-1]) == grader.times:
                return Told("fail", f"{tools[event.id]} was called {grader.times} times", certain=True)
    counted = [call for call in calls_in(events) if not fits_any(call.name, grader.exempt)]
    if not counted and not unpaired:
        return Told("skipped", "no call that counts was made")
    if len(counted) > 1 and any(same(call) is None for call in counted):
        return Told("not_graded", "content_missing")
    if unpaired:
        return Told("not_graded", "unpaired")
    return Told("pass", "no call was made", cut=cut)


def retried_same_error(grader: RetriedSameError, events: Sequence[Event], tools: Any) -> Told:
    """Looks back from each failure: to the call, the failures that came right before it, and the calls between."""
    calls = calls_of_results(events)
    transient = re.compile(grader.transient or "$^")
    failures = [e for e in results_in(events) if is_failure(e) is True]
    for event in failures:
        call = calls.get(event.id)
        if call is None or same(call) is None or is_hidden(event) or transient.search(searched(event)):
            continue
        at = events.index(call)
        for earlier in (e for e in failures if events.index(e) < at):
            first = calls.get(earlier.id)
            between = calls_in(events[events.index(earlier) + 1 : at])
            at_once = all(other.step is not None and other.step == call.step for other in between)
            alike = first is not None and same(first) == same(call) and searched(earlier) == searched(event)
            if at_once and alike and not is_hidden(earlier):
                return Told("fail", f"{tools[event.id]} was called again without a change", certain=True)
    hidden = [e for e in results_in(events) if is_failure(e) is not False]
    cut = any(is_cut(e) for e in hidden)
    paired = any(e.id in calls for e in hidden)
    if paired and any(same(call) is None for call in calls_in(events)):
        return Told("not_graded", "content_missing")
    if any(e.id not in calls for e in hidden):
        return Told("not_graded", "unpaired")
    if not paired:
        return Told("skipped", "no call failed", cut=cut)
    return Told("pass", "no call was made again at once", cut=cut)


def bad_end(grader: BadEnd, events: Sequence[Event], tools: Any) -> Told:
    ends = [event for event in events if isinstance(event, RunEnd)]
    bad = ["error", "limit", "timeout"] if grader.statuses is None else grader.statuses
    if ends and (ends[-1].status in bad or fits_any(ends[-1].reason or "", grader.reasons)):
        return Told("fail", f"the run ended with status {ends[-1].status}", certain=True)
    users = [n for n, e in enumerate(events) if isinstance(e, Message) and e.role == "user"]
    needs = {"messages"} if grader.without_reply else set[str]()
    if grader.without_reply and users:
        after = [e for e in events[users[-1] :] if isinstance(e, Message) and e.role == "assistant"]
        output = text(ends[-1].output).strip() if ends else ""
        if not output and not any(text(e.content).strip() for e in after):
            cut = any(is_cut(e) for e in after)
            return Told("fail", "the run ended without a reply", cut=cut, needs=needs)
    if not ends or ends[-1].status == "unknown":
        return Told("not_graded", "end_unknown")
    return Told("pass", f"the run ended with status {ends[-1].status}", not grader.without_reply, needs=needs)


def no_reply(grader: NoReply, events: Sequence[Event], tools: Any) -> Told:
    needs = {"messages", "tools"} if grader.handoff_tools else {"messages"}
    asked = next((n for n, e in enumerate(events) if isinstance(e, Message) and e.role == "user"), None)
    if asked is None:
        return Told("skipped", "the user said nothing", needs=needs)
    after = [e for e in events[asked:] if isinstance(e, Message) and e.role == "assistant"]
    ends = [e for e in events if isinstance(e, RunEnd)]
    if any(text(e.content).strip() for e in after) or any(text(e.output).strip() for e in ends):
        return Told("pass", "the agent replied", certain=True)
    cut = any(is_cut(e) for e in after)
    handed = any(fits_any(call.name, grader.handoff_tools) for call in calls_in(events))
    if handed or any(e.status == "handoff" for e in ends):
        return Told("skipped", "handed off: ", cut=cut, needs=needs)
    return Told("fail", "the user said something, and the agent never replied", cut=cut, needs=needs)


def budget(grader: Budget, events: Sequence[Event], tools: Any) -> Told:
    """The shortest beginning of the run that exceeds a limit, else the whole."""
    for n in range(1, len(events) + 1):
        over = [name for name, (value, limit, _) in _measured(grader, events[:n]).items() if (value or 0) > limit]
        if over:
            value = _measured(grader, events[:n])[over[0]][0] or 0
            return Told("fail", f"{over[0].replace('?', f'{value:g}')}, at most", certain=True)
    told = _measured(grader, events)
    said = [name for name in told if name not in ("? tool calls", "? seconds")]
    if said and not reports(events, "messages"):
        return Told("not_graded", "not_measured")
    needs = {"tools"} if grader.max_calls is not None or grader.max_steps is not None else set[str]()
    if any(value is None or doubt for value, _, doubt in told.values()):
        return Told("not_graded", "not_measured")
    return Told("pass", "", needs=needs)


def _measured(grader: Budget, events: Sequence[Event]) -> dict[str, tuple[float | None, float, bool]]:
    """By what the evidence says of each limit: the measure, the limit, and whether it may be more."""
    agent = [e for e in events if isinstance(e, ToolCall) or (isinstance(e, Message) and e.role == "assistant")]
    said = [e for e in agent if isinstance(e, Message)]
    told: dict[str, tuple[float | None, float, bool]] = {}
    if grader.max_calls is not None:
        told["? tool calls"] = (len(calls_in(events)), grader.max_calls, False)
    if grader.max_turns is not None:
        turn, users, most = 0, 0, 0
        for e in events:
            is_user = isinstance(e, Message) and e.role == "user"
            turn = max(turn, e.turn) if e.turn is not None else turn + (is_user and users > 0)
            users += is_user
            most = max(most, (turn if e.turn is None else e.turn) + 1) if isinstance(e, Message) else most
        told["? turns"] = (most, grader.max_turns, False)
    if grader.max_steps is not None:
        turn, users, steps = 0, 0, list[tuple[int, int]]()
        for e in events:
            is_user = isinstance(e, Message) and e.role == "user"
            turn = e.turn if e.turn is not None else turn + (is_user and users > 0)
            users += is_user
            if e in agent and e.step is not None:
                steps.append((turn, e.step))
        doubt = any(e.step is None for e in agent)
        told["? steps"] = (len(list(groupby(steps))), grader.max_steps, doubt)
    ends = [e.usage or {} for e in events if isinstance(e, RunEnd)]
    for limit, words, of in (
        (grader.max_tokens, "? tokens", tokens_in), (grader.max_cost, "a cost of ?", lambda usage: usage.get("cost"))
    ):  # fmt: skip
        if limit is not None:
            used = [of(e.usage or {}) for e in said]
            total = of(ends[-1]) if ends else None
            known = [u for u in (*used, total) if u is not None]
            spent = max(sum(u or 0 for u in used), total or 0) if known else None
            told[words] = (spent, limit, total is None and None in used)
    if grader.max_seconds is not None:
        timed = [e for e in events if type(e).__name__ in ("RunStart", "Message", "ToolCall", "ToolResult", "RunEnd")]
        spans = [0.0]
        for producer in {e.producer for e in timed}:
            times = [int(str(e.ts)) / 1e9 for e in timed if e.producer == producer]
            spans.append(max(times) - min(times))
        told["? seconds"] = (max(spans) or (None if len(timed) > 1 else 0), grader.max_seconds, False)
    return told


def responds_within(grader: RespondsWithin, events: Sequence[Event], tools: Any) -> Told:
    waited: list[float | None] = []
    asked: Message | None = None
    for event in (e for e in events if isinstance(e, Message)):
        if event.role == "user":
            asked = asked or event
        elif event.role == "assistant" and asked is not None:
            took = (int(str(event.ts)) - int(str(asked.ts))) / 1e9
            waited.append(took if took > 0 and event.producer == asked.producer else None)
            asked = None
    slow = [took for took in waited if took is not None and took > grader.seconds]
    if slow:
        return Told("fail", f"a reply took {slow[0]:g} s", certain=True)
    if not reports(events, "messages"):
        return Told("not_graded", "content_missing")
    if None in waited:
        return Told("not_graded", "not_measured")
    return Told("pass", "the slowest reply took") if waited else Told("skipped", "no message of the user was answered")


ORACLES: dict[type, Oracle] = {
    Precedes: Oracle(precedes, {"tools"}),
    AllowedTools: Oracle(allowed_tools, {"tools"}),
    NeverAfter: Oracle(never_after, {"tools"}),
    ToolErrors: Oracle(tool_errors, {"tools"}),
    RepeatedCall: Oracle(repeated_call, {"tools", "results"}),
    RetriedSameError: Oracle(retried_same_error, {"tools", "results"}),
    BadEnd: Oracle(bad_end, set()),
    NoReply: Oracle(no_reply, {"messages"}),
    Budget: Oracle(budget, set()),
    RespondsWithin: Oracle(responds_within, set()),
}
