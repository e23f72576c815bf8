"""Whether hostile texts cost more than in proportion to their length.

    python -m benchmarks.hostile              every grader of the tests and of forty.yaml, on five kinds of text
    python -m benchmarks.hostile --size 5000000   with longer ones

For each grader and kind of text: CPU time on a run whose message, result and arguments are the text, over that on one half as
long, the best of three each. About 2 is linear, 4 is quadratic. The exit code is 1 if a ratio is beyond 3 where the longer
run took longer than 20 ms: below that the clock decides.
"""

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from stream_graders.config import load
from stream_graders.events import Event
from stream_graders.grading import Grader
from stream_graders.session import At, Session
from stream_graders.testing import run, session_of, suite_of
from tests.core.stories import GRADERS

FORTY = Path(__file__).resolve().parent / "forty.yaml"
SMALLEST = 0.02

KINDS: dict[str, Callable[[int], str]] = {
    "one letter": lambda size: "a" * size,
    "nested needles": lambda size: "a" * (size - 1) + "b",
    "short words": lambda size: "ab " * (size // 3),
    "numbers": lambda size: "12,345.6 " * (size // 9),
    "open brackets": lambda size: "[" * size,
}


def story(text: str) -> list[Event]:
    """A run that holds the text wherever texts may stand."""
    told = run().starts().asks(text).calls("orders.find", {"id": text}).returns(text, is_error=False).says(text)
    return list(told.calls("payments.refund", text).returns({"x": text}, is_error=True).says(text).ends())


def took(grader: Grader, events: list[Event]) -> float:
    """Seconds of CPU, the best of three."""
    best = float("inf")
    for _ in range(3):
        session: Session = session_of(suite_of(grader))
        began = time.process_time()
        for n, event in enumerate(events):
            session.feed(event, At(1_000 + n, n, 300))
        session.snapshot()
        best = min(best, time.process_time() - began)
    return best


def measured(size: int) -> Iterator[tuple[float, float, str, str]]:
    """Ratio, seconds of the longer text, grader, kind of text."""
    graders = {**GRADERS, **{f"forty: {check.name}": check.grader for check in load(FORTY).checks}}
    for kind, make in KINDS.items():
        half, whole = story(make(size // 2)), story(make(size))
        for name, grader in graders.items():
            longer = took(grader, whole)
            yield longer / max(took(grader, half), 1e-6), longer, f"{grader.name} ({name})", kind


def main() -> int:
    parser = argparse.ArgumentParser(description="Hostile texts, as ratios of a text to its half.")
    parser.add_argument("--size", type=int, default=1_000_000, help="characters of the longer text")
    options = parser.parse_args()
    gc.disable()  # Its pauses grow with what lies about, not with the text.
    rows = sorted(measured(options.size), reverse=True)
    worse = [row for row in rows if row[0] > 3 and row[1] > SMALLEST]
    for ratio, seconds, name, kind in (worse or rows[:0]) + [
        row for row in rows if row[1] > SMALLEST and row not in worse
    ][:12]:
        print(f"{ratio:5.2f} x  {seconds * 1e3:8.1f} ms  {kind:<15} {name}")
    print(f"{len(rows)} pairs, {len(worse)} beyond 3", file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
