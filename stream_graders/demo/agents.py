"""Simulated support agents of a shop, with faults at known rates, so that every verdict can be compared with the truth.

What a conversation says and does wrong depends on the seed and its number alone; how conversations are interleaved
depends on the seed and the order of calls. Only ids of events and times differ between two runs of the demo.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from ..emit import Emitter
from ..emit.runs import Run
from ..verdicts import Outcome

AGENT = "shop-support"
CODE = "RET-30D"
"""What the policy is numbered; the tool tells it, and a good reply quotes it."""

ALWAYS = ("no-direct-database", "greets", "no-promises")
"""Checks of the demo's suite that apply to every conversation."""
OF_TOPIC: Mapping[str, tuple[str, ...]] = {
    "parcel": ("order-id-is-real",),
    "refund": ("order-id-is-real", "auth-before-refund", "looks-before-refund"),
    "complaint": ("complaint-has-ticket",),
    "policy": ("policy-is-quoted",),
}
"""The checks that apply to what a customer may want."""
CHECKS = tuple(sorted({*ALWAYS, *(check for checks in OF_TOPIC.values() for check in checks)}))


def seeded(seed: str) -> Random:
    """Chance that comes out the same again."""
    return Random(seed)  # noqa: S311  (a simulation keeps no secrets)


@dataclass(frozen=True)
class Release:
    """A version of the agent: how often it is met, and how often it does what a check is about wrong."""

    version: str
    share: int
    faults: Mapping[str, float] = field(default_factory=dict)
    otherwise: float = 0.05

    def rate(self, check: str) -> float:
        """How often a conversation of this version fails this check."""
        return self.faults.get(check, self.otherwise)


RELEASES = (
    Release("1.4.1", 2),
    Release("1.4.2", 3),
    Release("1.5.0", 3, {"order-id-is-real": 0.35, "policy-is-quoted": 0.25, "no-promises": 0.1}),
)
"""The last one is a regression: it makes up order numbers."""


@dataclass(frozen=True)
class Truth:
    """What is right to say of one conversation."""

    run_id: str
    version: str
    outcomes: Mapping[str, Outcome]
    """By check."""

    @property
    def faults(self) -> list[str]:
        """What was done wrong on purpose."""
        return [check for check, outcome in self.outcomes.items() if outcome is Outcome.FAIL]


class Shop:
    """Conversations under way, many at a time."""

    def __init__(self, emitter: Emitter, seed: int) -> None:
        self._emitter = emitter
        self._seed = seed
        self._random = seeded(str(seed))
        self._open: dict[str, Iterator[None]] = {}
        self.truths: dict[str, Truth] = {}
        """By run id; known when a conversation begins."""

    @property
    def busy(self) -> int:
        """Conversations under way."""
        return len(self._open)

    def open(self) -> None:
        """A customer comes."""
        number = len(self.truths)
        plan = Plan(seeded(f"{self._seed}/{number}"), f"chat-{self._seed}-{number:05d}")
        self.truths[plan.truth.run_id] = plan.truth
        self._open[plan.truth.run_id] = plan.play(self._emitter)

    def advance(self, share: float = 1.0) -> None:
        """Each conversation goes a step on with this probability; they take turns in random order."""
        moving = [run_id for run_id in self._open if self._random.random() < share]
        self._random.shuffle(moving)
        for run_id in moving:
            if next(self._open[run_id], self) is self:
                del self._open[run_id]

    def finish(self) -> None:
        """Let everybody have their say."""
        while self._open:
            self.advance()


