"""Where evidence points, it leads: to an event of the run, to a place in that event, to the text that it quotes."""

from typing import Any

import pytest

from stream_graders.events import Event, compact, from_json, text_of
from stream_graders.testing import graded
from tests.core.stories import GRADERS, STORIES, STORIES_OF


def place(event: Event, path: str) -> str | None:
    """The text at a path of an event; None where it ends before: that an argument is missing may be what is shown."""
    first, *steps = path.split(".")
    # The sender's id, run and position are about the event; evidence is what the event says.
    assert first == "ts" or first not in Event.__struct_fields__
    value: Any = getattr(event, first)
    if path == "content":
        return text_of(value)
    for step in steps:
        value = from_json(value) if isinstance(value, str) else value
        value = value.get(step) if isinstance(value, dict) else None
    return compact(value) if isinstance(value, list | dict) else None if value is None else str(value)


@pytest.mark.parametrize("name", GRADERS)
def test_a_point_leads_to_what_it_quotes(name: str) -> None:
    for told in [*STORIES.values(), *STORIES_OF[type(GRADERS[name])].values()]:
        events = {event.id: event for event in told}
        for point in graded(GRADERS[name], told).points:
            assert point.seq == events[point.event_id].seq
            shown = None if point.path is None else place(events[point.event_id], point.path)
            assert shown is None or (point.excerpt or "").strip("…") in shown


