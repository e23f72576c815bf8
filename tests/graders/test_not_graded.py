"""What keeps a check from a verdict is said, and how much of it there is."""

from collections.abc import Callable, Iterable

import pytest

from stream_graders.events import UNSENT, Event
from stream_graders.graders.agentlasso.llm_judge import LlmJudge
from stream_graders.graders.agentlasso.tool_called import ToolCalled
from stream_graders.graders.ai_eval.accuracy_grader import AccuracyGrader
from stream_graders.graders.ai_eval.droost_state import DroostState
from stream_graders.graders.ai_eval.fact_match_grader import FactMatchGrader
from stream_graders.graders.trajectory.argument_from import ArgumentFrom
from stream_graders.graders.trajectory.bad_end import BadEnd
from stream_graders.graders.trajectory.budget import Budget
from stream_graders.graders.trajectory.match import Match
from stream_graders.graders.trajectory.repeated_call import RepeatedCall
from stream_graders.graders.trajectory.responds_within import RespondsWithin
from stream_graders.graders.trajectory.retried_same_error import RetriedSameError
from stream_graders.graders.trajectory.tool_errors import ToolErrors
from stream_graders.graders.trajectory.total import Total
from stream_graders.graders.trajectory.unseen_argument import UnseenArgument
from stream_graders.graders.trajectory.write_without_lookup import WriteWithoutLookup
from stream_graders.graders.trajectory.writes_equal import WritesEqual
from stream_graders.graders.vally.max_repeat import MaxRepeat
from stream_graders.graders.vally.step_count import StepCount
from stream_graders.graders.vally.token_budget import TokenBudget
from stream_graders.grading import Grader
from stream_graders.testing import EPOCH, Story, fed, graded, requests_of, run, session_of, suite_of

ALIKE = "with the same arguments and the same result"


def stray(*results: str) -> Story:
    """Results that answer no call and name no tool."""
    story = run().starts().calls("a", call_id="a").returns("ok", call_id="a", is_error=False)
    for number, result in enumerate(results):
        story.returns(result, name=None, call_id=f"x{number}")
    return story.ends()


def unsent(*tools: str, is_error: bool = False) -> Story:
    """Calls whose arguments were not sent."""
    story = run().starts()
    for tool in tools:
        story.calls(tool, UNSENT).returns("Error: no" if is_error else "ok", is_error=is_error)
    return story.ends()


def waiting(calls: int) -> Story:
    """Calls whose results never come."""
    story = run().starts()
    for number in range(calls):
        story.calls("a", {"n": number})
    return story.ends()


