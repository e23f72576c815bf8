"""Graders of Vally as the tests configure them, and their oracles."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from stream_graders.events import (
    UNSENT,
    Event,
    Message,
    RunEnd,
    RunPause,
    RunResume,
    ToolCall,
    ToolResult,
    TurnEnd,
    compact,
    from_json,
)
from stream_graders.graders.vally.assistant_contains_tool_output import AssistantContainsToolOutput
from stream_graders.graders.vally.completed import Completed
from stream_graders.graders.vally.error_count import ErrorCount
from stream_graders.graders.vally.exit_success import ExitSuccess
from stream_graders.graders.vally.max_repeat import MaxRepeat
from stream_graders.graders.vally.output_contains import OutputContains
from stream_graders.graders.vally.output_matches import OutputMatches
from stream_graders.graders.vally.output_not_contains import OutputNotContains
from stream_graders.graders.vally.output_not_matches import OutputNotMatches
from stream_graders.graders.vally.panel import Panel
from stream_graders.graders.vally.prompt import Prompt
from stream_graders.graders.vally.step_count import StepCount
from stream_graders.graders.vally.token_budget import TokenBudget
from stream_graders.graders.vally.tool_call_count import ToolCallCount
from stream_graders.graders.vally.tool_calls import ToolCalls
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.graders.vally.transcript_matches import TranscriptMatches
from stream_graders.graders.vally.transcript_not_contains import TranscriptNotContains
from stream_graders.graders.vally.transcript_not_matches import TranscriptNotMatches
from stream_graders.graders.vally.turn_count import TurnCount
from stream_graders.graders.vally.wall_time import WallTime
from stream_graders.grading import Grader
from stream_graders.testing import run
from tests.graders.told import (
    Oracle,
    Told,
    asks_judge,
    assistant,
    calls_of_results,
    is_cut,
    object_or_text,
    reply_of,
    searched,
    text,
    tokens_in,
)

GRADERS: dict[str, Grader] = {
    "prompt": Prompt("Names the lot."),
    "prompt without a rubric": Prompt(),
    "panel": Panel(["Names the lot."], ["a", "b"]),
    "echo by pattern": AssistantContainsToolOutput(["orders"], "ORD-[0-9]{6}"),
    "echo by group": AssistantContainsToolOutput(["orders.find", "auth"], '"?(?:id"?:")?(ORD-[0-9]*)?'),
    "echo by path": AssistantContainsToolOutput(["orders.find"], path="id"),
    "echo of long values": AssistantContainsToolOutput(["orders.find"], "ORD-.*"),
    "echo with a bad pattern": AssistantContainsToolOutput(["orders.find"], "(a"),
    "contains": TranscriptContains("refunded"),
    "contains, by case": TranscriptContains("REFUNDED", case_sensitive=True),
    "contains, negated": TranscriptContains("lot q7", negate=True),
    "not contains": TranscriptNotContains("refunded"),
    "not contains what is nowhere": TranscriptNotContains("guarantee"),
    "matches": TranscriptMatches("(?i)lot q7 (and|for) [0-9]+"),
    "matches at the end": TranscriptMatches("(58|Q7)$", negate=True),
    "not matches": TranscriptNotMatches("^REFUNDED|Q7$"),
    "not matches nothing at all": TranscriptNotMatches("^$"),
    "matches a bad pattern": TranscriptMatches("(a"),
    "output contains": OutputContains("refunded"),
    "output contains, negated": OutputContains("Q7", case_sensitive=True, negate=True),
    "output not contains": OutputNotContains("lot q7"),
    "output matches": OutputMatches("58$|^one"),
    "output not matches": OutputNotMatches(r"(?i)q7\b"),
    "completed": Completed(),
    "exit success": ExitSuccess(),
    "required calls": ToolCalls([{"name": "refund$", "args": {"n": "[02468]$"}}, {"name": "^orders", "min_count": 2}]),
    "disallowed calls": ToolCalls(disallowed=["login", {"name": "find", "pattern": '"n":[5-9]'}]),
    "calls in sequence": ToolCalls(sequence=["auth|orders", {"name": "refund", "args": {"n": "."}}]),
    "calls with results": ToolCalls(
        [{"name": "find", "result": "ORD-[0-9]+$"}], [{"name": ".", "result": "not|ORD", "args": {"n": "[27]$"}}]
    ),
    "a final call": ToolCalls([{"name": "refund", "final": True}, {"name": "orders", "before_step": 3}]),
    "calls by a bad pattern": ToolCalls(["(a"]),
    "repeated results": MaxRepeat(1),
    "repeated names": MaxRepeat(2, "name"),
    "repeated calls": MaxRepeat(1, "name-args"),
    "tool calls": ToolCallCount(2),
    "steps": StepCount(3),
    "turns": TurnCount(2),
    "errors": ErrorCount(1),
    "no errors": ErrorCount(0),
    "tokens": TokenBudget(500),
    "wall time": WallTime("7s"),
}

STORIES: dict[str, Iterable[Event]] = {
    "texts that are cut within a match": run().starts().says("lot Q7", flags=("truncated",)).says("lot Q").ends(),
    "texts that are cut behind a match": run().starts().says("lot Q7 for 58.", flags=("truncated",)).ends(),
    "an empty text that was cut": run().starts().says("", flags=("truncated",)).says("one moment").ends(),
    "tokens by message": run()
    .starts()
    .says("a", usage={"input": 400, "output": 50})
    .says("b", usage={"total": 50})
    .ends(),
    "too many tokens": run()
    .starts()
    .says("a", usage={"input": 400, "output": 50})
    .says("b", usage={"total": 51})
    .ends(),
    "tokens of the whole run": run().starts().says("a").ends(usage={"prompt_tokens": 300, "completion_tokens": 5}),
    "more tokens in the end than by message": run().starts().says("a", usage={"total": 9}).ends(usage={"total": 501}),
    "a message without tokens": run().starts().says("a", usage={"total": 400}).says("b", usage={}).says("c").ends(),
    "the last one goes over": run().starts().says("a").says("b", usage={"total": 501}).ends(status="limit"),
    "steps that repeat": run().starts().says("a", step=0).calls("t", step=2).says("b", step=1).says("c", step=2).ends(),
    "steps with a hole": run().starts().says("a", step=0).calls("t", step=9).says("b", step=1).says("c", step=3).ends(),
    "an end in an error": run().starts().says("a").ends(status="error", error={"message": "no"}),
    "an end that was cancelled": run().starts().says("a").ends(status="cancelled"),
    "calls with arguments": (
        run()
        .starts()
        .calls("orders.find", {"n": 4}, step=0)
        .calls("orders.find", {"n": 4}, step=0)
        .returns("ORD-1")
        .calls("payments.refund", '{"n": 12}', step=1)
        .returns("ORD-1")
        .calls("payments.refund", {"m": 1}, step=3)
        .ends()
    ),
    "arguments that were not sent": (
        run().starts().calls("payments.refund", UNSENT).calls("orders.find", "not json").calls("payments.refund").ends()
    ),
    "arguments that were cut": run().starts().calls("payments.refund", {"n": 2}, flags=("truncated",)).ends(),
    "a result that was cut": (
        run().starts().calls("orders.find").returns("ORD-12", flags=("truncated",)).returns("ORD-1").ends()
    ),
    "an output that was cut": run().starts().says("ok").ends(output="lot q7 for 58", flags=("truncated",)),
}
"""Runs that this family's graders are held over beside those of `tests.core.stories`."""


