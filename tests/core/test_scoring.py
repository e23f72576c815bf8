"""How checks' outcomes become the run's: severity (R50 to R58), weighted, composite (R68, R82, R149 to R152)."""

from typing import Any

import pytest

from stream_graders.scoring.composite import by_mean, mean_score
from stream_graders.scoring.severity import by_severity
from stream_graders.scoring.weighted import by_weight
from stream_graders.verdicts import CheckOutcome, Outcome, Reason


def line(
    outcome: str, score: float | None = None, scale: tuple[float, float] = (0, 1), reason: str = "", name: str = ""
) -> CheckOutcome:
    ends = {"pass": scale[1], "fail": scale[0]}
    told = reason or {"not_graded": "incomplete", "error": "grader_raised", "skipped": "no_canary"}.get(
        outcome, "found"
    )
    value = ends.get(outcome) if score is None else score
    return CheckOutcome(name, "v", "minor", Outcome(outcome), Reason(told), value, scale)


def critical(outcome: str) -> CheckOutcome:
    return CheckOutcome("c", "v", "critical", Outcome(outcome), Reason.FOUND, None)


def info(outcome: str) -> CheckOutcome:
    return CheckOutcome("i", "v", "info", Outcome(outcome), Reason.FOUND, {"pass": 1.0, "fail": 0.0}.get(outcome))


def test_severity() -> None:
    stands: dict[str, Any] = {
        "nothing": ([], "not_graded", "no_checks", None),
        "a critical one failed": ([critical("fail"), line("pass")], "fail", "critical_failed", 0.5),
        "minor ones failed": ([line("fail"), line("fail")], "pass", "critical_passed", 0.0),
        "a critical one has no verdict": ([critical("not_graded"), line("pass")], "not_graded", "unverified", 1.0),
        "only skipped": ([line("skipped")], "skipped", "nothing_applied", None),
        "only info": ([info("fail")], "skipped", "nothing_applied", None),
    }
    for name, (lines, outcome, reason, score) in stands.items():
        stand = by_severity(lines)
        assert (stand.outcome, stand.reason, stand.score) == (outcome, reason, score), name


WEIGHED: dict[str, tuple[list[CheckOutcome], dict[str, float], float | None, tuple[str, str, float | None]]] = {
    "all pass": ([line("pass"), line("pass")], {}, None, ("pass", "all_passed", 1.0)),
    "without a threshold one failure fails": ([line("pass"), line("fail")], {}, None, ("fail", "check_failed", 0.5)),
    "with one the mean counts": ([line("pass"), line("fail")], {}, 0.5, ("pass", "threshold_met", 0.5)),
    "and weights": (
        [line("pass", name="a"), line("fail", name="b")],
        {"a": 1, "b": 3},
        0.5,
        ("fail", "below_threshold", 0.25),
    ),
    "scores on other scales": ([line("pass", 4.0, (0, 5)), line("pass")], {}, 0.9, ("pass", "threshold_met", 0.9)),
    "what is unknown may decide": ([line("pass"), line("not_graded")], {}, 0.6, ("not_graded", "unverified", 1.0)),
    "or may not, upwards": ([line("pass"), line("not_graded")], {}, 0.5, ("pass", "threshold_met", 1.0)),
    "or may not, downwards": ([line("fail"), line("not_graded")], {}, 0.6, ("fail", "below_threshold", 0.0)),
    "an error is told as one": ([line("pass"), line("error")], {}, None, ("error", "degraded", 1.0)),
    "a failure counts beside an error": ([line("fail"), line("error")], {}, None, ("fail", "check_failed", 0.0)),
    "skipped ones count nowhere": ([line("pass"), line("skipped")], {}, None, ("pass", "all_passed", 1.0)),
    "info counts nowhere": ([line("pass"), info("fail")], {}, None, ("pass", "all_passed", 1.0)),
    "nothing graded": ([line("not_graded")], {}, 0.0, ("not_graded", "unverified", None)),
    "nothing applies": ([line("skipped")], {}, 0.0, ("skipped", "nothing_applied", None)),
    "no checks": ([], {}, 0.0, ("not_graded", "no_checks", None)),
}


@pytest.mark.parametrize(("lines", "weights", "threshold", "told"), WEIGHED.values(), ids=list(WEIGHED))
def test_weighted(
    lines: list[CheckOutcome], weights: dict[str, float], threshold: float | None, told: tuple[str, str, float | None]
) -> None:
    stand = by_weight(lines, weights, threshold)
    assert (stand.outcome, stand.reason, stand.score) == told
    assert stand.partially_graded == any(check.outcome in ("not_graded", "error") for check in lines)


MEANS: dict[str, tuple[list[CheckOutcome], float | None, tuple[str, str, float | None, bool]]] = {
    "AE-01: a skip is no zero": (
        [line("pass", 4.0, (0, 5)), line("pass"), line("skipped")],
        None,
        ("pass", "threshold_met", 4.5, False),
    ),
    "AE-02: an error degrades": ([line("pass", 4.0, (0, 5)), line("error")], None, ("error", "degraded", 4.0, True)),
    "below": ([line("pass", 4.0, (0, 5)), line("fail", 2.9, (0, 5))], None, ("fail", "below_threshold", 3.45, False)),
    "a threshold of its own": ([line("fail", 2.0, (0, 5))], 2.0, ("pass", "threshold_met", 2.0, False)),
    "left out on purpose": (
        [line("pass"), line("not_graded", reason="sampled_out"), line("not_graded", reason="moot")],
        None,
        ("pass", "threshold_met", 5.0, False),
    ),
    "not graded for another reason": ([line("pass"), line("not_graded")], None, ("error", "degraded", 5.0, True)),
    "all skipped": ([line("skipped")], None, ("skipped", "nothing_applied", None, False)),
    "info counts nowhere": ([line("pass"), info("fail"), info("error")], None, ("pass", "threshold_met", 5.0, False)),
    "no checks": ([], None, ("not_graded", "no_checks", None, False)),
}


@pytest.mark.parametrize(("lines", "threshold", "told"), MEANS.values(), ids=list(MEANS))
def test_composite(
    lines: list[CheckOutcome], threshold: float | None, told: tuple[str, str, float | None, bool]
) -> None:
    stand = by_mean(lines, threshold)
    assert (stand.outcome, stand.reason, stand.degraded) == (told[0], told[1], told[3])
    assert stand.score == pytest.approx(told[2])


def test_a_gate_leaves_degraded_runs_out() -> None:
    assert mean_score([(5.0, False), (0.5, True), (None, False), (2.0, False)]) == 3.5
    assert mean_score([(5.0, False), (0.5, True)]) == 5.0  # AE-03
    assert mean_score([(0.5, True)]) == 0.0
    assert mean_score([]) == 0.0
