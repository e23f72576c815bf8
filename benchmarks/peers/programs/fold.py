"""The three checks as one fold over a run's events: what every engine in Python does between its reads and its writes.

The state is a dict of JSON values, as the engines' stores want it. Each program calls `begun` when an event has reached it: the
first call leaves the time for whoever measures.
"""

import os
import re
import time
from pathlib import Path
from typing import Any

ORDER_ID = re.compile(r"order_id=(ORD-[0-9]{6})")
BOOTSTRAP, JOURNAL, VERDICTS, GROUP, PLACE = (
    os.environ.get(f"BENCH_{name}", "") for name in ("BOOTSTRAP", "JOURNAL", "VERDICTS", "GROUP", "PLACE")
)
"""What a program is told: addresses, the two topics, its consumer group, and a folder for what it keeps."""

_waits = bool(PLACE)


def begun() -> None:
    """An event has come."""
    global _waits  # noqa: PLW0603  (asked at each event: one look-up)
    if _waits:
        _waits = False
        Path(PLACE, "first").write_text(f"{time.time()}\n")


def fresh() -> dict[str, Any]:
    """The state of a run of which nothing is known."""
    return {"ids": [], "echoed": None, "login": False, "refund": None, "unasked": False, "model": None}


def fold(state: dict[str, Any], event: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Take an event into the state; the verdicts once the run has ended."""
    kind = event["type"]
    if kind == "message":
        if event["role"] == "assistant":
            _hear(state, event["seq"], event["content"])
    elif kind == "tool.call":
        name = event["name"]
        if name == "auth.login":
            state["login"] = True
        elif name == "payments.refund" and state["refund"] is None:
            state["refund"], state["unasked"] = event["seq"], not state["login"]
    elif kind == "tool.result":
        if event["name"] == "orders.find":
            found = ORDER_ID.search(event["result"])
            if found:
                state["ids"].append(found[1])
    elif kind == "run.end":
        return _verdicts(state, event["run_id"], event["seq"])
    return None


def _hear(state: dict[str, Any], seq: int, text: str) -> None:
    if state["echoed"] is None and any(value in text for value in state["ids"]):
        state["echoed"] = seq
    if state["model"] is None and "as an ai language model" in text.lower():
        state["model"] = seq


def _verdicts(state: dict[str, Any], run: str, end: int) -> list[dict[str, Any]]:
    echoed, refund, model = state["echoed"], state["refund"], state["model"]
    order = "skipped" if refund is None else "fail" if state["unasked"] else "pass"
    return [
        _verdict(run, "echo", "fail" if echoed is None else "pass", end if echoed is None else echoed),
        _verdict(run, "order", order, end if refund is None else refund),
        _verdict(run, "wording", "pass" if model is None else "fail", end if model is None else model),
    ]


def _verdict(run: str, check: str, outcome: str, seq: int) -> dict[str, Any]:
    return {"run_id": run, "check": check, "outcome": outcome, "seq": seq}
