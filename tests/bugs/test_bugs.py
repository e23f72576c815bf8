"""What public bug reports describe does not happen here.

``SG_BUGS=FILE`` runs the records of another file of the same form. Records with ``steps`` are stories of the stream and
the judges, told in ``tests/integration``; those with ``delta`` events belong to telemetry adapters.
"""

from typing import Any

import pytest
from pydantic import ValidationError

from stream_graders.catalogue import grader_named
from stream_graders.suites import Check
from stream_graders.testing import fed, graded, requests_of, session_of, suite_of
from stream_graders.verdicts import Verdict
from tests.vectors.sources import BUG_GRADERS, bug_events, grader_of, lines, options_we_lack

BUGS = lines("SG_BUGS", "bugs.jsonl")


def graders(bug: dict[str, Any]) -> list[dict[str, Any]]:
    return [bug["grader"]] if isinstance(bug["grader"], dict) else list(bug["grader"])


def why_later(bug: dict[str, Any]) -> str | None:
    """Why a record cannot run yet."""
    if "steps" in bug:
        return "a story of the stream or of the judges"
    if any(event["kind"] in ("delta", "message_end") for event in bug["events"]):
        return "streamed pieces, for a telemetry adapter"
    missing = [g["type"] for g in graders(bug) if grader_named(BUG_GRADERS.get(g["type"], g["type"])) is None]
    return f"no grader yet: {', '.join(missing)}" if missing else None


READY = [bug for bug in BUGS if why_later(bug) is None]
LATER = {bug["id"]: reason for bug in BUGS if (reason := why_later(bug)) is not None}
"""The records that cannot run yet, by id: the one place that lists them."""

DECIDED = {
    "BUG-12": ("fail", "in the source families the order of the record counts, also within a step"),
    "BUG-42": ("pass", "a reply is parsed as it is, so the option to take off a fence would change nothing"),
    "BUG-35": ("fail", "the source families lower both sides, as their own code does"),
}
"""Records whose expectation a decision of ours replaces."""

OUTCOMES = {
    "not graded": "not_graded",
    "inconclusive": "skipped",
    "timed out": "not_graded",
    "fail with hint": "fail",
    "config error": "refused",
}
OPPOSITE = {"pass": "fail", "fail": "pass"}


def expected(bug: dict[str, Any], place: int, foreign: set[str]) -> str:
    """The outcome that a record asks of one of its graders."""
    if bug["id"] in DECIDED:
        return DECIDED[bug["id"]][0]
    expect = bug["expect"]
    verdict = expect["verdict"]
    verdict = verdict[place] if isinstance(verdict, list) else verdict
    if foreign:
        # An option that we do not have: the outcome of the plain rule counts, which the option was to change.
        plain = next(
            (expect[key] for key in ("plain", *(f"without_{name}" for name in foreign)) if key in expect), None
        )
        verdict = plain or OPPOSITE[verdict]
    return OUTCOMES.get(verdict, str(verdict))


def outcome(bug: dict[str, Any], options: dict[str, Any]) -> tuple[str, Verdict | None, set[str]]:
    try:
        grader, foreign = grader_of(BUG_GRADERS[options["type"]], options)
    except ValidationError:
        return "refused", None, options_we_lack(BUG_GRADERS[options["type"]], options)
    if grader is None:
        return "refused", None, foreign
    check = Check("check", grader, options.get("severity", "critical"), turn=options.get("turn"))
    verdict = graded(check, bug_events(bug))
    return str(verdict.outcome), verdict, foreign


CASES = [(bug, place) for bug in READY for place in range(len(graders(bug)))]


@pytest.mark.parametrize(("bug", "place"), CASES, ids=[f"{bug['id']}-{place}" for bug, place in CASES])
def test_a_reported_bug_does_not_happen_here(bug: dict[str, Any], place: int) -> None:
    found, verdict, foreign = outcome(bug, graders(bug)[place])
    if found == "refused" and foreign:
        return  # An option that we do not have stands in place of a setting that we need: nobody can write this check.
    if "digest_has" in bug["expect"]:
        grader, _ = grader_of(BUG_GRADERS[graders(bug)[place]["type"]], graders(bug)[place])
        assert grader is not None
        [request] = requests_of(fed(session_of(suite_of(grader), "r"), bug_events(bug)))
        for part in bug["expect"]["digest_has"]:
            assert part in request.input["criteria"]
        return
    assert found == expected(bug, place, foreign), verdict and verdict.evidence
    if verdict is not None:
        for part in bug["expect"].get("evidence_has", ()):
            assert part.lower() in verdict.evidence.lower()
        for secret in bug["expect"].get("nowhere", ()):
            assert secret not in str(verdict)
        if "final_at_seq" in bug["expect"]:
            assert verdict.decided_by is not None
            assert verdict.decided_by.seq == bug["expect"]["final_at_seq"] + 1  # Our run starts with an event more.


def test_the_records_that_cannot_run_yet_are_listed() -> None:
    assert set(LATER) | {bug["id"] for bug in READY} == {bug["id"] for bug in BUGS}
    print("later:", LATER)
