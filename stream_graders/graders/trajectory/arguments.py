"""Are a tool's arguments as they should be?"""

from dataclasses import dataclass, field
from typing import Any

from ...events import Event, ToolCall, compact
from ...grading import Grader, RunFacts, Seen
from ...matching.arguments import arguments_of
from ...matching.differences import loose_key, number_of, shown_value
from ...matching.paths import parse, problem_of, values_at
from ...matching.patterns import Pattern
from ...matching.tools import fits
from ...verdicts import Finding, Outcome, Point, Reason

_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")
_RULES = ("type", "minimum", "maximum", "enum", "pattern", "max_length")


@dataclass
class Arguments(Grader):
    """Fail a run at the first call of ``tool`` whose arguments break a rule; skip one that never calls it.

    ``tool`` may hold ``*`` for any characters. ``required`` names the arguments that must be there. ``rules`` gives, by
    argument, what holds of it wherever it is given: ``type`` (as JSON Schema names types), ``minimum`` and ``maximum``
    of a number, ``enum``, the values it may have, ``pattern``, which its text has to fit, and ``max_length``, in
    characters or entries. Arguments are named by paths (``order.items[0].id``; a name asked of a list is asked of each
    entry). Arguments that are no object, or break off in the middle, break the rules too.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("refund", {"amount": 250}).ends()
    >>> graded(Arguments("refund", ["amount"], {"amount": {"maximum": 100}}), story).evidence
    'refund: argument amount: expected at most 100, got 250'
    """

    order_free = True

    tool: str
    required: list[str] | None = None
    rules: dict[str, dict[str, Any]] | None = None

    called: bool = field(default=False, init=False)
    unread: bool = field(default=False, init=False)
    """Arguments of a call were not all sent."""
    hit: list[Any] | None = field(default=None, init=False)
    """The first call that breaks a rule: event id, seq, tool, what is to be said."""

    def __post_init__(self) -> None:
        self._paths = {path: parse(path) for path in self._named() if problem_of(path) is None}
        self._patterns = {
            path: Pattern(rule["pattern"])
            for path, rule in (self.rules or {}).items()
            if isinstance(rule.get("pattern"), str)
        }
        self._enums = {
            path: {loose_key(value) for value in rule["enum"]}
            for path, rule in (self.rules or {}).items()
            if isinstance(rule.get("enum"), list)
        }

    def _named(self) -> list[str]:
        return [*(self.required or ()), *(self.rules or ())]

    def wants(self) -> tuple[type[Event], ...]:
        return (ToolCall,)

    def needs(self) -> frozenset[str]:
        return frozenset({"tools"})

    def problems(self) -> list[tuple[str, str]]:
        found = [] if self.tool else [("tool", "name the tool")]
        if not self._named():
            found.append(("rules", "give rules or required: without them any arguments would pass"))
        for name in ("required", "rules"):
            found += [(name, told) for path in getattr(self, name) or () if (told := problem_of(path)) is not None]
        for path, rule in (self.rules or {}).items():
            found += [("rules", f"{path}: {told}") for told in self._faults(path, rule)]
        return found

    def _faults(self, path: str, rule: dict[str, Any]) -> list[str]:
        found = [f"there is no rule {name!r}: {', '.join(_RULES)}" for name in rule if name not in _RULES]
        if "type" in rule and rule["type"] not in _TYPES:
            found.append(f"there is no type {rule['type']!r}: {', '.join(_TYPES)}")
        numbers = [name for name in ("minimum", "maximum", "max_length") if name in rule]
        found += [f"{name} should be a number" for name in numbers if not _is_of(rule[name], "number")]
        if "enum" in rule and (not isinstance(rule["enum"], list) or not rule["enum"]):
            found.append("enum should be a list of values")
        pattern = self._patterns.get(path)
        if "pattern" in rule and (pattern is None or not pattern.source):
            found.append("pattern should be a text")
        elif pattern is not None and pattern.error is not None:
            found.append(pattern.error)
        return found

    def update(self, seen: Seen) -> None:
        event = seen.event
        if self.settled or not isinstance(event, ToolCall) or not fits(event.name, self.tool):
            return
        self.called = True
        args = arguments_of(event)
        if args.hidden:
            self.unread = True
            return
        told = f"its arguments {args.fault}" if args.values is None else self._broken(args.values)
        if told:
            self.hit = [event.id, event.seq, event.name, told]
            self.settled = True

    def _broken(self, values: dict[str, Any]) -> str:
        """The first rule that these arguments break, in words; "" if they keep all."""
        for path in self.required or ():
            if not values_at(values, self._paths[path]):
                return f"argument {path} is missing"
        for path, rule in (self.rules or {}).items():
            for value in values_at(values, self._paths[path]):
                expected = self._expected(path, rule, value)
                if expected:
                    return f"argument {path}: expected {expected}, got {shown_value(value)}"
        return ""

    def _expected(self, path: str, rule: dict[str, Any], value: Any) -> str:
        """What a rule expects that the value is not; "" if it is all."""
        if "type" in rule and not _is_of(value, rule["type"]):
            return f"type {rule['type']}"
        if "minimum" in rule or "maximum" in rule:
            number = number_of(value)
            if "minimum" in rule and (number is None or number < rule["minimum"]):
                return f"at least {rule['minimum']}"
            if "maximum" in rule and (number is None or number > rule["maximum"]):
                return f"at most {rule['maximum']}"
        if path in self._enums and loose_key(value) not in self._enums[path]:
            return f"one of {shown_value(rule['enum'])}"
        pattern = self._patterns.get(path)
        if pattern is not None and pattern.search(value if isinstance(value, str) else compact(value)) is None:
            return f"what {compact(pattern.source)} finds"
        if "max_length" in rule and not (isinstance(value, str | list) and len(value) <= rule["max_length"]):
            return f"a length of at most {rule['max_length']}"
        return ""

    def finding(self, run: RunFacts) -> Finding:
        if self.hit is not None:
            event_id, seq, tool, told = self.hit
            point = Point(event_id, seq, "args")
            return Finding(Outcome.FAIL, Reason.INVALID_ARGUMENTS, f"{tool}: {told}", (point,), sound=True)
        if self.unread:
            text = f"the arguments of a call of {self.tool} were not all sent"
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, text)
        if not self.called:
            return Finding(Outcome.SKIPPED, Reason.NOTHING_TO_CHECK, f"{self.tool} was never called")
        return Finding(Outcome.PASS, Reason.VALID_ARGUMENTS, f"every call of {self.tool} has valid arguments")


def _is_of(value: Any, kind: str) -> bool:
    """Is a value of a type of JSON Schema?"""
    if kind == "null":
        return value is None
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return (isinstance(value, int) and not isinstance(value, bool)) or (
            isinstance(value, float) and value.is_integer()
        )
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, {"string": str, "array": list, "object": dict}[kind])
