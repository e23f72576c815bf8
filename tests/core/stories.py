"""Named runs and graders that the laws are held over."""

from collections.abc import Iterable

from stream_graders.events import UNSENT, Custom, Event, RunOutcome
from stream_graders.grading import Grader
from stream_graders.testing import Story, run
from tests.graders.oracles import FAMILIES


def _answered() -> Story:
    return (
        run()
        .starts()
        .asks("Where is my order?")
        .calls("auth.login", step=0)
        .returns({"user": "u-1"})
        .calls("orders.find", {"mail": "jo@example.com"}, step=1)
        .returns({"id": "ORD-123456", "items": [{"sku": "S-1"}]})
        .says("Order ORD-123456 is on its way.", step=2)
        .asks("Refund it, please.")
        .calls("payments.refund", {"order": "ORD-123456"}, step=3)
        .returns("refunded 58 EUR", is_error=False)
        .says("I have REFUNDED 58 EUR for lot Q7.", step=4)
        .ends()
    )


def _two_producers() -> list[Event]:
    story = (
        run().starts().asks("order?").calls("orders.find").returns("ORD-123456").says("ORD-123456, lot Q7, 58").ends()
    )
    told = list(story)
    other = list(run(producer="p2").says("looking", id="b0", seq=0).says("looking again", id="b1", seq=1))
    return [*told[:2], other[0], *told[2:4], other[1], *told[4:]]


_TOLD: dict[str, Iterable[Event]] = {
    "an order is found and refunded": _answered(),
    "nothing is said": run().starts().asks("hello?").ends(),
    "nothing at all": run().starts().ends(),
    "one word, no start": run().asks("hi").says("hello").ends(),
    "empty texts": run().starts().asks("").says("").says(None).calls("orders.find").returns("").returns(None).ends(),
    "two replies, the last without the value": run().starts().says("lot Q7 and 58").says("anything else?").ends(),
    "two replies, the last with the value": run().starts().says("one moment").says("lot q7: 58").ends(),
    "the end reports the output": run().starts().says("thinking").ends(output="the lot is Q7, for 58"),
    "the end reports an output without it": run().starts().says("lot Q7 for 58").ends(output="done"),
    "content that was not sent": run().starts().asks("x").says("lot Q7 58").says(UNSENT).ends(),
    "a refund without login": run().starts().calls("payments.refund").returns("ok").says("done").ends(),
    "login and refund in one step": (
        run().starts().calls("payments.refund", step=1).calls("auth.login", step=1).says("done", step=2).ends()
    ),
    "a login too late": (
        run().starts().calls("payments.refund", step=1).says("hm").calls("auth.login", step=2).says("ok").ends()
    ),
    "refund, then find": run().starts().calls("payments.refund").calls("orders.find").returns("ORD-777777").ends(),
    "parallel calls answered out of order": (
        run()
        .starts()
        .calls("orders.find", call_id="a")
        .calls("payments.refund", call_id="b")
        .returns("ok", call_id="b", name=None, is_error=True)
        .returns('{"id":"ORD-123456"}', call_id="a", name=None, is_error=False)
        .says("ORD-123456 could not be refunded")
        .ends()
    ),
    "results without names or ids": (
        run()
        .starts()
        .calls("orders.find", call_id=None)
        .returns("ORD-123456", call_id=None, name=None, is_error=False)
        .says("It is ORD-123456.")
        .ends()
    ),
    "a text was cut": run().starts().asks("x").says("lot Q", flags=("truncated",)).ends(),
    "asides among the events": (
        run().starts().adds(Custom, name="note").says("lot Q7, 58").adds(RunOutcome, name="reward", value=1).ends()
    ),
    "paused and resumed": run().starts().asks("x").pauses().resumes().says("lot Q7 58").ends_turn().asks("y").ends(),
    "two turns by number": (
        run().starts(turn=0).asks("a", turn=0).says("lot Q7", turn=0).asks("b", turn=1).says("58", turn=1).ends(turn=1)
    ),
    "two producers": _two_producers(),
}

STORIES: dict[str, list[Event]] = {name: list(told) for name, told in _TOLD.items()}
"""Complete runs, by what happens in them."""


def long_story(turns: int = 120, **body: str) -> list[Event]:
    """A run of many turns whose tools return ever new values that are never repeated."""
    story = run().starts()
    for n in range(turns):
        story.asks(f"question {n}").calls("orders.find").returns(f"ORD-{n:06d}{'x' * (n % 90)}").says("I see.", **body)
    return list(story.ends())


STORIES_OF: dict[type, dict[str, list[Event]]] = {
    kind: {name: list(told) for name, told in family.STORIES.items()} for family in FAMILIES for kind in family.ORACLES
}
"""The runs of a grader's family that only its own graders are held over."""

GRADERS: dict[str, Grader] = {name: grader for family in FAMILIES for name, grader in family.GRADERS.items()}