Texts = TranscriptContains | TranscriptNotContains | OutputContains | OutputNotContains
Patterns = TranscriptMatches | TranscriptNotMatches | OutputMatches | OutputNotMatches
NEGATED = (TranscriptNotContains, TranscriptNotMatches, OutputNotContains, OutputNotMatches)


def place(grader: Texts | Patterns, said: str) -> int | None:
    """Where what is looked for ends in a text, if what follows could matter: else, where it is there, 0."""
    if isinstance(grader, Patterns):
        found = re.search(grader.pattern, said)
        return None if found is None else found.end()
    fold: Callable[[str], str] = (lambda s: s) if grader.case_sensitive else str.lower
    return 0 if fold(grader.substring) in fold(said) else None


def is_bad(grader: Texts | Patterns) -> bool:
    try:
        re.compile(grader.pattern if isinstance(grader, Patterns) else "")
    except re.error:
        return True
    return False


def words(grader: Texts | Patterns, *, found: bool, where: str) -> str:
    if isinstance(grader, Patterns):
        return f"{where.capitalize()} {'matches' if found else 'does not match'} pattern /{grader.pattern}/"
    return f"'{grader.substring}' {'found' if found else 'NOT found'} in {where}"


def transcript(grader: Any, events: Sequence[Event], tools: Any) -> Told:
    if is_bad(grader):
        return Told("fail", "invalid pattern", certain=True)
    negated = isinstance(grader, NEGATED) or grader.negate
    said = assistant(events)
    for message in said:
        end = place(grader, text(message.content))
        may_go_on = is_cut(message) or message.content is UNSENT
        if end is not None and (isinstance(grader, Texts) or end < len(text(message.content)) or not may_go_on):
            return Told("fail" if negated else "pass", words(grader, found=True, where="transcript"), certain=True)
    if negated and not said:
        return Told("fail", "no assistant messages in transcript to check")
    cut = any(is_cut(message) for message in said)
    return Told("pass" if negated else "fail", words(grader, found=False, where="transcript"), cut=cut)


