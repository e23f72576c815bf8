"""The demo's agents alone, on a Kafka that is there already: something to look at while no agent of one's own sends yet."""

import signal
import threading
import time

from ..emit import Emitter
from ..emit.kafka import KafkaSink
from ..security import from_environment
from .agents import Shop
from .play import SHARE
from .unruly import UnrulySink

TICK = 0.05
EACH = 5_000
"""Conversations of one shop; then another begins, for a shop remembers all of its own."""
LAST_WORDS = 30.0
"""Seconds in which what was said is delivered at the end."""


def simulate(bootstrap: str, topic: str, rate: float, seed: int | None, environment: str) -> int:
    """Let simulated agents work until SIGTERM or SIGINT; how many events could not be delivered.

    Args:
        bootstrap: Kafka's addresses.
        topic: the journal's physical name.
        rate: conversations that begin in a second.
        seed: of what they say and do wrong; None takes another at each start, for a run id counts once.
        environment: what the events carry.

    Raises:
        SecurityError: the security settings do not fit together.
    """
    seed = int(time.time()) if seed is None else seed
    sink = UnrulySink(KafkaSink(bootstrap, topic, security=from_environment()), seed)
    emitter = Emitter(sink, environment=environment)
    ended = threading.Event()
    before = {number: signal.signal(number, lambda *_: ended.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        while not ended.is_set():
            _open_for_a_while(Shop(emitter, seed), rate, ended)
            seed += 1
    finally:
        emitter.close(timeout=LAST_WORDS)
        for number, handler in before.items():
            signal.signal(number, handler)
    stats = emitter.stats()
    return stats.enqueued - stats.sent


def _open_for_a_while(shop: Shop, rate: float, ended: threading.Event) -> None:
    begun = time.monotonic()
    while len(shop.truths) < EACH and not ended.wait(TICK):
        while len(shop.truths) < min(EACH, (time.monotonic() - begun) * rate):
            shop.open()
        shop.advance(SHARE)
    shop.finish()
