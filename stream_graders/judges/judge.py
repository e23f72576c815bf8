"""One request to its answer: cache, budget, rate, the call with its retries, the reply read, several judges put together.

Whatever fails on the way ends in an answer that says so, before the deadline of the request; none of it ends in a score.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import stamina

from ..verdicts import JudgeRequest
from . import answering, cache, prompts
from .answering import failed, scored, spared
from .cache import Cache
from .calibration import Calibration, rubric_of
from .calls import FATAL, RETRIED, Call, Client, Fault, Reply
from .knobs import pinned
from .ledger import Cost, Ledger, Limit
from .limits import Gate, Turn
from .metrics import JudgeMetrics
from .parsing import Parsed, parse
from .prescreen import Prescreen, noted
from .probes import Probes
from .settings import JudgesFile, ModelSettings

log = logging.getLogger("stream_graders.judges")

TRIES = 3
ASK_AGAIN = ("unparseable", "non_numeric", "two_verdicts", "empty")
"""What a reply may be that is asked for once more."""
NEAR = 0.1
"""How near to the threshold a score is unsure, as a share of the scale."""
MARGIN = 1.0
"""Seconds before its deadline at which a request is given up: its answer has a way to go."""

URGENT = 0.25
"""The last part of its time in which a question no longer lets others go first."""

ALL = "all judges"
"""The scope of the limits that all models share."""

Answer = dict[str, Any]
Looked = asyncio.Future[float | None] | None
"""What the pre-screen is to find, where there is one and the question has a source."""


@dataclass
class Provider:
    """A model under its name, with all that stands around its calls."""

    name: str
    settings: ModelSettings
    client: Client
    gate: Gate
    calibrations: Sequence[Calibration] = ()
    """Those that are not void."""


class _OutOfTimeError(Exception):
    """The deadline is nearer than what has to be waited for."""


class Judge:
    """Answers requests."""

    def __init__(
        self,
        file: JudgesFile,
        providers: Mapping[str, Provider],
        ledger: Ledger,
        cached: Cache,
        metrics: JudgeMetrics,
        probes: Probes,
        clock: Callable[[], float] = time.time,
        prescreen: Prescreen | None = None,
    ) -> None:
        self._file, self._providers, self._probes, self._prescreen = file, providers, probes, prescreen
        self._ledger, self._cache, self._metrics, self._clock = ledger, cached, metrics, clock

    def is_over(self, request: JudgeRequest) -> bool:
        """Has its run gone on without an answer? Then one would cost money and settle nothing."""
        return self._left(request) <= 0

    def has_no_room(self, request: JudgeRequest, waiting: int, most: int) -> bool:
        """Does a request ask for a judge that fails, and for which so many wait that others would get no turn?

        ``most`` may wait for all judges together. What exceeds an even share is given up while the judge is left alone: once it
        answers again, it takes the share that waits, and all that comes.
        """
        provider = self._providers.get(request.model)
        share = most // max(1, len(self._providers) + bool(self._file.probes))
        return provider is not None and waiting >= share < most and provider.gate.breaker.state != "closed"

    def tell_used(self) -> None:
        """Tell how much of all judges' limits is used; from time to time too, for at midnight it is nothing."""
        for window in ("day", "hour"):
            if caps := self._file.limits.of(window):
                self._metrics.used.labels(window).set(self._ledger.used(Limit(ALL, window, caps)))

    async def answer(self, request: JudgeRequest) -> Answer:
        """The answer to a request, before its deadline; never raises for what a model or provider does."""
        if request.rule == "probe":
            answer = await self._probes.answer(request, self._left(request))
            self._metrics.answered(request.grader, answer)
            return answer
        names = [request.model, *request.panel]
        votes = await asyncio.gather(*(self._vote(request, name) for name in names))
        answer = votes[0] if len(votes) == 1 else together(request, names, votes)
        if request.escalate is not None and request.escalate not in names and is_unsure(request, answer):
            self._metrics.escalated.inc()
            second = await self._vote(request, request.escalate)
            if second["status"] == "scored" or answer["status"] != "scored":
                # The stronger judge counts; what the first said stands beside it.
                second["judge"] = {
                    **second.get("judge", {}),
                    "votes": _votes([*names, request.escalate], [answer, second]),
                }
                answer = second
            else:
                answer.setdefault("flags", []).append("unconfirmed")
        if request.flags:
            answer["flags"] = [*answer.get("flags", []), *request.flags]
        if request.truncated:
            answer["flags"] = [*answer.get("flags", []), "judge_truncated"]
        self._metrics.answered(request.grader, answer)
        return answer

    async def _vote(self, request: JudgeRequest, name: str) -> Answer:
        provider = self._providers.get(name)
        if provider is None:
            return failed("unknown_model", f"the judge worker knows no judge {name[:60]!r}")
        settings = provider.settings
        nonce = secrets.token_hex(4) if settings.mode == "prompt_only" else None
        prompt = prompts.build(request.input, request.scale, secrets.token_hex(3), nonce)
        key = cache.key_of(
            prompts.PROMPT_VERSION, settings.provider, settings.base_url, settings.model, settings.mode, sorted(settings.knobs),
            settings.max_output_tokens, prompt.stable, request.rule, request.scale, request.tenant,
        )  # fmt: skip
        try:
            answer, how = await self._cache.get(key, lambda: self._screened(request, provider, prompt, nonce))
        except Exception as error:  # noqa: BLE001  (a defect of ours is one answer's error; the others go on)
            log.warning("a request of %s failed: %s", request.grader, type(error).__name__)
            return failed("internal", type(error).__name__)
        self._metrics.cache.labels(how).inc()
        told = {**answer.get("judge", {}), "cache": how, "prompt": key[:16]}
        rubric = rubric_of(request.input, request.scale)
        if (known := next((each for each in provider.calibrations if rubric in each.rubrics), None)) is not None:
            told["calibration"] = known.id
        return {**answer, "judge": told}

    # -- asking --------------------------------------------------------------------------------------------------------

    async def _screened(
        self, request: JudgeRequest, provider: Provider, prompt: prompts.Prompt, nonce: str | None
    ) -> Answer:
        """What asking gives, with the pre-screen's note: also where the budget had no room and nothing else is known."""
        looked = None if self._prescreen is None else self._prescreen.begin(request)
        if looked is None:
            return await self._ask(request, provider, prompt, nonce, None)
        try:
            answer = await self._ask(request, provider, prompt, nonce, looked)
            found = await noted(looked)
        finally:
            looked.cancel()
        if found is not None:
            answer["judge"] = {**answer.get("judge", {}), "prescreen": found}
        return answer

    async def _ask(
        self, request: JudgeRequest, provider: Provider, prompt: prompts.Prompt, nonce: str | None, looked: Looked
    ) -> Answer:
        told: dict[str, Any] = {"model": provider.name, "provider": provider.settings.provider, "calls": 0}
        parsed: Parsed | None = None
        for _ in range(2):
            try:
                reply = await self._called(request, provider, prompt, told, looked)
            except Fault as fault:
                return failed(fault.kind, "the provider gave no reply", told)
            except _OutOfTimeError:
                return failed("deadline", "there was no time left to ask", told)
            if isinstance(reply, str):
                # A first reply that was no verdict stays what it is: the second was only to mend it.
                return spared("budget", reply) if parsed is None else scored(parsed, told)
            parsed = parse(reply.text, request.rule, request.scale, finish=reply.finish, nonce=nonce)
            told |= {"reported": reply.reported[:80], "knobs": reply.knobs}
            if parsed.code not in ASK_AGAIN:
                break
            self._metrics.unreadable.labels(parsed.code).inc()
        assert parsed is not None
        return scored(parsed, told)

    async def _called(
        self, request: JudgeRequest, provider: Provider, prompt: prompts.Prompt, told: dict[str, Any], looked: Looked
    ) -> Reply | str:
        """The reply of a model, after as many tries as it takes; or which budget has no room for one.

        Raises:
            Fault: the last try gave none either.
            _OutOfTimeError: the deadline is too near.
        """

        def again(error: Exception) -> bool | float:
            if not isinstance(error, Fault) or error.kind not in RETRIED:
                return False
            if error.retry_after is None:
                return True
            return error.retry_after if error.retry_after < self._left(request) else False

        attempts = stamina.retry_context(on=again, attempts=TRIES, timeout=None, wait_initial=0.5, wait_max=20.0)
        async for attempt in attempts:
            with attempt:
                return await self._try(request, provider, prompt, told, looked)
        raise AssertionError("the last attempt raises")

    async def _try(
        self, request: JudgeRequest, provider: Provider, prompt: prompts.Prompt, told: dict[str, Any], looked: Looked
    ) -> Reply | str:
        gate, settings = provider.gate, provider.settings
        tokens = (len(prompt.system.encode()) + len(prompt.user.encode())) // 3 + settings.max_output_tokens
        try:
            async with asyncio.timeout(max(0.0, self._left(request))):
                await gate.take(_turn(request, looked))
        except TimeoutError:
            raise _OutOfTimeError from None
        try:
            return await self._within(request, provider, prompt, told, tokens)
        finally:
            gate.slots.release()

    async def _within(
        self, request: JudgeRequest, provider: Provider, prompt: prompts.Prompt, told: dict[str, Any], tokens: int
    ) -> Reply | str:
        gate, settings, metrics = provider.gate, provider.settings, self._metrics
        limits = self._limits(request, provider)
        if isinstance(limits, str):
            return limits
        prices = settings.prices
        money = (
            0 if prices is None else prices.micro_usd(tokens - settings.max_output_tokens, settings.max_output_tokens)
        )
        reserved = self._ledger.reserve(limits, Cost(money, tokens))
        self.tell_used()
        if isinstance(reserved, str):
            metrics.refused.labels(reserved.rpartition("(")[2].removesuffix(")")).inc()
            return f"the budget of {reserved} is used up"
        try:
            async with asyncio.timeout(max(0.0, self._left(request))):
                await gate.enter(tokens)
        except TimeoutError:
            self._ledger.release(reserved)
            raise _OutOfTimeError from None
        call = Call(
            prompt.system, prompt.user, prompts.schema(request.scale), settings.mode, settings.max_output_tokens,
            min(settings.timeout, max(0.1, self._left(request))), pinned(settings.knobs),
        )  # fmt: skip
        gate.breaker.begin()
        told["calls"] += 1
        begun = time.monotonic()
        try:
            with metrics.under_way.labels(provider.name).track_inprogress():
                reply = await provider.client.call(call)
        except Fault as fault:
            gate.breaker.fail(fault.kind)
            metrics.calls.labels(provider.name, fault.kind).inc()
            if fault.kind == "rate_limited":
                gate.pause(fault.retry_after or 1.0)
            if fault.kind in FATAL:
                log.error("judge %s: %s; no more calls for a while", provider.name, fault.kind)
            if not fault.sent:
                self._ledger.release(reserved)  # Of any other nobody knows what it cost: it stays spent.
            raise
        finally:
            metrics.seconds.labels(provider.name).observe(time.monotonic() - begun)
            metrics.breaker.labels(provider.name).set(gate.breaker.state != "closed")
        gate.breaker.succeed()
        gate.ease()
        metrics.calls.labels(provider.name, "ok").inc()
        self._settle(provider, reserved, reply, told)
        return reply

    def _settle(self, provider: Provider, reserved: Any, reply: Reply, told: dict[str, Any]) -> None:
        usage, prices = reply.usage, provider.settings.prices
        cost = reserved.cost
        if usage is not None:
            money = 0 if prices is None else prices.micro_usd(usage.input - usage.cached, usage.output, usage.cached)
            cost = Cost(money, usage.input + usage.output)
            self._ledger.settle(reserved, cost)
            spent = {"input": usage.input, "output": usage.output, "cached": usage.cached}
            before = told.get("usage", dict.fromkeys(spent, 0))
            told["usage"] = {name: before[name] + count for name, count in spent.items()}
        self._metrics.spent(provider.name, usage, cost)
        if prices is not None:
            told["micro_usd"] = told.get("micro_usd", 0) + cost.micro_usd
            told["prices"] = prices.version

    def _limits(self, request: JudgeRequest, provider: Provider) -> list[Limit] | str:
        if "micro_usd" in request.budget and provider.settings.prices is None:
            return f"a check limited in dollars asks {provider.name}, which has no prices"
        scopes = [
            (f"check {request.suite}/{request.check}", "day", request.budget),
            (f"judge {provider.name}", "day", provider.settings.limits.of("day")),
            (f"judge {provider.name}", "hour", provider.settings.limits.of("hour")),
            (ALL, "day", self._file.limits.of("day")),
            (ALL, "hour", self._file.limits.of("hour")),
        ]
        return [Limit(scope, window, caps) for scope, window, caps in scopes if caps]

    def _left(self, request: JudgeRequest) -> float:
        """Seconds until a request is given up."""
        return request.due / 1000 - self._clock() - MARGIN