def output(grader: Any, events: Sequence[Event], tools: Any) -> Told:
    reply = reply_of(events)
    if not reply.reported:
        return Told("fail", "the run reported no reply, so there is nothing to check", cut=reply.cut)
    negated = isinstance(grader, NEGATED) or grader.negate
    end = place(grader, reply.text)
    if end is None:
        return reply.told("pass" if negated else "fail", words(grader, found=False, where="output"))
    firm = isinstance(grader, Texts) or end < len(reply.text)
    return reply.told("fail" if negated else "pass", words(grader, found=True, where="output"), firm=firm)


def asked(call: ToolCall, entry: Any) -> bool | None:
    """Does a call meet an entry, its result aside; None if nobody knows."""
    entry = {"name": entry} if isinstance(entry, str) else entry
    if not re.search(entry["name"], call.name):
        return False
    args = object_or_text(call.args)
    known: list[bool | None] = []
    if "before_step" in entry:
        known.append(None if call.step is None else call.step < entry["before_step"])
    if "args" in entry or "pattern" in entry:
        if args is UNSENT or is_cut(call):
            known.append(None)
        elif "pattern" in entry:
            known.append(bool(re.search(entry["pattern"], args if isinstance(args, str) else compact(args))))
        elif isinstance(args, str):
            known.append(None)
        else:
            args = args if isinstance(args, dict) else {}
            known += [key in args and bool(re.search(p, compact(args[key]))) for key, p in entry["args"].items()]
    return False if False in known else None if None in known else True


def tool_calls(grader: ToolCalls, events: Sequence[Event], tools: Any) -> Told:
    lists = [grader.required or [], grader.disallowed or [], grader.sequence or []]
    if lists[0] == ["(a"]:
        return Told("fail", 'invalid pattern "(a"', certain=True)
    answered = calls_of_results(events)
    calls = [event for event in events if isinstance(event, ToolCall)]
    results = {id(call): e for e in events if isinstance(e, ToolResult) and (call := answered.get(e.id)) is not None}

    def met(call: ToolCall, entry: Any) -> bool | None:
        fits = asked(call, entry)
        if not isinstance(entry, dict) or "result" not in entry or fits is False:
            return fits
        result = results.get(id(call))
        if result is None:
            return False
        found = re.search(entry["result"], searched(result))
        open_ended = is_cut(result) or (result.result is UNSENT and result.result_raw is None)
        if open_ended:
            return True if fits and found and found.end() < len(searched(result)) else None
        return False if not found else fits

    def stray(entry: Any) -> bool:
        """A result that answers no known call came while a call waited for its own."""
        if not isinstance(entry, dict) or "result" not in entry:
            return False
        for n, event in enumerate(events):
            if isinstance(event, ToolResult) and answered.get(event.id) is None:
                before = [c for c in events[:n] if isinstance(c, ToolCall) and asked(c, entry) is not False]
                done = [answered.get(e.id) for e in events[:n] if isinstance(e, ToolResult)]
                if any(all(call is not other for other in done) for call in before):
                    return True
        return False

    if any(met(call, entry) for call in calls for entry in lists[1]):
        return Told("fail", "disallowed ", certain=True)
    unmet, unknown = False, False
    passes_early = not lists[1]
    for entry in lists[0]:
        need = entry.get("min_count", 1) if isinstance(entry, dict) else 1
        final = isinstance(entry, dict) and entry.get("final", False)
        passes_early = passes_early and not final
        sure = sum(met(call, entry) is True for call in calls)
        may = 9 if stray(entry) else sum(met(call, entry) is None for call in calls)
        last = met(calls[-1], entry) if calls else False
        if sure < need or (final and not last):
            unknown = unknown or (sure + may >= need and (not final or last is not False))
            unmet = unmet or sure + may < need or (final and last is False)
    unknown = (
        unknown or any(met(call, entry) is None for call in calls for entry in lists[1]) or any(map(stray, lists[1]))
    )
    stands, astray = 0, False
    for call in calls:
        if stands < len(lists[2]):
            astray = astray or asked(call, lists[2][stands]) is None
            stands += asked(call, lists[2][stands]) is True
    if stands < len(lists[2]):
        unmet, unknown = unmet or not astray, unknown or astray
    if unmet:
        return Told("fail", "", needs=needed(lists))
    if unknown:
        return Told("not_graded", "content_missing", certain=True)
    return Told("pass", "all ", certain=passes_early, needs=needed(lists))


