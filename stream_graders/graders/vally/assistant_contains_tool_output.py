"""Did the agent pass on a value that a tool returned, rather than one it made up?"""

from dataclasses import dataclass, field
from hashlib import blake2b
from html import unescape
from typing import Any

from ...events import UNSENT, Event, Message, ToolResult, to_json
from ...grading import Grader, RunFacts, Seen, excerpt, shown
from ...matching.paths import inside, parse, scalar_at
from ...matching.patterns import Pattern
from ...matching.tools import is_tool_or_member
from ...verdicts import Finding, Outcome, Point, Reason
from ._taxonomy import TAXONOMY

VALUES = 256
"""Values remembered a check; beyond it the longest goes, for short ones are likelier to be repeated."""
LITERAL = 64
"""Characters of a value kept as they are; of a longer one the rest is a hash."""
SHOWN = 1_000
"""Characters of the echoed value that are kept for the evidence."""


@dataclass
class AssistantContainsToolOutput(Grader):
    """Pass a run in which an assistant message repeats a value captured from an earlier tool result (R1 to R23).

    The value is what ``pattern`` captures in the result's text (group 1, else the whole match), or what stands at
    ``path`` in the result; one a result, the first. A tool counts if it is named in ``tools`` or lies in the namespace
    of such a name. The comparison is a plain substring test that minds case.

    Remembered: at most 256 values of at most 64 characters and a hash. When a value had to be dropped, a failure
    becomes ``not_graded (state_limit)``; a pass stays sound.

    >>> from stream_graders.testing import graded, run
    >>> story = run().calls("orders.find").returns({"id": "A-17"}).says("Your order is A-17.").ends()
    >>> graded(AssistantContainsToolOutput(["orders.find"], path="id"), story).evidence
    'assistant echoed captured value "A-17"'
    """

    grows = True
    metadata = TAXONOMY
    assumes = "the tools return no such value"

    tools: list[str]
    pattern: str | None = None
    path: str | None = None

    captures: int = field(default=0, init=False)
    dropped: int = field(default=0, init=False)
    cut: bool = field(default=False, init=False)
    escaped: bool = field(default=False, init=False)
    kept: list[list[Any]] = field(default_factory=list, init=False)
    """Values still to be repeated, in the order of their capture: text, length, hash or null, event id, seq."""
    weight: int = field(default=0, init=False)
    """Bytes of ``kept`` as JSON."""
    hit: list[Any] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._pattern = None if self.pattern is None else Pattern(self.pattern)
        try:
            self._steps = [] if self.path is None else parse(self.path)
        except ValueError:
            self._steps = []
        self.settled = self._error() is not None

    def wants(self) -> tuple[type[Event], ...]:
        return (Message, ToolResult)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages", "results"})

    def problems(self) -> list[tuple[str, str]]:
        found = [] if self.tools and all(self.tools) else [("tools", "name at least one tool whose result is captured")]
        if (self.pattern is None) == (self.path is None):
            found.append(("pattern", "give either a pattern or a path"))
        if self.pattern == "":
            found.append(("pattern", "an empty pattern captures nothing; write what to look for"))
        if self.path is not None:
            try:
                parse(self.path)
            except ValueError as error:
                found.append(("path", str(error)))
        return found

    def warnings(self) -> list[tuple[str, str]]:
        error = self._error()
        return [] if error is None else [("pattern", f"the check will fail every run: {error}")]

    def update(self, seen: Seen) -> None:
        if self.hit is not None or self._error() is not None:
            return
        if type(seen.event) is Message:
            if seen.is_assistant and self.kept:
                self._listen(seen)
        elif seen.tool is not None and any(is_tool_or_member(seen.tool, name) for name in self.tools):
            self._capture(seen)

    def finding(self, run: RunFacts) -> Finding:
        error = self._error()
        if error is not None:
            return Finding(
                Outcome.FAIL,
                Reason.INVALID_PATTERN,
                f"invalid pattern {shown(self.pattern or '')}: {error}",
                sound=True,
            )
        if self.hit is not None:
            value, said_id, said_seq, text, from_id, from_seq = self.hit
            path = "result" if self.path is None else inside("result", self.path)
            points = (Point(from_id, from_seq, path), Point(said_id, said_seq, "content", text))
            return Finding(
                Outcome.PASS, Reason.ECHOED, f"assistant echoed captured value {shown(value)}", points, sound=True
            )
        if self.dropped:
            text = f"{self.dropped} captured value(s) had to be forgotten, and none of the others was echoed"
            return Finding(Outcome.NOT_GRADED, Reason.STATE_LIMIT, text)
        if self.captures:
            hint = " (one is there once HTML entities are resolved)" if self.escaped else ""
            text = f"assistant did not echo {self.captures} captured value(s){hint}"
            return Finding(Outcome.FAIL, Reason.NOT_ECHOED, text, cut=self.cut)
        names = ", ".join(shown(name) for name in self.tools)
        text = f"no {names} output matched {shown(self.pattern or self.path or '')}"
        return Finding(Outcome.FAIL, Reason.NOTHING_CAPTURED, text, cut=self.cut)

    def size(self) -> int:
        return self.weight

    def _error(self) -> str | None:
        return None if self._pattern is None else self._pattern.error

    def _capture(self, seen: Seen) -> None:
        value = self._value(seen)
        # The missing part of a text may change what its first match is, so a failure does not stand.
        self.cut = self.cut or seen.truncated
        if not value:
            return
        self.captures += 1
        # A message that holds this value holds the older one too, and the older one is the evidence.
        if any(old[2] is None and old[0] in value for old in self.kept):
            return
        digest = None if len(value) <= LITERAL else _hash(value)
        kept = [value[:LITERAL], len(value), digest, seen.event.id, seen.event.seq]
        self.kept.append(kept)
        self.weight += _weight(kept)
        if len(self.kept) > VALUES:
            longest = max(self.kept, key=lambda kept: kept[1])
            self.kept.remove(longest)
            self.weight -= _weight(longest)
            self.dropped += 1

    def _value(self, seen: Seen) -> str | None:
        if self._pattern is None:
            event = seen.event
            sent = event.result if isinstance(event, ToolResult) else None
            as_text = sent is None or sent is UNSENT or isinstance(sent, str)
            return scalar_at(seen.text if as_text else sent, self._steps)
        match = self._pattern.search(seen.text)
        if match is None or (seen.truncated and match.end == len(seen.text)):
            return None  # A match that runs into the cut may be the beginning of the value.
        return match.value

    def _listen(self, seen: Seen) -> None:
        text = seen.text
        for start, length, digest, from_id, from_seq in self.kept:
            at = _found(text, start, length, digest)
            if at >= 0:
                value = text[at : at + length] if length <= SHOWN else f"{text[at : at + SHOWN]}…"
                said = excerpt(text, at, at + length)
                self.hit = [value, seen.event.id, seen.event.seq, said, from_id, from_seq]
                self.kept = []
                self.weight = 0
                self.settled = True
                return
            if digest is None and "&" in start and unescape(start) in text:
                self.escaped = True
        self.cut = self.cut or seen.truncated


def _found(text: str, start: str, length: int, digest: str | None) -> int:
    at = text.find(start)
    while at >= 0 and digest is not None and _hash(text[at : at + length]) != digest:
        at = text.find(start, at + 1)
    return at


def _weight(kept: list[Any]) -> int:
    return len(to_json(kept)) + 1


def _hash(value: str) -> str:
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