def _turn(request: JudgeRequest, looked: Looked) -> Turn:
    """Its place in the line of a model, which changes once the pre-screen has looked."""
    turn = Turn((request.due - URGENT * (request.due - request.asked_at)) / 1000)
    if looked is not None:

        def learn(found: "asyncio.Future[float | None]") -> None:
            turn.grounded = None if found.cancelled() else found.result()

        looked.add_done_callback(learn)
    return turn


def is_unsure(request: JudgeRequest, answer: Answer) -> bool:
    """Should a second judge be asked: the first abstained, is near the threshold, or may have been talked to?"""
    if "injection_suspected" in request.flags or answer.get("code") == "abstained":
        return True
    if answer["status"] != "scored" or request.pass_at is None:
        return "split" in answer.get("flags", [])
    lowest, highest = request.scale
    return abs(answer["score"] - request.pass_at) <= NEAR * (highest - lowest) and request.rule != "binary"


def together(request: JudgeRequest, names: list[str], votes: list[Answer]) -> Answer:
    """What several judges come to: on a binary scale the majority, else the median. Without a majority nothing is said.

    Judges that gave no score do not vote; if most gave none, there is no score.
    """
    told = {"votes": _votes(names, votes), "calls": sum(vote.get("judge", {}).get("calls", 0) for vote in votes)}
    money = [vote["judge"]["micro_usd"] for vote in votes if "micro_usd" in vote.get("judge", {})]
    if money:
        told["micro_usd"] = sum(money)
    notes = [vote["judge"]["prescreen"] for vote in votes if "prescreen" in vote.get("judge", {})]
    if notes:
        told["prescreen"] = notes[0]
    scores = [vote["score"] for vote in votes if vote["status"] == "scored"]
    if 2 * len(scores) <= len(votes):
        first = next(vote for vote in votes if vote["status"] != "scored")
        return {**first, "judge": {**first.get("judge", {}), **told}}
    middle = float(median(scores))
    if request.rule == "binary" and middle not in request.scale:
        return {**answering.failed("split", "as many judges said yes as no", told), "flags": ["split"]}
    near = min((vote for vote in votes if vote["status"] == "scored"), key=lambda vote: abs(vote["score"] - middle))
    lowest, highest = request.scale
    flags = ["split"] if max(scores) - min(scores) > (highest - lowest) / 2 else []
    return {"status": "scored", "score": middle, "reason": near.get("reason", ""), "flags": flags, "judge": told}


def _votes(names: list[str], votes: list[Answer]) -> dict[str, Any]:
    return {name: vote.get("score", vote.get("code")) for name, vote in zip(names, votes, strict=False)}
