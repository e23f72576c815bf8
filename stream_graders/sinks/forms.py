"""Notices as Alertmanager, a webhook and Slack take them. Pure: a notice in, a request out.

Evidence and excerpts are words of a run, and a run holds people's data: they leave only where that was asked for. What always leaves is
what the suite names (check, reason, owner, links) and the ids of run and events.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from ..verdicts import Verdict, identify
from .violations import QUIET_MS, Notice

SCHEMA = "stream_graders.notice/1"
ALERT = "AgentViolation"
"""The name under which Alertmanager's routes know violations."""
PATH = "/api/v2/alerts"


@dataclass(frozen=True)
class Request:
    """An HTTP POST of JSON."""

    url: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class SecretError(ValueError):
    """A signing secret that is none."""


@dataclass(frozen=True)
class Form:
    """How notices are put for one kind of receiver."""

    put: Callable[[Sequence[Notice], int], list[Request]]
    """Requests for notices, and the time in milliseconds."""
    is_repeated: bool = False
    """Has the receiver to be told again and again what is going on?"""


def alertmanager(url: str, *, excerpts: bool) -> Form:
    """Alertmanager's API v2: an alert a group, which ends by itself an hour after the last violation."""
    to = url.rstrip("/")
    to = to if to.endswith(PATH) else to + PATH

    def put(notices: Sequence[Notice], now: int) -> list[Request]:
        alerts = [_alert(notice, now, excerpts=excerpts) for notice in notices]
        return [Request(to, msgspec.json.encode(alerts))] if alerts else []

    return Form(put, is_repeated=True)


def webhook(url: str, secret: str, *, excerpts: bool) -> Form:
    """JSON of ``stream_graders.notice/1``, signed as Standard Webhooks say: ``webhook-id``, ``-timestamp``, ``-signature``.

    Args:
        url: where to post.
        secret: the key that both sides know, as ``whsec_`` and base64.
        excerpts: may words of the run leave?

    Raises:
        SecretError: the secret has another form.
    """
    key = _key(secret)

    def put(notices: Sequence[Notice], now: int) -> list[Request]:
        requests = []
        for notice in notices:
            known = _notice(notice, excerpts=excerpts)
            body, name, at = msgspec.json.encode(known), known["id"], str(now // 1000)
            signed = hmac.new(key, f"{name}.{at}.".encode() + body, hashlib.sha256).digest()
            headers = {
                "webhook-id": name,
                "webhook-timestamp": at,
                "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
            }
            requests.append(Request(url, body, headers))
        return requests

    return Form(put)


def slack(url: str, *, excerpts: bool) -> Form:
    """A message for a Slack incoming webhook."""

    def put(notices: Sequence[Notice], _: int) -> list[Request]:
        return [Request(url, msgspec.json.encode({"text": _told(notice, excerpts=excerpts)})) for notice in notices]

    return Form(put)


def _key(secret: str) -> bytes:
    front, _, rest = secret.partition("_")
    try:
        key = base64.b64decode(rest, validate=True)
    except binascii.Error:
        key = b""
    if front != "whsec" or len(key) < 16:  # Its value is not repeated: it is a secret.
        raise SecretError(
            "the secret is whsec_ and at least 16 bytes in base64; make one and give it to the receiver too"
        )
    return key


def _alert(notice: Notice, now: int, *, excerpts: bool) -> dict[str, Any]:
    group, key, about = notice.group, notice.group.key, notice.group.verdict
    ends = notice.at if notice.kind == "resolved" else max(group.last, now - QUIET_MS) + QUIET_MS
    labels = {
        "alertname": ALERT,
        **key._asdict(),
        "severity": about.severity,
        "notify": about.notify,
        "owner": about.owner or "",
    }
    annotations = {
        "summary": _headline(notice),
        "description": "\n".join(_run(verdict, excerpts=excerpts) for verdict in group.runs) + _rest(notice),
        "runbook_url": about.runbook or "",
        **{f"link_{name}": link for name, link in (about.links or {}).items()},
    }
    return {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {name: value for name, value in annotations.items() if value},
        "startsAt": _time(group.since),
        "endsAt": _time(max(ends, group.since + 1)),
    }


def _notice(notice: Notice, *, excerpts: bool) -> dict[str, Any]:
    group, about = notice.group, notice.group.verdict
    told = (notice.verdict.run_id, notice.verdict.opened_at) if notice.kind != "more" else ()
    return {
        "schema": SCHEMA,
        # The same notice has the same id at each delivery, so that a receiver can leave out what it has.
        "id": identify(notice.kind, *group.key, group.since, group.count, group.resolved, *told),
        "kind": notice.kind,
        **group.key._asdict(),
        "severity": about.severity,
        "notify": about.notify,
        "owner": about.owner,
        "runbook": about.runbook,
        "since": _time(group.since),
        "at": _time(notice.at),
        "count": group.count,
        "taken_back": group.resolved,
        "summary": _headline(notice),
        "run": None if notice.kind == "more" else _about(notice.verdict, excerpts=excerpts),
        "first_runs": [_about(verdict, excerpts=excerpts) for verdict in group.runs],
    }


def _about(verdict: Verdict, *, excerpts: bool) -> dict[str, Any]:
    known: dict[str, Any] = {
        "run_id": verdict.run_id,
        "verdict_id": verdict.id,
        "outcome": verdict.outcome,
        "reason": verdict.reason,
        "events": [point.event_id for point in verdict.points],
        "links": verdict.links or {},
    }
    if excerpts:
        quoted = [point.excerpt for point in verdict.points if point.excerpt]
        known |= {"evidence": verdict.evidence, "excerpts": quoted}
    return known


def _told(notice: Notice, *, excerpts: bool) -> str:
    about = notice.group.verdict
    links = "".join(f" <{_address(link)}|{_safe(name)}>" for name, link in (notice.verdict.links or {}).items())
    runbook = f"\n<{_address(about.runbook)}|runbook>" if about.runbook else ""
    if notice.kind == "more":
        return _safe(_headline(notice)) + runbook
    return _safe(_headline(notice) + "\n" + _run(notice.verdict, excerpts=excerpts)) + links + runbook


def _headline(notice: Notice) -> str:
    group, key = notice.group, notice.group.key
    agent = " ".join(word for word in (key.agent or "an unnamed agent", key.version) if word)
    where = f" in {key.environment}" if key.environment else ""
    check = f"{key.suite}/{key.check}"
    if notice.kind == "resolved":
        return f"{agent}{where}: {check} holds after all"
    if notice.kind == "taken_back":
        return f"{agent}{where}: {check} holds after all in one of {group.count} runs"
    if notice.kind == "more":
        return f"{agent}{where} failed {check} in {group.count} runs since {_time(group.since)}"
    severity = f" ({group.verdict.severity})"
    return f"{agent}{where} failed {check}{severity}" + (
        f", run {group.count} of this group" if group.count > 1 else ""
    )


def _run(verdict: Verdict, *, excerpts: bool) -> str:
    return f"run {verdict.run_id}: {verdict.reason}" + (f": {verdict.evidence}" if excerpts else "")


def _rest(notice: Notice) -> str:
    more = notice.group.count - len(notice.group.runs)
    return f"\nand {more} more runs" if more > 0 else ""


def _safe(text: str) -> str:
    """Text for Slack, which takes three characters for its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _address(link: str) -> str:
    return link.replace("|", "%7C").replace(">", "%3E").replace("<", "%3C")


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