class Plan:
    """One conversation: what the customer wants, and what the agent will do wrong."""

    def __init__(self, random: Random, run_id: str) -> None:
        self.random = random
        release = random.choices(RELEASES, [release.share for release in RELEASES])[0]
        self.topics = [random.choice(list(OF_TOPIC))]
        if self.topics != ["policy"] and random.random() < 0.4:
            self.topics.append("policy")  # Last, since its check reads the final reply.
        applies = {*ALWAYS, *(check for topic in self.topics for check in OF_TOPIC[topic])}
        outcomes = dict.fromkeys(CHECKS, Outcome.SKIPPED)
        for check in sorted(applies):
            outcomes[check] = Outcome.FAIL if random.random() < release.rate(check) else Outcome.PASS
        self.truth = Truth(run_id, release.version, outcomes)
        self.order = f"ORD-{random.randrange(100_000, 500_000)}"
        self.other = f"ORD-{random.randrange(500_000, 999_999)}"

    def wrong(self, check: str) -> bool:
        """Is this one of the things that go wrong?"""
        return self.truth.outcomes[check] is Outcome.FAIL

    def play(self, emitter: Emitter) -> Iterator[None]:
        """The conversation, a step at a time."""
        run_id, version = self.truth.run_id, self.truth.version
        with emitter.run(run_id, agent=AGENT, version=version, labels={"channel": "chat"}) as run:
            yield
            for turn, topic in enumerate(self.topics):
                yield from _TOPICS[topic](self, run, turn)

    def say(self, run: Run, turn: int, text: str) -> None:
        """The agent says something, and on its first word what it always or never should."""
        if turn == 0:
            text = text if self.wrong("greets") else f"Welcome to the shop! {text}"
            text = f"{text} I guarantee it." if self.wrong("no-promises") else text
        run.assistant(text, usage={"input": 300 + len(text), "output": len(text) // 4})

    def call(self, run: Run, tool: str, args: object, result: object) -> Iterator[None]:
        """The agent calls a tool; now and then it does not answer at first, and is called again."""
        if self.random.random() < 0.05:
            try:
                with run.tool(tool, args):
                    yield
                    raise TimeoutError(f"{tool} did not answer")
            except TimeoutError:
                yield
        with run.tool(tool, args) as call:
            yield
            call.result(result)
        yield


def _parcel(plan: Plan, run: Run, turn: int) -> Iterator[None]:
    run.user(plan.random.choice(["Where is my parcel?", "My order has not come.", "When will my order be here?"]))
    yield
    if plan.wrong("no-direct-database"):
        yield from plan.call(run, "db.query", {"sql": "select * from orders"}, [{"rows": 1}])
    yield from _look_up(plan, run)
    plan.say(run, turn, f"Your order {_named(plan)} is on its way.")
    yield


def _refund(plan: Plan, run: Run, turn: int) -> Iterator[None]:
    run.user(plan.random.choice(["I want my money back.", "Please refund my order.", "It is broken, refund it."]))
    yield
    if not plan.wrong("auth-before-refund"):
        yield from plan.call(run, "auth.login", {"customer": "c-17"}, {"ok": True})
    if plan.wrong("no-direct-database"):
        yield from plan.call(run, "db.query", {"sql": "select * from payments"}, [])
    steps = [_look_up(plan, run), plan.call(run, "payments.refund", {"order_id": plan.order}, "refunded")]
    for step in reversed(steps) if plan.wrong("looks-before-refund") else steps:
        yield from step
    plan.say(run, turn, f"I have refunded your order {_named(plan)}.")
    yield


def _complaint(plan: Plan, run: Run, turn: int) -> Iterator[None]:
    run.user(plan.random.choice(["Your courier was rude.", "I want to speak to a person.", "This is the third time!"]))
    yield
    if plan.wrong("no-direct-database"):
        yield from plan.call(run, "db.query", {"sql": "select * from complaints"}, [])
    if not plan.wrong("complaint-has-ticket"):
        yield from plan.call(run, "tickets.create", {"text": "complaint"}, {"ticket": plan.random.randrange(10**6)})
    plan.say(run, turn, "I am sorry to hear that. I will pass this on to a colleague.")
    yield


def _policy(plan: Plan, run: Run, turn: int) -> Iterator[None]:
    run.user(plan.random.choice(["How long can I return things?", "What is your return policy?"]))
    yield
    if turn == 0 and plan.wrong("no-direct-database"):
        yield from plan.call(run, "db.query", {"sql": "select * from policies"}, [])
    yield from plan.call(run, "policy.read", {"topic": "returns"}, {"days": 30, "number": CODE})
    source = "" if plan.wrong("policy-is-quoted") else f" ({CODE})"
    plan.say(run, turn, f"You may return things within 30 days{source}.")
    yield


def _look_up(plan: Plan, run: Run) -> Iterator[None]:
    order = {"order_id": plan.order, "status": "shipped", "items": [{"sku": f"S-{plan.random.randrange(100)}", "n": 1}]}
    yield from plan.call(run, "orders.lookup", {"customer": "c-17"}, order)


def _named(plan: Plan) -> str:
    return plan.other if plan.wrong("order-id-is-real") else plan.order


_TOPICS: Mapping[str, Callable[[Plan, Run, int], Iterator[None]]] = {
    "parcel": _parcel,
    "refund": _refund,
    "complaint": _complaint,
    "policy": _policy,
}