CASES: dict[str, tuple[Callable[[], Grader], Iterable[Event], str, str]] = {
    "two replies at the time of their questions": (
        lambda: RespondsWithin(5),
        run(ts=EPOCH).asks("a").says("b").asks("c").says("d"),
        "not_measured",
        "the times of 2 reply(s) cannot be compared with those of the messages before",
    ),
    "no messages": (
        lambda: RespondsWithin(5),
        run().starts(reports=("tools", "end")).ends(),
        "content_missing",
        "the run does not report its messages",
    ),
    "two messages without their tokens": (
        lambda: TokenBudget(9),
        run().asks("a").says("b").says("c", usage={"total": 0}).says("d").ends(),
        "content_missing",
        "2 assistant message(s) report no usage, nor does the run's end",
    ),
    "two events without a step": (
        lambda: StepCount(9),
        run().starts().asks("a").calls("t").says("b").says("c", step=1).ends(),
        "content_missing",
        "2 of the agent's events have no step number, so the 1 known are not all",
    ),
    "the end of a run that does not say how": (
        BadEnd,
        run().starts().says("a").ends(status="unknown"),
        "end_unknown",
        "the run does not say how it ended",
    ),
    "more writes than can be waited for": (
        lambda: WritesEqual(["a"], ["a"]),
        waiting(66),
        "state_limit",
        "2 write(s) had to be forgotten before their results came",
    ),
    "more calls than can be waited for": (
        lambda: RetriedSameError(None),
        waiting(66),
        "state_limit",
        "2 calls had to be forgotten before their results came; of the others no call was made again at once and failed alike",
    ),
    "writes without their arguments": (
        lambda: WritesEqual(["a", "b"], [{"tool": "a", "args": {"x": 1}}]),
        unsent("a", "b", "c"),
        "content_missing",
        "the arguments of 2 successful write(s) were not sent",
    ),
    "results that may be those of writes": (
        lambda: WritesEqual(["a"], ["a"]),
        stray("ok", "ok"),
        "unpaired",
        "2 result(s) answer no known call, and may be those of writes",
    ),
    "a reference of too many writes": (
        lambda: WritesEqual(["a"], ["a"] * 101),
        run().starts().ends(),
        "state_limit",
        "the reference has 101 writes, and at most 100 are remembered",
    ),
    "a reference that is none": (
        lambda: WritesEqual(["a"], [1]),
        run().starts().ends(),
        "bad_reference",
        "the reference cannot be read: entry 1 is neither a mapping nor a tool's name",
    ),
    "expected calls that are none": (
        lambda: Match([{}]),
        run().starts().ends(),
        "bad_reference",
        "the expected calls cannot be read: entry 1 names no tool",
    ),
    "too many expected calls": (
        lambda: Match(["a"] * 61),
        run().starts().ends(),
        "state_limit",
        "more than 60 calls are expected",
    ),
    "expected calls without their arguments": (
        lambda: Match([{"tool": "a", "args": {"x": 1}}]),
        unsent("a", "a"),
        "content_missing",
        "the arguments of 2 call(s) of expected tools were not all sent",
    ),
    "calls that may be the same": (
        lambda: RepeatedCall(2),
        unsent("a", "b"),
        "content_missing",
        f"the arguments of 2 call(s) were not sent; of the others no call was made 2 times {ALIKE}",
    ),
    "results that may be the same": (
        lambda: RepeatedCall(2),
        stray("x", "y"),
        "unpaired",
        f"2 result(s) answer no known call; of the others no call was made 2 times {ALIKE}",
    ),
    "failed calls that may be the same": (
        RetriedSameError,
        unsent("a", "a", is_error=True),
        "content_missing",
        "the arguments of 2 call(s) were not sent; of the others no call was made again at once and failed alike",
    ),
    "failures of nobody knows what": (
        RetriedSameError,
        stray("Error: no", "Error: no"),
        "unpaired",
        "2 failed result(s) answer no known call; of the others no call was made again at once and failed alike",
    ),
    "results of nobody knows what": (
        lambda: ToolErrors(1, tools=["a"]),
        stray("x", "y"),
        "unpaired",
        "2 result(s) name no tool and answer no known call; so far: 0 of 1 tool results of a are errors",
    ),
    "results that may be errors": (
        lambda: ToolErrors(1),
        run().starts().calls("a").returns(UNSENT).calls("a").returns(UNSENT).calls("a").returns("ok").ends(),
        "content_missing",
        "of 2 result(s) it is not known whether they are errors; so far: 0 of 3 tool results are errors",
    ),
    "amounts that are none": (
        lambda: Total("a", "x", max=9),
        run().starts().calls("a", {"x": "many"}).calls("a", {"x": 4}).calls("a", {}).ends(),
        "not_measured",
        "the x of 2 call(s) is not known as a number; so far: a: x adds up to 4",
    ),
    "what was not sent may repeat": (
        lambda: MaxRepeat(1, "name-args"),
        unsent("a", "b"),
        "content_missing",
        "what 2 of the tool events hold was not sent or was cut; so far at most 0 times in a row (within max of 1)",
    ),
    "a result of a call that may be meant": (
        lambda: ToolCalled("a", "error"),
        run()
        .starts()
        .calls("a", call_id=None)
        .calls("b", call_id=None)
        .returns("x", name=None, call_id=None, is_error=True)
        .ends(),
        "content_missing",
        "a result with status error names no tool, so it may be that of a",
    ),
    "values that were not sent": (
        lambda: ArgumentFrom("pay", "order", "find", "id"),
        run().starts().calls("find").returns(UNSENT).calls("pay", {"order": "A"}).ends(),
        "content_missing",
        'not all values are known; so far: pay: argument order: expected a value at id of an earlier result of find, got "A"',
    ),
    "an argument that was not sent": (
        lambda: UnseenArgument(["pay"]),
        unsent("pay"),
        "content_missing",
        "its arguments were not all sent; so far: pay",
    ),
    "a write whose arguments were not sent": (
        lambda: WriteWithoutLookup(["pay"], ["find"], ["order"]),
        unsent("pay"),
        "content_missing",
        "its arguments were not all sent; so far: pay",
    ),
    "a lookup of nobody knows what": (
        lambda: WriteWithoutLookup(["pay"], ["find"], ["order"]),
        run()
        .starts()
        .calls("find", call_id="f")
        .returns("A", name=None, call_id="x")
        .calls("pay", {"order": "ORD-9"})
        .ends(),
        "content_missing",
        'a result names no tool; so far: pay: order "ORD-9" was in no earlier lookup',
    ),
    "neither tokens nor cost": (
        lambda: Budget(max_tokens=5, max_cost=1),
        run().starts().says("a").ends(),
        "not_measured",
        "the run does not carry all tokens and cost",
    ),
    "no judge of a criterion": (
        lambda: LlmJudge("is kind"),
        run().says("a").ends(),
        "no_judge",
        "no judge has answered",
    ),
    "no judge of accuracy": (
        lambda: AccuracyGrader("a"),
        run().says("a").ends(),
        "no_judge",
        "no judge has answered",
    ),
    "no judge of facts": (
        lambda: FactMatchGrader(expected_facts=["a"]),
        run().says("a").ends(),
        "no_judge",
        "no judge has answered",
    ),
    "no probe": (
        lambda: DroostState({"assertions": [{"id": "a"}]}),
        run().says("a").ends(),
        "no_probe",
        "no probe has looked at the state",
    ),
}


@pytest.mark.parametrize(("grader", "story", "reason", "evidence"), CASES.values(), ids=list(CASES))
def test_what_is_not_known_is_told(
    grader: Callable[[], Grader], story: Iterable[Event], reason: str, evidence: str
) -> None:
    verdict = graded(grader(), story)
    assert (verdict.outcome, verdict.reason, verdict.evidence) == ("not_graded", reason, evidence)


def test_nobody_is_asked_about_a_run_that_lacks_events() -> None:
    events = [event for event in run().starts().says("a").says("b").ends() if event.seq != 1]
    for grader in (LlmJudge("is kind"), AccuracyGrader("a"), FactMatchGrader(expected_facts=["a"])):
        effects = fed(session_of(suite_of(grader)), events, step=60_000)
        assert requests_of(effects) == []
        assert graded(grader, events).reason == "incomplete"
    assert graded(FactMatchGrader(), events).reason == "no_reference"
