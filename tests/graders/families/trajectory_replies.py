"""Graders of our own family for the final reply and for the record, as the tests configure them, and their oracles."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from stream_graders.events import UNSENT, Event, RunEnd
from stream_graders.graders.trajectory.final_reply_language import FinalReplyLanguage
from stream_graders.graders.trajectory.instrumentation import Instrumentation
from stream_graders.graders.trajectory.refusal import Refusal
from stream_graders.grading import Grader
from stream_graders.testing import EPOCH, run
from tests.graders import told
from tests.graders.calls import calls_in, results_in
from tests.graders.told import Oracle, Told, assistant, calls_of_results, is_cut, text

GRADERS: dict[str, Grader] = {
    "in English": FinalReplyLanguage("en"),
    "in Greek": FinalReplyLanguage("el"),
    "no refusal": Refusal(["(?i)refunded", "guarantee$"]),
    "refusal": Refusal(["lot q7", "^done"], "refusal"),
    "instrumentation": Instrumentation(),
}

STORIES: dict[str, Iterable[Event]] = {
    "told in English": run().starts().asks("x").says("Your order is on the way to you.").ends(),
    "told in German": run().starts().asks("x").says("Ihre Bestellung ist auf dem Weg zu Ihnen.").ends(),
    "told in Greek": run().starts().asks("x").says("Η παραγγελία σας έρχεται.").ends(),
    "a clock that goes back": run().starts().asks("x", ts=EPOCH + 60_000_000_000).says("y").ends(),
}
"""Runs that these graders are held over beside those of `tests.core.stories`."""


class Reply(NamedTuple):
    """The final reply; ``whole`` if no other can be it, ``cut`` if what was cut may be another."""

    text: str
    of: Event
    whole: bool
    cut: bool


def reply_of(events: Sequence[Event]) -> Reply | None:
    ends = [event for event in events if isinstance(event, RunEnd) and text(event.output)]
    if ends:
        return Reply(text(ends[-1].output), ends[-1], True, False)
    said = assistant(events)
    spoken = [message for message in said if text(message.content)]
    if not spoken:
        return None
    hidden = [m for m in said[said.index(spoken[-1]) + 1 :] if m.content is UNSENT or is_cut(m)]
    return Reply(text(spoken[-1].content), spoken[-1], not hidden, bool(hidden) and is_cut(hidden[-1]))


def judged(events: Sequence[Event], outcome: str, evidence: str, *, certain: bool) -> Told:
    """What a judgement of the reply is worth; a ``certain`` one no further text of the same reply could change."""
    reply = reply_of(events)
    assert reply is not None
    if certain:
        return Told(outcome, evidence, reply.whole, reply.cut)
    return Told(outcome, evidence, reply.whole and not is_cut(reply.of), reply.cut or is_cut(reply.of))


def no_reply(events: Sequence[Event]) -> Told:
    return Told("skipped", "there is no reply", cut=told.reply_of(events).cut)


_ENGLISH, _GERMAN = (
    {"it", "is", "for", "i", "the", "to", "on", "you", "your", "have", "not", "be", "and"},
    {"ist", "auf", "dem", "zu", "ihre"},
)


def final_reply_language(grader: FinalReplyLanguage, events: Sequence[Event], tools: Any) -> Told:
    reply = reply_of(events)
    if reply is None:
        return no_reply(events)
    words = re.findall("[^\\W\\d_]+", reply.text.lower())
    if not words:
        return Told("not_graded", "language_unknown")
    english, german = (sum(word in known for word in words) >= 3 for known in (_ENGLISH, _GERMAN))
    language = "el" if "παραγγελία" in words else "en" if english else "de" if german else ""
    if language == grader.language:
        return judged(events, "pass", f"the reply is in {language}", certain=False)
    if not language and grader.language == "en":
        return Told("not_graded", "language_unknown")
    return judged(events, "fail", "the reply is in ", certain=False)


def refusal(grader: Refusal, events: Sequence[Event], tools: Any) -> Told:
    reply = reply_of(events)
    if reply is None:
        return no_reply(events)
    hits = [hit for hit in (re.search(pattern, reply.text) for pattern in grader.patterns) if hit]
    first = min(hits, key=lambda hit: hit.start(), default=None)
    refused = first is not None and not (is_cut(reply.of) and first.end() == len(reply.text))
    outcome = "pass" if refused == (grader.expect == "refusal") else "fail"
    return judged(events, outcome, "the reply refuses: " if refused else "the reply does not refuse", certain=refused)


def instrumentation(grader: Instrumentation, events: Sequence[Event], tools: Any) -> Told:
    reports = next((event.reports for event in events if type(event).__name__ == "RunStart"), None)  # type: ignore[attr-defined]  # its type says so
    calls = calls_of_results(events)
    kinds = ("RunStart", "Message", "ToolCall", "ToolResult", "RunEnd")
    times = [int(str(event.ts)) for event in events if type(event).__name__ in kinds]
    back = max((max(times[: n + 1]) - time for n, time in enumerate(times)), default=0) / 1e9
    told = [
        "no end came"
        if not any(isinstance(e, RunEnd) for e in events) and (reports is None or "end" in reports)
        else "",
        f"{len(results_in(events)) - len(calls)} result(s) without a call"
        if len(results_in(events)) > len(calls)
        else "",
        f"{len(calls_in(events)) - len(calls)} call(s) without a result"
        if len(calls_in(events)) > len(calls) and (reports is None or "results" in reports)
        else "",
        f"times go back by {back:g} s" if back > grader.tolerance else "",
    ]
    faults = [fault for fault in told if fault]
    return Told("fail", faults[0], certain=True) if faults else Told("pass", "the record is whole", certain=True)


ORACLES: dict[type, Oracle] = {
    FinalReplyLanguage: Oracle(final_reply_language, {"messages"}),
    Refusal: Oracle(refusal, {"messages"}),
    Instrumentation: Oracle(instrumentation, set()),
}
