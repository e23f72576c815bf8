"""What is true of each run, from the whole of it at once. Written apart from the folds: the two hold each other."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from ..account import Answer, Key

Run = list[dict[str, Any]]


def answers(records: Iterable[tuple[bytes, bytes]], *, early: bool = False) -> dict[Key, Answer]:
    """The verdicts that these records call for: the final ones of the runs that end in them.

    Args:
        records: of whole runs, or of a journal that breaks off.
        early: those too that a worker of ours gives at once, since a failure is certain before the run's end. That no id
            was repeated is certain at the end only.
    """
    runs: dict[str, Run] = defaultdict(list)
    for _, value in records:
        event = json.loads(value)
        runs[event["run_id"]].append(event)
    found: dict[Key, Answer] = {}
    for name, told in runs.items():
        run = sorted(told, key=lambda event: event["seq"])
        for check, ask in CHECKS.items():
            answer = ask(run)
            if run[-1]["type"] == "run.end":
                found[name, check, "final"] = answer
            if early and answer[0] == "fail" and ask is not echo:
                found[name, check, "early"] = answer
    return found


def echo(run: Run) -> Answer:
    """Does an assistant message hold an id that an earlier result of orders.find gave, in the same case?"""
    given = [
        (event["seq"], found[1])
        for event in run
        if event["type"] == "tool.result" and event["name"] == "orders.find"
        if (found := re.search("order_id=(ORD-[0-9]{6})", event["result"]))
    ]
    for seq, text in _said(run):
        if any(before < seq and value in text for before, value in given):
            return "pass", seq
    return "fail", run[-1]["seq"]


def order(run: Run) -> Answer:
    """Was there a login before the first refund? Without a refund there is nothing to say."""
    calls = {}
    for event in reversed(run):
        if event["type"] == "tool.call":
            calls[event["name"]] = event["seq"]
    refund = calls.get("payments.refund")
    if refund is None:
        return "skipped", run[-1]["seq"]
    return "pass" if calls.get("auth.login", refund) < refund else "fail", refund


def wording(run: Run) -> Answer:
    """Does no assistant message say that it is a language model?"""
    said = [seq for seq, text in _said(run) if "as an ai language model" in text.lower()]
    return ("fail", said[0]) if said else ("pass", run[-1]["seq"])


def _said(run: Run) -> list[tuple[int, str]]:
    return [
        (event["seq"], event["content"]) for event in run if event["type"] == "message" and event["role"] == "assistant"
    ]


CHECKS = {"echo": echo, "order": order, "wording": wording}