Shown = list[tuple[int, str | None, str | None]]
POINTS: dict[tuple[str, str], tuple[str, Shown]] = {
    ("echo by pattern", "an order is found and refunded"): ("pass", [(5, "result", None), (6, "content", "Order ORD-123456 is on its way.")]),
    ("echo by path", "an order is found and refunded"): ("pass", [(5, "result.id", None), (6, "content", "Order ORD-123456 is on its way.")]),
    ("contains", "an order is found and refunded"): ("pass", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("contains, negated", "an order is found and refunded"): ("fail", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("not contains", "an order is found and refunded"): ("fail", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("matches", "two replies, the last without the value"): ("pass", [(1, "content", "lot Q7 and 58")]),
    ("matches at the end", "two replies, the last without the value"): ("fail", [(1, "content", "lot Q7 and 58")]),
    ("not matches", "two turns by number"): ("fail", [(2, "content", "lot Q7")]),
    ("output contains", "an order is found and refunded"): ("pass", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("output contains", "one word, no start"): ("fail", [(1, "content", None)]),
    ("output not contains", "an order is found and refunded"): ("fail", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("output not contains", "one word, no start"): ("pass", [(1, "content", None)]),
    ("output matches", "an order is found and refunded"): ("fail", [(10, "content", None)]),
    ("output matches", "two replies, the last with the value"): ("pass", [(2, "content", "lot q7: 58")]),
    ("output not matches", "an order is found and refunded"): ("fail", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("output not matches", "one word, no start"): ("pass", [(1, "content", None)]),
    ("completed", "an order is found and refunded"): ("pass", [(6, "content", "Order ORD-123456 is on its way.")]),
    ("completed", "the last one goes over"): ("fail", [(3, "status", None)]),
    ("exit success", "an order is found and refunded"): ("pass", [(6, "content", "Order ORD-123456 is on its way.")]),
    ("required calls", "an order is found and refunded"): ("fail", [(4, "name", None)]),
    ("required calls", "calls with arguments"): ("pass", [(1, "name", None), (2, "name", None), (4, "name", None)]),
    ("repeated results", "empty texts"): ("fail", [(6, None, None)]),
    ("tool calls", "an order is found and refunded"): ("fail", [(8, None, None)]),
    ("steps", "an order is found and refunded"): ("fail", [(8, None, None)]),
    ("errors", "parallel calls answered out of order"): ("pass", [(3, "result", "ok")]),
    ("errors", "the same error twice, then a write, then it goes"): ("fail", [(3, "result", "Error: locked"), (5, "result", "Error: locked")]),
    ("no errors", "parallel calls answered out of order"): ("fail", [(3, None, None)]),
    ("tokens", "too many tokens"): ("fail", [(2, None, None)]),
    ("wall time", "an order is found and refunded"): ("fail", [(8, None, None)]),
    ("called", "an order is found and refunded"): ("pass", [(8, "name", "payments.refund")]),
    ("not called", "an order is found and refunded"): ("fail", [(8, "name", "payments.refund")]),
    ("order", "an order is found and refunded"): ("pass", [(4, "name", None), (8, "name", None)]),
    ("order", "empty texts"): ("fail", [(4, "name", None)]),
    ("reply contains", "an order is found and refunded"): ("pass", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("reply contains", "one word, no start"): ("fail", [(1, "content", None)]),
    ("reply does not contain", "an order is found and refunded"): ("fail", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("reply does not contain", "one word, no start"): ("pass", [(1, "content", None)]),
    ("reply is json", "an order is found and refunded"): ("fail", [(10, "content", None)]),
    ("reply is json", "two turns by number"): ("pass", [(4, "content", None)]),
    ("form", "an order is found and refunded"): ("pass", [(10, "content", None)]),
    ("form", "a reply in markdown"): ("fail", [(1, "content", None)]),
    ("rubric", "an order is found and refunded"): ("fail", [(10, "content", None)]),
    ("rubric", "two replies, the last with the value"): ("pass", [(2, "content", None)]),
    ("tools", "an order is found and refunded"): ("pass", [(4, "name", None), (8, "name", None)]),
    ("tools", "one word, no start"): ("fail", [(1, "content", None)]),
    ("grounding", "an order is found and refunded"): ("pass", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("grounding", "one word, no start"): ("fail", [(1, "content", None)]),
    ("injection", "an order is found and refunded"): ("fail", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("injection", "one word, no start"): ("pass", [(1, "content", None)]),
    ("answer", "an order is found and refunded"): ("fail", [(10, "content", None)]),
    ("answer within", "the end reports the output"): ("pass", [(2, "output", None)]),
    ("instructions", "an order is found and refunded"): ("pass", [(10, "content", None)]),
    ("instructions", "parallel calls answered out of order"): ("fail", [(5, "content", None)]),
    ("personal data", "an order is found and refunded"): ("pass", [(10, "content", None)]),
    ("personal data", "a reply with personal data"): ("fail", [(1, "content", None)]),
    ("similar words", "an order is found and refunded"): ("pass", [(10, "content", None)]),
    ("similar words", "one word, no start"): ("fail", [(1, "content", None)]),
    ("precedes", "an order is found and refunded"): ("pass", [(2, "name", None), (8, "name", "payments.refund")]),
    ("precedes", "a refund without login"): ("fail", [(1, "name", "payments.refund")]),
    ("allowed tools", "an order is found and refunded"): ("fail", [(8, "name", "payments.refund")]),
    ("never after", "an order is found and refunded"): ("pass", [(8, "name", "payments.refund")]),
    ("never after", "refund, then find"): ("fail", [(1, "name", "payments.refund"), (2, "name", "orders.find")]),
    ("repeated", "the same call three times"): ("fail", [(5, "result", None)]),
    ("retried", "the same error twice, then a write, then it goes"): ("fail", [(5, "result", "Error: locked")]),
    ("bad end", "an order is found and refunded"): ("pass", [(11, None, None)]),
    ("bad end", "ended by a limit"): ("fail", [(4, None, None)]),
    ("no reply", "an order is found and refunded"): ("pass", [(1, None, None), (6, None, None)]),
    ("no reply", "nothing is said"): ("fail", [(1, None, None)]),
    ("budget of steps", "an order is found and refunded"): ("fail", [(8, None, None)]),
    ("responds within", "an order is found and refunded"): ("fail", [(1, None, None), (6, None, None)]),
    ("writes of one refund", "an order is found and refunded"): ("fail", [(9, "result", None)]),
    ("match of two", "an order is found and refunded"): ("fail", [(4, "args", None)]),
    ("match strictly", "an order is found and refunded"): ("fail", [(2, "name", None)]),
    ("disallowed calls", "an order is found and refunded"): ("fail", [(2, "name", None)]),
    ("calls in sequence", "calls with arguments"): ("pass", [(1, "name", None), (4, "name", None)]),
    ("repeated calls", "calls with arguments"): ("fail", [(2, None, None)]),
    ("bad end by reason", "nothing is said"): ("fail", [(1, None, None)]),
    ("tools to leave alone", "an order is found and refunded"): ("fail", [(8, "name", None)]),
    ("arguments of refunds", "a refund without login"): ("fail", [(1, "args", None)]),
    ("argument from a find", "a refund without login"): ("fail", [(1, "args.order", None)]),
    ("write without lookup", "found another one, refunded unasked"): ("fail", [(6, "args.order", None)]),
    ("unseen argument", "found another one, refunded unasked"): ("fail", [(6, "args.order", None)]),
    ("write without consent", "an order is found and refunded"): ("fail", [(8, "name", None)]),
    ("ungrounded reply", "an order is found and refunded"): ("fail", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("ungrounded reply", "one word, no start"): ("skipped", [(1, "content", None)]),
    ("ungrounded reply", "parallel calls answered out of order"): ("pass", [(5, "content", None)]),
    ("in English", "an order is found and refunded"): ("pass", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("in English", "told in German"): ("fail", [(2, "content", "Ihre Bestellung ist auf dem Weg zu Ihnen.")]),
    ("no refusal", "an order is found and refunded"): ("fail", [(10, "content", "I have REFUNDED 58 EUR for lot Q7.")]),
    ("no refusal", "one word, no start"): ("pass", [(1, "content", None)]),
    ("instrumentation", "empty texts"): ("fail", [(6, None, None)]),
}  # fmt: skip
"""By grader and story: the outcome, and the places that show it, each as seq, path and excerpt."""


@pytest.mark.parametrize(("name", "told"), POINTS)
def test_evidence_points_at_what_decided(name: str, told: str) -> None:
    grader = GRADERS[name]
    verdict = graded(grader, {**STORIES, **STORIES_OF[type(grader)]}[told])
    outcome, shown = POINTS[name, told]
    assert (verdict.outcome, [(p.seq, p.path, p.excerpt) for p in verdict.points]) == (outcome, shown)
