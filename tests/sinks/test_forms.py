"""Notices as receivers take them, and what does not leave."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from stream_graders.sinks.forms import Form, SecretError, alertmanager, slack, webhook
from stream_graders.sinks.violations import QUIET_MS, Groups, Notice
from stream_graders.verdicts import Point
from tests.sinks.violations import AT, violation

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef").decode()
SAID = "my card is 4111-1111"


def notices(*runs: str, resolved: bool = False) -> list[Notice]:
    groups, told = Groups(), []
    quoted = {"evidence": f"said {SAID}", "points": (Point(event_id="e1", seq=3, path="content", excerpt=SAID),)}
    for run in runs:
        told += groups.take(violation(run, known=quoted), AT)
    if resolved:
        for run in runs:
            told += groups.take(violation(run, resolved=True, known=quoted), AT + 5)
    return told


def forms(*, excerpts: bool) -> dict[str, Form]:
    return {
        "alertmanager": alertmanager("http://a", excerpts=excerpts),
        "webhook": webhook("http://w", SECRET, excerpts=excerpts),
        "slack": slack("http://s", excerpts=excerpts),
    }


@pytest.mark.parametrize("name", ["alertmanager", "webhook", "slack"])
def test_words_of_a_run_leave_only_where_they_were_asked_for(name: str) -> None:
    told = notices("a", "b", resolved=True)
    silent = b"".join(request.body for request in forms(excerpts=False)[name].put(told, AT))
    assert SAID.encode() not in silent
    assert b"run a" in silent or b'"run_id":"a"' in silent
    open_ = b"".join(request.body for request in forms(excerpts=True)[name].put(told, AT))
    assert SAID.encode() in open_


def alert(notice: Notice, now: int = AT) -> dict[str, Any]:
    (request,) = alertmanager("http://a/", excerpts=False).put([notice], now)
    assert request.url == "http://a/api/v2/alerts"
    (only,) = json.loads(request.body)
    return dict(only)


def test_an_alert_is_one_a_group_and_ends_an_hour_after_the_last_violation() -> None:
    first, second, third = notices("a", "b", "c")
    assert alert(first)["labels"] == alert(third)["labels"]
    assert alert(first)["labels"] == {
        "alertname": "AgentViolation",
        "agent": "support-bot",
        "version": "1.4.2",
        "environment": "production",
        "suite": "support",
        "check": "auth-before-refund",
        "severity": "critical",
        "notify": "page",
        "owner": "payments",
    }
    assert (alert(third)["startsAt"], alert(third)["endsAt"]) == (
        "2027-01-15T08:00:00.000Z",
        "2027-01-15T09:00:00.000Z",
    )
    assert (
        alert(second)["annotations"]["description"] == "run a: not_preceded\nrun b: not_preceded\nrun c: not_preceded"
    )
    assert alert(first)["annotations"]["link_trace"].startswith("https://")
    assert alert(first)["annotations"]["runbook_url"] == "https://wiki.example/runbooks/orders"


def test_an_alert_that_was_taken_back_ends_at_once() -> None:
    resolved = notices("a", resolved=True)[-1]
    assert resolved.kind == "resolved"
    assert alert(resolved, AT + QUIET_MS // 2)["endsAt"] == "2027-01-15T08:00:00.005Z"


def test_a_webhook_can_check_who_sent_it() -> None:
    (request,) = webhook("http://w", SECRET, excerpts=False).put(notices("a"), AT)
    name, at, signature = (request.headers[f"webhook-{part}"] for part in ("id", "timestamp", "signature"))
    signed = hmac.new(b"0123456789abcdef", f"{name}.{at}.".encode() + request.body, hashlib.sha256).digest()
    assert signature == "v1," + base64.b64encode(signed).decode()
    assert at == str(AT // 1000)
    assert json.loads(request.body)["id"] == name


def test_the_same_notice_has_the_same_id_and_another_has_not() -> None:
    form = webhook("http://w", SECRET, excerpts=False)
    ids = [request.headers["webhook-id"] for request in form.put(notices("a", "b", resolved=True), AT)]
    again = [request.headers["webhook-id"] for request in form.put(notices("a", "b", resolved=True), AT + 9_000)]
    assert ids == again
    assert len(set(ids)) == len(ids) == 4


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_kurz", "whsec_???", base64.b64encode(b"0" * 32).decode()])
def test_a_weak_secret_is_refused_and_not_repeated(secret: str) -> None:
    with pytest.raises(SecretError) as refused:
        webhook("http://w", secret, excerpts=False)
    assert not secret or secret == "whsec_" or secret not in str(refused.value)


def test_slack_takes_no_name_for_its_own_signs() -> None:
    groups = Groups()
    (notice,) = groups.take(violation("<!channel> & <http://evil|here>"), AT)
    (request,) = slack("http://s", excerpts=False).put([notice], AT)
    text = json.loads(request.body)["text"]
    assert "&lt;!channel&gt; &amp; &lt;http://evil|here&gt;" in text
    assert text.endswith("|trace>\n<https://wiki.example/runbooks/orders|runbook>")