def needed(lists: list[Any]) -> set[str]:
    return {"tools", "results"} if "'result'" in str(lists) else {"tools"}


def repeats(grader: MaxRepeat, events: Sequence[Event], tools: dict[str, str | None]) -> Told:
    done: list[Any] = []
    for event in events:
        if isinstance(event, ToolResult) and grader.match == "observation":
            unknown = tools[event.id] is None or is_cut(event) or (event.result is UNSENT and not event.result_raw)
            done.append(None if unknown else (tools[event.id], searched(event)))
        elif isinstance(event, ToolCall) and grader.match != "observation":
            args = object_or_text(event.args)
            unknown = grader.match == "name-args" and (is_cut(event) or args is UNSENT)
            done.append(None if unknown else (event.name, args if grader.match == "name-args" else ""))
    rows = [len(list(row)) for key, row in groupby(done) if key is not None]
    if any(row > grader.max for row in rows):
        of = [key[0] for key, row in groupby(done) if key is not None and len(list(row)) > grader.max]
        told = f"{of[0]} repeated {grader.max + 1} times in a row exceeds max of {grader.max}"
        return Told("fail", told, certain=True)
    if None in done:
        return Told("not_graded", "content_missing", certain=True)
    needs = {"tools", "results"} if grader.match == "observation" else {"tools"}
    return Told("pass", f"at most {max(rows, default=0)} times in a row (within max of {grader.max})", needs=needs)


def counted(used: list[int], most: int, unit: str) -> Told:
    """A budget over what each event uses, in the order of events: it ends at the first that is too much."""
    for n in range(len(used)):
        if sum(used[: n + 1]) > most:
            return Told("fail", f"{sum(used[: n + 1])} {unit} exceeds max of {most}", certain=True)
    return Told("pass", f"{sum(used)} {unit} (within budget of {most})")


def tool_calls_made(grader: ToolCallCount, events: Sequence[Event], tools: Any) -> Told:
    return counted([1 for event in events if isinstance(event, ToolCall)], grader.max, "tool calls")


def steps_taken(grader: StepCount, events: Sequence[Event], tools: Any) -> Told:
    own = [event.step for event in events if isinstance(event, ToolCall) or event in assistant(events)]
    told = counted([1] * len({step for step in own if step is not None}), grader.max, "steps")
    return Told("not_graded", "content_missing", certain=True) if None in own and told.outcome == "pass" else told


def turns_taken(grader: TurnCount, events: Sequence[Event], tools: Any) -> Told:
    """The turns in which somebody speaks: numbered ones as they are, else one a user message but the first."""
    numbers, at, users = set[int](), 0, 0
    for event in events:
        is_user = isinstance(event, Message) and event.role == "user"
        at = max(at, event.turn) if event.turn is not None else at + (is_user and users > 0)
        users += is_user
        if isinstance(event, Message):
            numbers.add(at if event.turn is None else event.turn)
    return counted([1] * len(numbers), grader.max, "turns")


def errors_made(grader: ErrorCount, events: Sequence[Event], tools: Any) -> Told:
    results = [event for event in events if isinstance(event, ToolResult) and event.is_error]
    ends = [event for event in events if isinstance(event, RunEnd) and (event.status == "error" or event.error)]
    return counted([1] * (len(results) + len(ends)), grader.max, "errors")


def tokens_taken(grader: TokenBudget, events: Sequence[Event], tools: Any) -> Told:
    def tokens(usage: dict[str, int] | None) -> int | None:
        count = tokens_in(usage or {})
        return None if count is None else int(count)

    of = [tokens(event.usage) for event in events if isinstance(event, Message)]
    whole = [tokens(event.usage) for event in events if isinstance(event, RunEnd)]
    used = [count for count in of if count is not None]
    if whole and whole[-1] is not None:
        used.append(max(0, whole[-1] - sum(used)))
    told = counted(used, grader.max, "tokens")
    silent = [message for message in assistant(events) if tokens(message.usage) is None]
    if told.outcome == "pass" and not (whole and whole[-1] is not None) and (silent or not used):
        return Told("not_graded", "content_missing", certain=True)
    return told


