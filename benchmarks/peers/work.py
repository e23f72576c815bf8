"""The work: runs of a shop's agent as events of ours, about 24 a run and 276 B each, 500 runs open at a time.

Each run asks one thing and hears of orders. What makes a check hard happens at known rates: an order's id said before it was
looked up, an id of another tool, a second id in one result, an id in the wrong case, a refund before the login.
"""

import random
from collections.abc import Iterator

from stream_graders.events import Agent, to_json
from stream_graders.testing import Story, run

from ..data import interleaved

FIND, LOGIN, REFUND = "orders.find", "auth.login", "payments.refund"
OTHERS = ("catalogue.search", "notes.add", "help.find", "mail.send", "map.route")
AGENT = Agent("shop-agent", "1.0")
SIZE = 276
"""Bytes of a record, on the average."""
BARE, TEXTS = 228, 79
"""What of a record is no text, and what its texts come to in the lengths below; both measured."""
TEXT = (
    "your order has left the store and will be with you in three days unless the road over the pass is closed again in"
    " which case we tell you by mail what else can be done a refund a voucher or a second parcel without any cost at all"
    " please say which of these you would like and whether somebody is at home before noon on the day it should arrive"
)


def records(runs: int, seed: int = 7, size: int = SIZE) -> Iterator[tuple[bytes, bytes]]:
    """Key and value of each journal record, so many bytes on the average."""
    draw = random.Random(seed)
    told = (iter(told_run(n, draw, size)) for n in range(runs))
    for event in interleaved(told, draw):
        yield event.run_id.encode(), to_json(event)


def told_run(number: int, draw: random.Random, size: int = SIZE) -> Story:
    """One run as a story."""
    return _Teller(number, draw, (size - BARE) / TEXTS).told()


class _Teller:
    def __init__(self, number: int, draw: random.Random, stretch: float) -> None:
        self._draw, self._stretch = draw, stretch
        self._story = run(f"{number:06d}-{draw.getrandbits(32):08x}", agent=None)
        self._found: list[str] = []
        self._words = TEXT.split()

    def told(self) -> Story:
        draw, story = self._draw, self._story
        story.starts(agent=AGENT, labels={"release": f"r{draw.randrange(9)}"}, input=self._text(9))
        story.asks(self._text(29))
        tools = self._tools()
        early = self._id() if draw.random() < 0.1 else None
        if early:
            story.says(f"{self._text(9)} {early} {self._text(12)}")  # Said before it was found: no echo.
        for n, tool in enumerate(tools):
            story.calls(tool, {"text": self._text(14), "limit": draw.randrange(50)})
            story.returns(self._result(tool, early))
            if n % 4 == 3:
                story.says(self._text(27))
        story.says(self._reply())
        if draw.random() < 0.5:
            story.says(self._text(25))
        return story.ends(reason=self._text(14))

    def _tools(self) -> list[str]:
        draw = self._draw
        count = draw.randint(6, 12)
        tools = [draw.choice((*OTHERS, FIND)) for _ in range(count)]
        if draw.random() < 0.9:
            tools[draw.randrange(count // 2)] = FIND
        if draw.random() < 0.35:
            at = draw.randrange(2, count)
            tools[at] = REFUND
            login = draw.random()
            if login < 0.75:
                tools[draw.randrange(at)] = LOGIN
            elif login < 0.875 and at + 1 < count:
                tools[-1] = LOGIN  # Too late.
        return tools

    def _result(self, tool: str, early: str | None) -> str:
        draw, by_chance = self._draw, self._draw.random()
        if tool == FIND and by_chance < 0.92:
            value = early if early and not self._found else self._id()
            self._found.append(value)
            second = f" order_id={self._id()}" if draw.random() < 0.2 else ""  # Of one result only the first counts.
            if draw.random() < 0.5:
                return f"state=sent order_id={value} by=post {self._text(15)}{second}"
            return (
                f'{{"ok":true,"line":"order_id={value};count={draw.randrange(9)}","note":"{self._text(13)}"}}{second}'
            )
        if tool != FIND and by_chance < 0.1:
            return f"order_id={self._id()} {self._text(17)}"  # Of another tool: it does not count.
        return f'{{"ok":true,"items":[{draw.randrange(99)},{draw.randrange(99)}],"note":"{self._text(16)}"}}'

    def _reply(self) -> str:
        draw, parts = self._draw, [self._text(11)]
        if self._found and draw.random() < 0.55:
            value, spelling = draw.choice(self._found), draw.random()
            parts += [value if spelling < 0.8 else value.lower(), self._text(9)]  # In the other case it is no echo.
        elif draw.random() < 0.3:
            parts += [self._id(), self._text(9)]
        if draw.random() < 0.05:
            parts += ["As an AI language MODEL I can not", self._text(5)]
        return " ".join(parts)

    def _text(self, words: int) -> str:
        return " ".join(self._draw.choices(self._words, k=max(1, round(words * self._stretch))))

    def _id(self) -> str:
        return f"ORD-{self._draw.randrange(10**6):06d}"
