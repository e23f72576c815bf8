"""``stream-graders init``: what agents do, as their runs show it, and a first suite for it."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer

from ..events import UNSENT, Event, Message, RunEnd, RunStart, ToolCall, ToolResult
from ..matching.paths import scalar_at
from ..suites import Completion
from .errors import UserError
from .places import LAST, topic_of
from .runs import events_of

WRITES = re.compile(
    r"(?:^|[._-])(?:add|apply|approve|assign|book|cancel|change|charge|close|create|delete|disable|drop|edit|enable|exchange|"
    r"grant|insert|issue|modify|move|pay|post|publish|refund|remove|reset|return|revoke|send|set|submit|transfer|update|"
    r"upsert|write)(?:$|[._-])",
    re.IGNORECASE,
)
"""A word in a tool's name that says that it changes something: a guess, for a person to correct."""
IDS = re.compile(r"(?:^|_)(?:id|number|code|ref|reference|key)$", re.IGNORECASE)
"""A name in a result that is likely to hold what a reply repeats."""
TOOLS = 200
LONGEST = max(Completion.idle_user, Completion.idle_agent, Completion.idle_tool)
"""Log time after which a run without another event does not go on, in milliseconds."""


@dataclass
class Tool:
    """What was seen of a tool."""

    calls: int = 0
    errors: int = 0
    args: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Of each argument the types it had."""
    results: Counter[str] = field(default_factory=Counter)
    """The shapes of its results: names of an object, or a type."""
    keys: Counter[str] = field(default_factory=Counter)
    """Paths in its results that look like ids."""


@dataclass
class Survey:
    """What was seen of agents."""

    agents: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """Of each agent the versions, by runs."""
    environments: set[str] = field(default_factory=set)
    tools: dict[str, Tool] = field(default_factory=lambda: defaultdict(Tool))
    runs: set[str] = field(default_factory=set)
    starts: set[str] = field(default_factory=set)
    ends: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    talked: set[str] = field(default_factory=set)
    events: int = 0
    unnumbered: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    """Calls minus results, by run."""
    unsent: int = 0
    unmarked: int = 0
    """Results that do not say whether they are errors."""
    cut: int = 0
    """Runs that were left out, since they began before the records that were read."""
    open: set[str] = field(default_factory=set)
    """Runs of a topic that may go on: an end and a result that have not come yet are not missing."""

    def add(self, event: Event) -> None:
        """Take an event in."""
        self.events += 1
        self.runs.add(event.run_id)
        self.unnumbered += event.seq is None
        if event.agent is not None and event.run_id not in self.named:
            self.named.add(event.run_id)
            self.agents[event.agent.name][event.agent.version or ""] += 1
        if event.environment:
            self.environments.add(event.environment)
        if isinstance(event, RunStart):
            self.starts.add(event.run_id)
        elif isinstance(event, RunEnd):
            self.ends.add(event.run_id)
        elif isinstance(event, Message):
            self.unsent += event.content is UNSENT
            if event.role == "user":
                self.talked.add(event.run_id)
        elif isinstance(event, ToolCall):
            self._add_call(event)
        elif isinstance(event, ToolResult):
            self._add_result(event)

    def missing(self) -> Iterator[str]:
        """What the events lack, and what that costs, a line each."""
        runs = len(self.runs)
        ended = self.ends | self.open
        for what, seen, cost in (
            (
                "run.start",
                self.starts,
                "silence is not a fact: without `reports` no check can say that a tool was not called",
            ),
            ("run.end", ended, "a run ends by silence then, and most checks wait for it"),
            ("an agent's name", self.named, "suites select by it"),
        ):
            if lacking := runs - len(seen):
                yield f"{lacking} of {runs} runs have no {what}: {cost}"
        if self.unnumbered:
            yield f"{self.unnumbered} of {self.events} events have no seq: loss cannot be seen, and order is that of arrival"
        if self.unsent:
            yield f"{self.unsent} contents were not sent: what depends on them is not graded"
        if self.unmarked:
            yield f"{self.unmarked} results do not say whether they are errors (`is_error`): errors are known by their text alone"
        if unanswered := sum(count > 0 and run_id not in self.open for run_id, count in self.unanswered.items()):
            yield f"{unanswered} of {runs} runs have a call without a result"

    def writes(self) -> list[str]:
        """The tools that change something, by their names."""
        return [name for name in self.tools if WRITES.search(name)]

    def _add_call(self, event: ToolCall) -> None:
        self.unanswered[event.run_id] += 1
        if event.name not in self.tools and len(self.tools) >= TOOLS:
            return
        tool = self.tools[event.name]
        tool.calls += 1
        if isinstance(event.args, dict):
            for name, value in event.args.items():
                tool.args[name][_type(value)] += 1

    def _add_result(self, event: ToolResult) -> None:
        self.unanswered[event.run_id] -= 1
        self.unmarked += event.is_error is None
        self.unsent += event.result is UNSENT and event.result_raw is None
        if event.name not in self.tools:
            return
        tool = self.tools[event.name]
        tool.errors += event.is_error is True
        value = event.result
        if isinstance(value, dict):
            tool.results["{" + ", ".join(list(value)[:8]) + ("…" if len(value) > 8 else "") + "}"] += 1
            tool.keys.update(name for name in value if IDS.search(name) and scalar_at(value, [name]) is not None)
        else:
            tool.results[_type(value)] += 1


def init_suite(places: list[Path], bootstrap: str | None, last: int | None, out: Path | None, *, as_json: bool) -> None:
    """Print what was seen and a first suite, or write the suite to a file.

    Raises:
        UserError: the places hold no event, or the file is there already.
    """
    topic = topic_of(places, bootstrap, last)
    if out is not None and out.exists():
        raise UserError(f"{out}: is there already; name another file, or take it away first")
    survey, refused = Survey(), Counter[str]()
    if topic is None:
        for event, _ in events_of(lambda reason, _told: refused.update([reason]), places):
            survey.add(event)
    else:
        from .journal import opened  # Whoever reads files does not wait for Kafka's client to load.

        with opened(*topic) as log:
            heard: dict[str, int] = {}
            for event, at in log.last(last or LAST, lambda reason, _told: refused.update([reason])):
                survey.add(event)
                heard[event.run_id] = at.time
            survey.cut = len(log.cut)
            survey.open = {run_id for run_id, time in heard.items() if log.now - time < LONGEST} - survey.ends
    if not survey.runs:
        hint = (
            "read more with --last"
            if survey.cut
            else "give files that grade reads, or a topic like kafka:agent.events.v1"
        )
        raise UserError(f"{', '.join(map(str, places))}: no run begins there; {hint}")
    if as_json:
        typer.echo(json.dumps(_facts(survey, refused)))
        return
    suite = "".join(f"{line}\n" for line in _suite(survey))
    if out is None:
        typer.echo("".join(f"# {line}\n" for line in _told(survey, refused)) + "\n" + suite, nl=False)
        return
    try:
        out.write_text(suite, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{out}: cannot be written: {error.strerror}") from error
    for line in _told(survey, refused):
        typer.echo(line)
    there = f"{places[0]}" if topic is None else f"{places[0]} --bootstrap {topic[0]}"
    typer.echo(f"{out}: a first suite; try it: stream-graders check {out} --against {there}")


def _told(survey: Survey, refused: Counter[str]) -> Iterator[str]:
    yield f"{len(survey.runs)} runs, {survey.events} events"
    if survey.cut:
        yield f"{survey.cut} more runs began before the records that were read: left out"
    if survey.open:
        yield f"{len(survey.open)} of the runs may go on"
    for agent, versions in survey.agents.items():
        yield f"agent {agent}: " + ", ".join(
            f"{version or 'no version'} ({runs} runs)" for version, runs in versions.items()
        )
    writes = set(survey.writes())
    for name, tool in sorted(survey.tools.items(), key=lambda item: -item[1].calls):
        args = ", ".join(f"{arg}: {'|'.join(kinds)}" for arg, kinds in tool.args.items())
        results = " or ".join(shape for shape, _ in tool.results.most_common(2)) or "nothing"
        likely = ", likely a write" if name in writes else ""
        yield f"tool {name}({args}) -> {results}: {tool.calls} calls, {tool.errors} errors{likely}"
    yield from (f"missing: {line}" for line in survey.missing())
    if refused:
        yield f"{refused.total()} records cannot be read: " + ", ".join(
            f"{n} {reason}" for reason, n in refused.items()
        )


def _facts(survey: Survey, refused: Counter[str]) -> dict[str, Any]:
    return {
        "runs": len(survey.runs),
        "events": survey.events,
        "agents": {name: dict(versions) for name, versions in survey.agents.items()},
        "environments": sorted(survey.environments),
        "tools": {
            name: {
                "calls": tool.calls,
                "errors": tool.errors,
                "args": {arg: list(kinds) for arg, kinds in tool.args.items()},
                "results": dict(tool.results.most_common(5)),
                "write": bool(WRITES.search(name)),
            }
            for name, tool in survey.tools.items()
        },
        "missing": list(survey.missing()),
        "refused": dict(refused),
        "cut": survey.cut,
        "open": len(survey.open),
    }


def _suite(survey: Survey) -> Iterator[str]:
    agents = sorted(survey.agents)
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", agents[0] if len(agents) == 1 else "fleet").strip("-._") or "fleet"
    writes, tools = survey.writes(), sorted(survey.tools)
    yield "# A first suite, made from runs. Nothing in it is critical: look at what it says of yours, then raise what you trust."
    yield f"suite: {name[:100]}"
    if agents:
        yield f"select: {{agent: {_flow(agents)}}}"
    yield "checks:"
    yield from _check("ended-badly", "trajectory.bad_end", "minor", "Ended by a limit, a timeout or an error.")
    yield from _check(
        "tool-errors", "trajectory.tool_errors", "info", "A few tool errors are normal; a rate tells.", max_rate=0.3
    )
    same: dict[str, Any] = {"writes": writes} if writes else {}
    told = "The same call with the same result, three times."
    yield from _check("same-call-again", "trajectory.repeated_call", "info", told, **same)
    yield from _check(
        "same-error-again", "trajectory.retried_same_error", "info", "A failed call made again, unchanged."
    )
    if survey.talked:
        yield from _check("replies", "trajectory.no_reply", "info", "The user gets an answer.")
    if tools:
        yield from _check(
            "known-tools", "trajectory.allowed_tools", "info", "Only tools that were seen in these runs.", tools=tools
        )
    for tool in sorted(survey.tools, key=lambda tool: -survey.tools[tool].calls):
        keys = survey.tools[tool].keys
        if keys and tool not in writes:
            key = keys.most_common(1)[0][0]
            slug = re.sub(r"[^A-Za-z0-9]+", "-", f"{tool}-{key}").strip("-").lower()[:80]
            yield from _check(
                f"{slug}-is-real", "vally.assistant_contains_tool_output", "info",
                "What the agent names is what its tool returned.", when=tool, tools=[tool], path=key,
            )  # fmt: skip
            break
    if writes:
        yield "  # With the right calls of a case in its run's start (`expected.expected_tools`) this tells a failing run best."
        yield from _check(
            "writes", "trajectory.writes_equal", "info", "It changed what it should, and nothing else.", writes=writes
        )


def _check(name: str, grader: str, severity: str, why: str, when: str | None = None, **settings: Any) -> Iterator[str]:
    yield f"  # {why}"
    yield f"  - check: {name}"
    yield f"    grader: {grader}"
    yield f"    severity: {severity}"
    if when is not None:
        yield f"    when: {{called: {_flow(when)}}}"
    if settings:
        yield f"    settings: {{{', '.join(f'{key}: {_flow(value)}' for key, value in settings.items())}}}"


def _flow(value: str | float | Iterable[str]) -> str:
    """A value as YAML in one line: JSON is YAML, whatever a tool is called."""
    return json.dumps(value, ensure_ascii=False)


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return "list" if isinstance(value, list) else "object" if isinstance(value, dict) else "nothing"
