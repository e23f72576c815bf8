"""Records that nobody would send, to the whole of a worker but Faust: nothing raises, nothing is lost, nothing grows.

    python -m tests.stream.fuzz --minutes 30       new records for so long
    python -m tests.stream.fuzz --seed 4711        one journal again, by its number

Good journals are bent: bytes flipped, cut and repeated, values of the JSON replaced by others of any type and size. Half way the
desk is given up and its states are read by a new one, as after a crash.
"""

import argparse
import json
import random
import sys
import time
from typing import Any

import msgspec

from stream_graders.chaos import Disturbed
from stream_graders.events import from_json, to_json
from stream_graders.stream.desk import Counts, Desk, Outputs
from stream_graders.suites import HOUR, Check, Completion, Fleet, Suite
from stream_graders.verdicts import RunVerdict, Verdict, Violation
from tests.core.runs import built
from tests.core.stories import GRADERS
from tests.stream.test_desk import Record

STATE_BYTES = 512 * 1024
"""An encoded state over this is our bug (design 5)."""
RECORDS = 400
"""Records of one journal."""

SOON = Completion(idle_user=20_000, idle_agent=10_000, idle_tool=90_000, amend_window=60_000, remember=240 * HOUR)
"""A run that is forgotten may begin again by the same event, and its ids with it: so none is."""
NAMES = list(GRADERS)
FLEET = Fleet(
    tuple(
        Suite(
            f"suite-{n}", tuple(Check(name, GRADERS[name], "minor", "ticket") for name in NAMES[n::3]), completion=SOON
        )
        for n in range(3)
    )
)


def values(draw: random.Random) -> Any:
    """A JSON value that is seldom what is asked for."""
    kinds: list[Any] = [
        None, True, 0, -1, 2**63, 10**400, 1e308, -0.0, "", " ", "\x00", "é" * 50, "a" * draw.choice((10, 5_000)), "\U0001f600",
        [], {}, [[]], {"": ""}, "2026-13-45T99:00:00Z", "1970-01-01T00:00:00Z", '{"a": [1, {"b": "\\u0000"}]}', "(a+)+$", "user", "tool",
        ["messages", 3], {"agent": {"name": None}}, list(range(200)), 1.5, "orders.find", "ok", "-" * 600,
    ]  # fmt: skip
    if draw.random() < 0.1:
        nested: Any = 1
        for _ in range(draw.choice((5, 150, 250, 2_000))):
            nested = [nested] if draw.random() < 0.5 else {"k": nested}
        return nested
    return draw.choice(kinds)


def bent(draw: random.Random, value: bytes) -> bytes:
    """A record, spoiled in one way."""
    if draw.random() < 0.6:
        try:
            read = from_json(value)
        except ValueError:
            return value
        if not isinstance(read, dict) or not read:
            return value
        name = draw.choice([*read, "unheard_of"])
        inner = read.get(name)
        if isinstance(inner, dict) and inner and draw.random() < 0.5:
            inner[draw.choice(list(inner))] = values(draw)
        elif draw.random() < 0.2:
            read.pop(name, None)
        else:
            read[name] = values(draw)
        try:
            return json.dumps(read, ensure_ascii=draw.random() < 0.5).encode("utf-8", "surrogatepass")
        except RecursionError:
            return b"[" * 5_000
    spoiled = bytearray(value)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(spoiled) or 1)
        how = draw.randrange(4)
        if how == 0 and spoiled:
            spoiled[at] = draw.randrange(256)
        elif how == 1:
            del spoiled[at : at + draw.randint(1, 40)]
        elif how == 2:
            spoiled[at:at] = spoiled[at : at + draw.randint(1, 40)]
        else:
            spoiled[at:at] = draw.choice((b"\xff", b'"', b"{", b"\\ud800", b"\\u0000", b"null", b"1e999", b"[[["))
    return bytes(spoiled)


def journal(seed: int) -> list[Record]:
    """A journal of several runs, some of its records bent."""
    draw = random.Random(seed)
    if draw.random() < 0.5:
        items = list(Disturbed(seed, RECORDS // 2))
    else:
        runs = [
            built(draw.randrange(2**31), [draw.randrange(1_024) for _ in range(draw.randrange(25))]) for _ in range(12)
        ]
        told = [
            [
                (f"{e.run_id}-{n}".encode(), to_json(msgspec.structs.replace(e, run_id=f"{e.run_id}-{n}")))
                for e in events
            ]
            for n, events in enumerate(runs)
        ]
        items = []
        while told:
            run = draw.choice(told)
            items.append(run.pop(0)) if run else told.remove(run)
    records, now = [], 1_000
    for n, (key, value) in enumerate(items):
        now += draw.choice((0, 1, 200, 5_000, 40_000, 400_000)) if draw.random() < 0.2 else 5
        is_bent = value is not None and draw.random() < 0.15
        spoiled = bent(draw, value) if is_bent and value is not None else value
        other = draw.choice((None, b"", b"\xff", key)) if draw.random() < 0.01 else key
        records.append(Record(other, spoiled, n, now))
    return records


def fault(seed: int) -> str | None:
    """What is wrong with how a journal is graded, if anything is."""
    draw = random.Random(~seed)
    records, kept, counts = journal(seed), dict[bytes, bytes](), Counts()
    told: dict[bytes, dict[str, bytes]] = {}
    desk = Desk(FLEET, ("journal", 0, 1), kept, counts)
    half = len(records) // 2
    at = 0
    while at < len(records):
        if at <= half < at + 100 and draw.random() < 0.5:
            counts.let_go()
            desk = Desk(FLEET, ("journal", 0, 1), kept, counts)
        step = draw.randint(1, 100)
        try:
            desk.grade(records[at : at + step])
            desk.advance()
            out = desk.take(at)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is what we look for)
            return f"{type(error).__name__}: {error}, in records {at} to {at + step}"
        at += step
        for key, state in out.states.items():
            if state is None:
                kept.pop(key, None)
                told.pop(
                    key, None
                )  # What is forgotten may begin again, by the same event: then its ids come again too.
            elif len(state) > STATE_BYTES:
                return f"the state of run {key!r} has {len(state)} bytes"
            else:
                kept[key] = state
        wrong = wrong_in(out, told)
        if wrong is None and counts.difference():
            wrong = f"the ledger differs by {counts.difference()}"
        if wrong is not None:
            return wrong
        counts.published.clear()
    return None


def wrong_in(out: Outputs, told: dict[bytes, dict[str, bytes]]) -> str | None:
    """What is wrong with what was written, if anything is; ``told`` is what was written before, by run and id."""
    for kind, rows in ((Verdict, out.verdicts), (RunVerdict, out.run_verdicts), (Violation, out.violations)):
        for key, value, _ in rows:
            record: Any = msgspec.json.decode(value or b"", type=kind)
            if told.setdefault(key or b"", {}).setdefault(record.id, value or b"") != value:
                return f"two records of id {record.id} differ"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description="Bent journals.")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, help="one journal only")
    options = parser.parse_args()
    if options.seed is not None:
        found = fault(options.seed)
        print(found or "nothing is wrong")
        return 1 if found else 0
    ends, count = time.monotonic() + options.minutes * 60, 0
    first = random.SystemRandom().randrange(2**31)
    while time.monotonic() < ends:
        if (found := fault(first + count)) is not None:
            print(f"seed {first + count}: {found}")
            return 1
        count += 1
    print(f"{count} journals from seed {first} on: nothing is wrong", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
