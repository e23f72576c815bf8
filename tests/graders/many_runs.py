"""Many random runs against the oracles, faster than Hypothesis draws them and without shrinking.

    python -m tests.graders.many_runs 1000000          a million runs, over all cores
    python -m tests.graders.many_runs 1 --seed 4711    one run again, by its number

Each run is graded by a quarter of the checks, drawn with it. A difference is told with the run's seed.
"""

import argparse
import os
import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor

from stream_graders.events import Event
from stream_graders.session import At, Ledger, Session
from stream_graders.suites import Fleet
from stream_graders.testing import suite_of, verdicts_of
from tests.core.runs import built
from tests.graders.oracles import expected
from tests.graders.test_oracles import CHECKS

QUARTERS = [CHECKS[n::4] for n in range(4)]
FLEETS = [Fleet((suite_of(*checks),)) for checks in QUARTERS]
OPERATIONS = 16 * 64


def run_of(seed: int) -> tuple[list[Event], int]:
    """A run and the quarter that grades it."""
    draw = random.Random(seed)
    operations = [draw.randrange(OPERATIONS) for _ in range(draw.randrange(25))]
    return built(draw.randrange(2**31), operations, numbered=True), draw.randrange(4)


def difference(seed: int) -> str | None:
    """What a check says of a run otherwise than its oracle, if any does."""
    events, quarter = run_of(seed)
    session = Session(FLEETS[quarter], events[0].run_id, Ledger())
    effects = [effect for n, event in enumerate(events) for effect in session.feed(event, At(1_000, n, 300))]
    effects += session.finish()
    told = {verdict.check: verdict for verdict in verdicts_of(effects) if verdict.state != "early"}
    for check in QUARTERS[quarter]:
        verdict, (outcome, evidence) = told[check.name], expected(check, events)
        said = verdict.reason == evidence if outcome == "not_graded" else verdict.evidence.startswith(evidence)
        if verdict.outcome != outcome or not said:
            mine = f"{verdict.outcome} ({verdict.reason}): {verdict.evidence}"
            return f"seed {seed}: {check.name}: {mine}; the oracle: {outcome}: {evidence}"
    return None


def differences(first: int, count: int) -> list[str]:
    """The differences in a stretch of seeds."""
    return [told for seed in range(first, first + count) if (told := difference(seed)) is not None]


def graded(count: int, seed: int = 0, processes: int | None = None, chunk: int = 500) -> list[str]:
    """The differences in ``count`` runs from a seed on, over several processes."""
    starts = range(seed, seed + count, chunk)
    sizes = [min(chunk, seed + count - start) for start in starts]
    if processes == 1 or count <= chunk:
        return [told for start, size in zip(starts, sizes, strict=True) for told in differences(start, size)]
    with ProcessPoolExecutor(processes) as pool:
        return [told for found in pool.map(differences, starts, sizes) for told in found]


def main() -> int:
    parser = argparse.ArgumentParser(description="Random runs against the oracles.")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began = time.monotonic()
    found = graded(options.count, options.seed, os.cpu_count())
    print("\n".join(found[:20]), end="\n" if found else "")
    print(f"{options.count} runs, {len(found)} with a difference, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