def time_taken(grader: WallTime, events: Sequence[Event], tools: Any) -> Told:
    times = [e.ts for e in events if not isinstance(e, TurnEnd | RunPause | RunResume) and isinstance(e.ts, int)]
    limit = int(grader.max[:-1])
    for n in range(len(times)):
        lasted = (max(times[: n + 1]) - min(times[: n + 1])) / 1_000_000_000
        if lasted > limit:
            return Told("fail", f"{lasted:g}s exceeds max of {grader.max}", certain=True)
    lasted = (max(times) - min(times)) / 1_000_000_000 if times else 0
    return Told("pass", f"{lasted:g}s (within budget of {grader.max})")


def health(grader: Completed | ExitSuccess, events: Sequence[Event], tools: Any) -> Told:
    ends = [event for event in events if isinstance(event, RunEnd)]
    said = assistant(events)
    if isinstance(grader, Completed):
        bad = [event for event in ends if event.error or event.status not in ("ok", "handoff", "unknown")]
        if bad:
            told = f"1 error event(s) in trajectory: the run ended with status {bad[0].status}"
            return Told("fail", told, certain=True)
    if any(text(message.content) for message in said) or any(text(end.output) for end in ends):
        strict = isinstance(grader, Completed)
        told = "Agent session completed successfully" if strict else "Agent completed successfully"
        return Told("pass", told, certain=bool(ends) or not strict)
    cut = any(is_cut(message) for message in said) or any(is_cut(end) for end in ends)
    return Told("fail", "Agent produced no output" + ("" if said else ": the run reported no reply"), cut=cut)


def echo(grader: AssistantContainsToolOutput, events: Sequence[Event], tools: dict[str, str | None]) -> Told:
    quoted = ", ".join(compact(tool) for tool in grader.tools)
    if grader.pattern is not None:
        try:
            re.compile(grader.pattern)
        except re.error:
            return Told("fail", f"invalid pattern {compact(grader.pattern)}", certain=True)
    captured: list[str] = []
    cut = False
    for event in events:
        if isinstance(event, ToolResult):
            tool = tools[event.id]
            if any(tool is not None and (tool == name or tool.startswith(name + ".")) for name in grader.tools):
                cut = cut or is_cut(event)
                value = _captured(grader, event)
                captured += [value] if value else []
        elif isinstance(event, Message) and event.role == "assistant" and captured:
            cut = cut or is_cut(event)
            for value in captured:
                if value in text(event.content):
                    return Told("pass", f"assistant echoed captured value {compact(value)}", certain=True)
    if captured:
        return Told("fail", f"assistant did not echo {len(captured)} captured value(s)", cut=cut)
    return Told("fail", f"no {quoted} output matched {compact(grader.pattern or grader.path)}", cut=cut)


def _captured(grader: AssistantContainsToolOutput, event: ToolResult) -> str | None:
    if grader.pattern is not None:
        found = re.search(grader.pattern, searched(event))
        if found is None or (is_cut(event) and found.end() == len(searched(event))):
            return None
        value: str | None = found.group(1 if found.re.groups else 0)
        return value
    value_at = event.result
    if isinstance(value_at, str) or event.result is UNSENT:
        try:
            value_at = from_json(searched(event))
        except ValueError:
            return None
    for step in str(grader.path).split("."):
        value_at = value_at.get(step) if isinstance(value_at, dict) else None
    return value_at if isinstance(value_at, str) else compact(value_at) if type(value_at) in (int, float) else None


ORACLES: dict[type, Oracle] = {
    Prompt: Oracle(asks_judge, {"messages"}),
    Panel: Oracle(asks_judge, {"messages"}),
    Completed: Oracle(health, {"messages"}),
    ExitSuccess: Oracle(health, {"messages"}),
    MaxRepeat: Oracle(repeats, {"tools"}),
    ToolCalls: Oracle(tool_calls, {"tools"}),
    ToolCallCount: Oracle(tool_calls_made, {"tools"}),
    StepCount: Oracle(steps_taken, {"messages", "tools"}),
    TurnCount: Oracle(turns_taken, {"messages"}),
    ErrorCount: Oracle(errors_made, {"results"}),
    TokenBudget: Oracle(tokens_taken, set()),
    WallTime: Oracle(time_taken, set()),
    AssistantContainsToolOutput: Oracle(echo, {"messages", "results"}),
    **{kind: Oracle(transcript, {"messages"}) for kind in (TranscriptContains, TranscriptNotContains)},
    **{kind: Oracle(transcript, {"messages"}) for kind in (TranscriptMatches, TranscriptNotMatches)},
    **{kind: Oracle(output, {"messages"}) for kind in (OutputContains, OutputNotContains)},
    **{kind: Oracle(output, {"messages"}) for kind in (OutputMatches, OutputNotMatches)},
}
