"""Six odd runs (cut-off arguments, arguments that are a list, a result without a call, nothing at all, no end, nothing
expected): no grader fails on them, and each says why it says what it says. docs/odd-inputs.md shows the outcomes."""

import importlib.util
import sys
from pathlib import Path

import pytest

from stream_graders.grading import Grader
from stream_graders.verdicts import Outcome
from tests.core.stories import GRADERS

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("odd_inputs", ROOT / "docs" / "odd_inputs.py")
assert _SPEC is not None
assert _SPEC.loader is not None
odd_inputs = importlib.util.module_from_spec(_SPEC)
sys.modules["odd_inputs"] = odd_inputs
_SPEC.loader.exec_module(odd_inputs)


@pytest.mark.parametrize("column", odd_inputs.COLUMNS)
@pytest.mark.parametrize("grader", GRADERS.values(), ids=list(GRADERS))
def test_an_odd_run_is_no_fault_and_has_a_reason(grader: Grader, column: str) -> None:
    verdict = odd_inputs.said(grader, column)
    if verdict is None:
        return
    assert verdict.outcome is not Outcome.ERROR, verdict.evidence
    assert verdict.reason
    assert verdict.evidence


def test_nothing_expected_is_never_a_pass_unless_nothing_was_to_be_found() -> None:
    passed = {
        name
        for name, grader in odd_inputs.kinds().items()
        if (verdict := odd_inputs.said(grader, odd_inputs.NOTHING)) is not None and verdict.outcome is Outcome.PASS
    }
    # Both have a question without a reference too: any kind of personal data, the rules of a text.
    assert passed == {"datarobot.pii_leakage", "ai_eval.format_grader"}
