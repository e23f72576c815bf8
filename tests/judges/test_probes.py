"""Probes: what holds, what does not and why, and that nothing but what the file allows is ever asked."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import stamina

from stream_graders.answers import read
from stream_graders.graders.ai_eval.droost_state import DroostState
from stream_graders.judges.settings import JudgesError, JudgesFile, load
from stream_graders.judges.work import made
from stream_graders.testing import fed, judged, requests_of, run, session_of, suite_of
from tests.judges.flow import answered, request
from tests.judges.server import Does
from tests.judges.states import StateServer

KINDS = {
    "order": {"path": "/orders/{order}", "field": "status"},
    "item": {"path": "/orders/{order}", "field": "items.id"},
    "page": {"path": "/pages?slug={slug}"},
}
STATE: dict[str, Any] = {
    "/orders/A-17": {"status": "refunded", "paid": 12, "items": [{"id": 1}, {"id": 2}]},
    "/pages?slug=a%20b": {},
}


@pytest.fixture(autouse=True)
def no_waits_between_tries() -> Iterator[None]:
    with stamina.set_testing(True, attempts=2, cap=True):
        yield


def file_of(url: str, **more: Any) -> JudgesFile:
    shop = {"base_url": url, "kinds": KINDS, **more}
    return JudgesFile.model_validate({"probes": {"shop": shop}})


def looked(url: str, *assertions: Any, target: str = "shop", due: int | None = None, **more: Any) -> dict[str, Any]:
    """What looking at assertions gives."""
    asked = request(
        rule="probe", model=target, input={"assertions": json.dumps(assertions)}, **({"due": due} if due else {})
    )
    (answer,), work = answered(file_of(url, **more), [asked])
    work.close()
    told: dict[str, Any] = answer
    return told


def cause(url: str, assertion: dict[str, Any], **more: Any) -> str | None:
    """Why one assertion does not hold; None if it does."""
    found = looked(url, {"id": "a", **assertion}, **more)["results"]["a"]
    assert found["ok"] is ("cause" not in found)
    told: str | None = found.get("cause")
    return told


CASES: dict[str, tuple[dict[str, Any], str | None]] = {
    "a field as expected": ({"kind": "order", "order": "A-17", "expected": "refunded"}, None),
    "a field that differs": (
        {"kind": "order", "order": "A-17", "expected": "paid"}, 'status is "refunded", expected "paid"',
    ),
    "one of a list": ({"kind": "item", "order": "A-17", "expected": 2}, None),
    "none of a list": ({"kind": "item", "order": "A-17", "expected": 3}, "items.id is 1, expected 3"),
    "nothing there": ({"kind": "order", "order": "B", "expected": "paid"}, "it is not there"),
    "there": ({"kind": "page", "slug": "a b"}, None),
    "not there": ({"kind": "page", "slug": "c"}, "it is not there"),
    "not there, as expected": ({"kind": "page", "slug": "c", "expected": False}, None),
    "there, and should not be": ({"kind": "page", "slug": "a b", "expected": False}, "it is there"),
    "another kind": ({"kind": "drop", "order": "A-17"}, "its kind is not on the allow list"),
    "no kind": ({"order": "A-17"}, "its kind is not on the allow list"),
    "nothing to put into the path": ({"kind": "order"}, "has no order that can be asked about"),
    "no text": ({"kind": "order", "order": ["A-17"]}, "has no order that can be asked about"),
    "a climb": ({"kind": "order", "order": ".."}, "has no order that can be asked about"),
    "a very long one": ({"kind": "order", "order": "9" * 201}, "has no order that can be asked about"),
}  # fmt: skip


@pytest.mark.parametrize(("assertion", "why"), CASES.values(), ids=list(CASES))
def test_what_holds_and_why_another_does_not(assertion: dict[str, Any], why: str | None) -> None:
    with StateServer(STATE) as server:
        assert cause(server.url, assertion) == why


def test_another_target_is_not_asked() -> None:
    with StateServer(STATE) as server:
        assertion = {"id": "a", "kind": "order", "order": "A-17", "expected": "refunded"}
        found = looked(server.url, assertion, target="bank")
        assert found["results"] == {"a": {"ok": False, "cause": "its target is not on the allow list"}}
        assert server.asked == []


@pytest.mark.parametrize("value", ["x/../../admin", "x?all=1", "x#y", "x%2f..", "\u202e\n", "a&b=c", "//evil"])
def test_whatever_a_run_names_stays_within_its_place_of_the_path(value: str) -> None:
    with StateServer({}) as server:
        cause(server.url, {"kind": "order", "order": value})
        ((method, path, _),) = server.asked
        assert method == "GET"
        assert path.startswith("/orders/")
        assert not set(path.removeprefix("/orders/")) & set("/?#&=\n ")


FAULTS: dict[str, tuple[Any, str | None, int]] = {
    "busy, then there": ([Does(503), Does(200, {"status": "refunded"})], None, 2),
    "always busy": (Does(503), "the target answered with HTTP 503", 2),
    "not allowed": (Does(403), "the target answered with HTTP 403", 1),
    "elsewhere": (Does(302, headers={"Location": "http://127.0.0.1:9/x"}), "the target answered with HTTP 302", 1),
    "a page": (Does(200, b"<html>"), "the target answered with no JSON", 1),
    "deep": (Does(200, b"[" * 60_000), "the target answered with no JSON", 1),
    "long": (Does(200, b'"' + b"x" * 70_000 + b'"'), "the target answered with more than 64 kB", 1),
    "packed": (
        Does(200, gzip.compress(b" " * 90_000_000, 1), headers={"Content-Encoding": "gzip"}),
        "the target answered with more than 64 kB",
        1,
    ),
    "hanging": (Does(waits=threading.Event()), "the target did not answer in time", 2),
    "no field": ({"other": 1}, "status is not there", 1),
}


@pytest.mark.parametrize(("does", "why", "times"), FAULTS.values(), ids=list(FAULTS))
def test_a_target_that_fails_fails_its_assertion(does: Any, why: str | None, times: int) -> None:
    does = list(does) if isinstance(does, list) else does
    with StateServer({"/orders/A-17": does}) as server:
        told = {"kind": "order", "order": "A-17", "expected": "refunded"}
        assert (cause(server.url, told, timeout="300ms"), len(server.asked)) == (why, times)


def test_a_target_that_is_away_fails_its_assertion() -> None:
    with StateServer({}) as server:
        url = server.url
    why = cause(url, {"kind": "page", "slug": "a"})
    assert why is not None
    assert why.startswith("the target could not be asked (")


def test_the_deadline_of_the_request_ends_a_look() -> None:
    with StateServer({"/orders/A-17": Does(waits=threading.Event())}) as server:
        due = round(time.time() * 1000) + 1_500
        answer = looked(server.url, {"id": "a", "kind": "order", "order": "A-17"}, due=due, timeout="30s")
    assert (answer["status"], answer["code"]) == ("error", "deadline")


def test_of_two_assertions_under_one_id_both_have_to_hold() -> None:
    good, bad = ({"id": "a", "kind": "order", "order": order, "expected": "refunded"} for order in ("A-17", "B"))
    with StateServer(STATE) as server:
        for told in ((good, bad), (bad, good)):
            assert looked(server.url, *told)["results"]["a"]["ok"] is False


def test_a_key_goes_to_the_target_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    with StateServer(STATE) as server:
        file = file_of(server.url, key_variable="SHOP_KEY")
        with pytest.raises(JudgesError, match=r"probes\.shop: the variable SHOP_KEY is not set"):
            made(file)
        monkeypatch.setenv("SHOP_KEY", "s3cret")
        answer = looked(server.url, {"id": "a", "kind": "page", "slug": "c"}, key_variable="SHOP_KEY")
        assert server.asked[0][2] == "Bearer s3cret"
        assert "s3cret" not in json.dumps(answer)


def test_what_was_looked_at_is_counted_without_a_name_that_a_run_gave() -> None:
    with StateServer(STATE) as server:
        told = [{"id": "a", "kind": "page", "slug": "a b"}, {"id": "b", "kind": "page", "slug": "c"}, {"id": "c"}]
        asked = [
            request(rule="probe", model=name, input={"assertions": json.dumps(told)}) for name in ("shop", "ü" * 90)
        ]
        _, work = answered(file_of(server.url), asked)
        work.close()
    found = {
        (sample.labels["target"], sample.labels["outcome"]): sample.value
        for sample in work.metrics.looks.collect()[0].samples
    }
    assert found == {
        ("shop", "holds"): 1, ("shop", "does_not_hold"): 1, ("shop", "not_allowed"): 1, ("other", "not_allowed"): 3,
    }  # fmt: skip


REFUSED: dict[str, tuple[str, str]] = {
    "nobody to ask": ("folder: x", "nobody to ask"),
    "a path that climbs": ('probes: {s: {base_url: "http://h", kinds: {k: {path: "/a/../{b}"}}}}', "probes.s.kinds.k.path"),
    "an odd brace": ('probes: {s: {base_url: "http://h", kinds: {k: {path: "/a/{b-c}"}}}}', "probes.s.kinds.k.path"),
    "no path": ('probes: {s: {base_url: "http://h", kinds: {k: {path: "a"}}}}', "probes.s.kinds.k.path"),
    "no field": ('probes: {s: {base_url: "http://h", kinds: {k: {path: "/a", field: "a["}}}}', "probes.s.kinds.k.field"),
    "no address": ('probes: {s: {base_url: "file:///etc", kinds: {k: {path: "/a"}}}}', "probes.s.base_url"),
    "a key in the address": ('probes: {s: {base_url: "http://u:p@h", kinds: {k: {path: "/a"}}}}', "probes.s.base_url"),
    "no kinds": ('probes: {s: {base_url: "http://h", kinds: {}}}', "probes.s.kinds"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "place"), REFUSED.values(), ids=list(REFUSED))
def test_a_file_that_allows_something_odd_is_refused(tmp_path: Any, text: str, place: str) -> None:
    path = tmp_path / "judges.yaml"
    path.write_text(text)
    with pytest.raises(JudgesError, match=place):
        load(path)


# -- the check ---------------------------------------------------------------------------------------------------------

SPEC = {"target": "shop", "assertions": [{"id": "a", "kind": "order", "order": "A-17"}, {"id": "b", "tier": "ui"}]}
DONE = list(run().starts().asks("Refund A-17.").says("Done.").ends())


def test_a_complete_run_asks_for_one_look_at_its_target() -> None:
    (asked,) = requests_of(fed(session_of(suite_of(DroostState(SPEC)), "run-1"), DONE))
    assert (asked.rule, asked.model, asked.budget) == ("probe", "shop", {})
    assert json.loads(asked.input["assertions"]) == SPEC["assertions"]


ANSWERS: dict[str, tuple[Any, str, float | None, str]] = {
    "all hold": ({"status": "looked", "results": {"a": {"ok": True}, "b": {"ok": True}}}, "pass", 5.0, "2 of 2 assertions hold"),
    "one does not": (
        {"status": "looked", "results": {"a": {"ok": False, "cause": "it is not there"}, "b": {"ok": True}}},
        "fail", 0.0, "1 of 2 assertions hold\nFAIL a: it is not there\nPASS b (ui)",
    ),
    "one was not looked at": (
        {"status": "looked", "results": {"a": {"ok": True}}}, "fail", 0.0, "1 of 2 assertions hold\nPASS a\nFAIL b (ui): nothing answered",
    ),
    "nothing came back": ({"status": "looked", "results": {}}, "fail", 0.0, "setup failed: the probes returned nothing"),
    "only yes": ({"status": "looked", "results": {"a": True, "b": "true"}}, "fail", 0.0, "0 of 2"),
    "1 is not true": ({"status": "looked", "results": {"a": {"ok": 1}, "b": {"ok": True}}}, "fail", 0.0, "1 of 2 assertions hold\nFAIL a"),
    "no time": ({"status": "error", "code": "deadline", "reason": "there was none"}, "error", None, "deadline: there was none"),
    "a score": ({"status": "scored", "score": 5}, "error", None, "malformed: "),
    "no form": ({"status": "looked", "results": [1]}, "error", None, "malformed: "),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "outcome", "score", "evidence"), ANSWERS.values(), ids=list(ANSWERS))
def test_what_an_answer_makes_of_the_check(answer: Any, outcome: str, score: float | None, evidence: str) -> None:
    verdict = judged(DroostState(SPEC), DONE, answer)
    assert (verdict.outcome, verdict.score) == (outcome, score)
    assert verdict.evidence.startswith(evidence)


def test_a_specification_without_bound_is_a_fault_of_the_setup() -> None:
    for assertions in ([{"id": str(n)} for n in range(101)], [{"id": "x" * 64_001}]):
        story = requests_of(fed(session_of(suite_of(DroostState({"assertions": assertions})), "run-1"), DONE))
        assert story == []


def test_more_results_than_may_be_asked_for_are_no_answer() -> None:
    answer = read({"status": "looked", "results": {str(n): {"ok": True} for n in range(101)}})
    assert (answer.status, answer.results) == ("error", None)
