"""`vally.tool_calls` and `vally.max_repeat`: what an entry asks of a call, what is open, and what is refused."""

from typing import Any

import pytest

from stream_graders.events import UNSENT, ToolCall, ToolResult
from stream_graders.graders.vally.max_repeat import MaxRepeat
from stream_graders.graders.vally.tool_calls import WAITING, ToolCalls
from stream_graders.grading import Grader
from stream_graders.testing import Story, fed, graded, run, session_of, suite_of
from tests.graders.cases import Case, deciding, holds

STORY = (
    run()
    .starts()
    .calls("validate", {"path": "a.txt"}, step=0)
    .returns("ok")
    .calls("bash", {"command": "npm test -- --ci", "cwd": "/tmp", "n": 3}, step=1)
    .returns({"failed": 0})
    .calls("create_file", {"path": "b.env"}, step=1)
    .returns("created")
    .says("done", step=2)
    .ends()
)

MET: dict[str, dict[str, Any]] = {
    "a name": {"required": ["bash"]},
    "a name that is only a part": {"required": ["create"]},
    "a command": {"required": [{"name": "bash", "command": "npm test"}]},
    "a path": {"required": [{"name": "create", "path": r"\.env$"}]},
    "arguments of any name": {"required": [{"name": "bash", "args": {"cwd": "^/tmp$", "n": "^3$"}}]},
    "all arguments as they are": {"required": [{"name": ".", "pattern": r'"cwd":"/tmp","n":3}$'}]},
    "a result": {"required": [{"name": "validate", "result": "^ok$"}]},
    "a structured result": {"required": [{"name": "bash", "result": '"failed":0'}]},
    "the number of calls": {"required": [{"name": "e", "min_count": 2}]},
    "the last call": {"required": [{"name": "create", "final": True}]},
    "the last call, by its result": {"required": [{"name": ".", "result": "created", "final": True}]},
    "a step": {"required": [{"name": "bash", "at_step": 1}]},
    "an earlier step": {"required": [{"name": "validate", "before_step": 1}]},
    "no call of a kind": {"disallowed": ["rm", {"name": "bash", "command": "rm -rf"}]},
    "no such result": {"disallowed": [{"name": "bash", "result": '"failed":[1-9]'}]},
    "an order": {"sequence": ["validate", {"name": "create", "path": "env"}]},
    "one call for two entries": {"required": ["bash", {"name": "bash"}]},
    "all at once": {"required": ["bash"], "disallowed": ["rm"], "sequence": ["validate", "bash"]},
}


@pytest.mark.parametrize("asked", MET.values(), ids=list(MET))
def test_calls_that_are_met(asked: dict[str, Any]) -> None:
    total = len(asked.get("required", [])) + len(asked.get("disallowed", [])) + ("sequence" in asked)
    holds(ToolCalls(**asked), Case(STORY, "pass", f"all {total} tool call requirement(s) met"))


UNMET: dict[str, tuple[dict[str, Any], str]] = {
    "a name": ({"required": ["^create$"]}, 'required "^create$" was not called'),
    "a command": (
        {"required": [{"name": "bash", "command": "NPM"}]},
        'required "bash" with command "NPM" was not called',
    ),
    "an argument that is not there": (
        {"required": [{"name": "validate", "args": {"cwd": "."}}]},
        'required "validate" with args {"cwd":"."} was not called',
    ),
    "a result": (
        {"required": [{"name": "validate", "result": "^failed"}]},
        'required "validate" with result "^failed" was not called',
    ),
    "the number of calls": (
        {"required": [{"name": "e$", "min_count": 3}]},
        'required "e$" with min_count 3 was called 2 of 3 times',
    ),
    "the last call": (
        {"required": [{"name": "bash", "final": True}]},
        'required "bash" with final true was not the final call',
    ),
    "a step": ({"required": [{"name": "bash", "at_step": 0}]}, 'required "bash" with at_step 0 was not called'),
    "an earlier step": (
        {"required": [{"name": "bash", "before_step": 1}]},
        'required "bash" with before_step 1 was not called',
    ),
    "a forbidden call": (
        {"disallowed": [{"name": "create", "path": r"\.env$"}]},
        r'disallowed "create" with path "\\.env$" was called',
    ),
    "a forbidden result": (
        {"disallowed": [{"name": ".", "result": "created"}]},
        'disallowed "." with result "created" was called',
    ),
    "an order": ({"sequence": ["bash", "validate"]}, 'sequence stops before "validate"'),
    "a call for each entry of a sequence": ({"sequence": ["bash", "bash"]}, 'sequence stops before "bash"'),
    "several": (
        {"required": ["rm", "ls"], "sequence": ["x"]},
        'required "rm" was not called; required "ls" was not called; sequence stops before "x"',
    ),
}


@pytest.mark.parametrize(("asked", "evidence"), UNMET.values(), ids=list(UNMET))
def test_calls_that_are_not_met(asked: dict[str, Any], evidence: str) -> None:
    holds(ToolCalls(**asked), Case(STORY, "fail", evidence))


DECIDING: dict[str, tuple[dict[str, Any], int | None]] = {
    "the last of the required": ({"required": ["validate", "bash"]}, 3),
    "a sequence": ({"sequence": ["validate", "bash"]}, 3),
    "a result": ({"required": [{"name": "bash", "result": "failed"}]}, 4),
    "a forbidden call": ({"required": ["never"], "disallowed": ["bash"]}, 3),
    "a forbidden result": ({"disallowed": [{"name": "bash", "result": "failed"}]}, 4),
    "nothing forbidden": ({"required": ["bash"], "disallowed": ["rm"]}, None),
    "what may not be the final call": ({"required": [{"name": "create", "final": True}]}, None),
}


@pytest.mark.parametrize(("asked", "number"), DECIDING.values(), ids=list(DECIDING))
def test_which_event_decides(asked: dict[str, Any], number: int | None) -> None:
    assert deciding(ToolCalls(**asked), STORY.events[:-1]) == number


def test_a_late_result_of_an_earlier_call_makes_it_no_final_one() -> None:
    story = run().starts().calls("sh", call_id="a").calls("ls", call_id="b")
    story.returns("ok", call_id="a", name=None).ends()
    verdict = graded(ToolCalls([{"name": "sh", "result": "ok", "final": True}]), story)
    assert verdict.evidence == 'required "sh" with result "ok", final true was not the final call'


def test_behind_a_gap_nobody_knows_which_call_a_result_answers() -> None:
    story = run().starts().calls("sh", {"n": 2}, call_id=None).returns("ok", call_id=None)
    story.calls("sh", {"n": 3}, call_id=None).returns("no", call_id=None).ends()
    grader = ToolCalls(disallowed=[{"name": "sh", "args": {"n": "2"}, "result": "no"}])
    assert graded(grader, story).outcome == "pass"
    rest = [event for event in story if event.seq != 2]  # What is left looks as if the first call had returned "no".
    assert graded(grader, rest).outcome == "not_graded"
    assert graded(ToolCalls(disallowed=[{"name": "sh", "result": "no"}]), rest).outcome == "fail"


def test_which_call_a_result_answers_matters_where_a_call_is_asked_for_by_its_place() -> None:
    """Results without ids answer in order: behind a gap this one may be that of a call that is missing."""
    story = run().starts().calls("sh", step=1, call_id=None).calls("sh", step=2, call_id=None)
    story.returns("no", call_id=None).returns("ok", call_id=None).ends()
    rest = [event for event in story if event.seq != 3]
    assert graded(ToolCalls([{"name": "sh", "result": "ok"}]), rest).outcome == "pass"
    for place in ({"final": True}, {"at_step": 1}, {"before_step": 2}, {"args": {"n": "."}}, {"pattern": "."}):
        assert graded(ToolCalls([{"name": "sh", "result": "ok", **place}]), rest).outcome == "not_graded", place


def test_what_was_found_before_the_cut_stands() -> None:
    story = run().starts().calls("sh").returns("ok so far", flags=("truncated",)).ends()
    assert graded(ToolCalls([{"name": "sh", "result": "ok"}]), story).outcome == "pass"
    assert graded(ToolCalls([{"name": "sh", "result": "far"}]), story).outcome == "not_graded"
    assert graded(ToolCalls([{"name": "sh", "result": "no"}]), story).outcome == "not_graded"


def test_without_calls_only_absence_passes() -> None:
    silent = run().starts().says("hm").ends()
    assert graded(ToolCalls(disallowed=["rm"]), silent).outcome == "pass"
    assert graded(ToolCalls(["ls"]), silent).outcome == "fail"
    assert graded(ToolCalls(disallowed=["rm"]), run().says("hm").ends()).reason == "record_unknown"


def test_arguments_as_text_are_read() -> None:
    story = run().starts().calls("sh", '{"command": "ls"}').ends()
    assert graded(ToolCalls([{"name": "sh", "command": "^ls$"}]), story).outcome == "pass"
    raw = run().starts().adds(ToolCall, name="sh", args_raw='{"command": "ls"}').ends()
    assert graded(ToolCalls([{"name": "sh", "command": "^ls$"}]), raw).outcome == "pass"


def unanswered(calls: int) -> Story:
    story = run().starts()
    for _ in range(calls):
        story.calls("sh")
    return story


COMMAND: Any = {"name": "sh", "command": "ls"}
OPEN: dict[str, tuple[Grader, Story]] = {
    "arguments that were not sent": (ToolCalls([COMMAND]), run().starts().calls("sh", UNSENT)),
    "arguments that were cut": (ToolCalls([COMMAND]), run().starts().calls("sh", {}, flags=("truncated",))),
    "arguments that are no object": (ToolCalls([COMMAND]), run().starts().calls("sh", '{"command": "l')),
    "forbidden ones": (ToolCalls(disallowed=[COMMAND]), run().starts().calls("sh", UNSENT)),
    "the next of a sequence": (ToolCalls(sequence=["x", COMMAND]), run().starts().calls("x").calls("sh", UNSENT)),
    "a step without a number": (ToolCalls([{"name": "sh", "at_step": 1}]), run().starts().calls("sh")),
    "the last call": (ToolCalls([{**COMMAND, "final": True}]), run().starts().calls("sh", UNSENT)),
    "a result that was cut": (
        ToolCalls([{"name": "sh", "result": "ok$"}]),
        run().starts().calls("sh").returns("ok", flags=("truncated",)),
    ),
    "a result of nobody knows which call": (
        ToolCalls([{"name": "sh", "result": "ok"}]),
        run().starts().calls("sh", call_id=None).calls("ls", call_id=None).returns("ok", name=None, call_id=None),
    ),
    "more calls than can be waited for": (
        ToolCalls([{"name": "sh", "result": "ok"}]),
        unanswered(WAITING + 1),
    ),
}


@pytest.mark.parametrize(("grader", "story"), OPEN.values(), ids=list(OPEN))
def test_what_nobody_knows_of_a_call_is_not_graded(grader: Grader, story: Story) -> None:
    verdict = graded(grader, story.ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "content_missing")
    assert verdict.evidence.startswith("arguments, results or step numbers of calls were not sent, and could decide: ")


def test_what_is_known_decides_beside_what_is_not() -> None:
    story = run().starts().calls("sh", UNSENT).calls("sh", {"command": "ls"}).ends()
    assert graded(ToolCalls([COMMAND]), story).outcome == "pass"
    assert graded(ToolCalls([COMMAND, "never"]), story).evidence == 'required "never" was not called'
    assert graded(ToolCalls(disallowed=[COMMAND]), story).outcome == "fail"
    assert graded(ToolCalls([{**COMMAND, "min_count": 4}]), story).outcome == "fail"


def test_a_pattern_that_is_not_valid_fails_every_run_and_is_told_before() -> None:
    grader = ToolCalls(["ok"], sequence=["a", {"name": "b", "args": {"c": "(d"}}])
    verdict = graded(grader, run().starts(reports=()).ends())
    assert (verdict.outcome, verdict.evidence) == ("fail", 'invalid pattern "(d": missing ): (d')
    assert grader.warnings() == [("sequence", 'the check will fail every run: pattern "(d": missing ): (d')]
    assert ToolCalls(["ok"]).warnings() == []


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "nothing": ({}, "required", "give an entry at least"),
    "empty lists": ({"required": [], "sequence": []}, "required", "give an entry at least"),
    "a number": ({"required": [5]}, "required", "entry 1 is 5, which should be a tool's name or a mapping"),
    "no name": ({"required": [{"path": "x"}]}, "required", "entry 1 needs a name"),
    "an empty name": ({"disallowed": ["a", ""]}, "disallowed", "entry 2 needs a name"),
    "another key": ({"required": [{"name": "a", "tool": "b"}]}, "required", "entry 1 has tool, which is none of name,"),
    "what no event says": (
        {"disallowed": [{"name": ".", "write_only": True}]},
        "disallowed",
        "entry 1 has write_only, and no event says whether a tool writes",
    ),
    "a number of forbidden calls": (
        {"disallowed": [{"name": "a", "min_count": 2}]},
        "disallowed",
        "entry 1 has min_count, which works in required only",
    ),
    "a result in a sequence": (
        {"sequence": [{"name": "a", "result": "b"}]},
        "sequence",
        "entry 1 has result, which works in required and disallowed only",
    ),
    "a wrong type": (
        {"required": [{"name": "a", "path": 5}]},
        "required",
        "entry 1 has path 5, which should be a pattern",
    ),
    "wrong arguments": ({"required": [{"name": "a", "args": {"b": 1}}]}, "required", "which should be a mapping"),
    "no calls at all": ({"required": [{"name": "a", "min_count": 0}]}, "required", "a whole number from 1 on"),
    "before the first step": ({"required": [{"name": "a", "before_step": 0}]}, "required", "a whole number from 1 on"),
    "a word for a flag": ({"required": [{"name": "a", "final": "yes"}]}, "required", "true or false"),
    "parallel calls": ({"required": ["a"], "parallel": ["b"]}, "parallel", "is not supported"),
    "too many": ({"required": ["a"] * 101}, "required", "at most 100 entries"),
}


@pytest.mark.parametrize(("asked", "setting", "message"), REFUSED.values(), ids=list(REFUSED))
def test_what_cannot_be_asked_is_refused(asked: dict[str, Any], setting: str, message: str) -> None:
    ((where, told),) = ToolCalls(**asked).problems()
    assert where == setting
    assert message in told


def test_it_reads_results_only_where_an_entry_asks_for_one() -> None:
    assert ToolCalls(["a"]).wants() == (ToolCall,)
    assert ToolCalls(["a"], [{"name": "b", "result": "c"}]).wants() == (ToolCall, ToolResult)
    assert ToolCalls([{"name": "b", "result": "c"}]).needs() == {"tools", "results"}


def test_only_what_asks_for_calls_assumes_some() -> None:
    assert ToolCalls(disallowed=["a"]).assumes is None
    assert ToolCalls(["a"]).assumes == ToolCalls(sequence=["a"]).assumes == "the calls are not made"


def test_many_names_and_open_calls_stay_small() -> None:
    session = session_of(suite_of(ToolCalls([{"name": "x", "result": "y"}])))
    story = run().starts()
    for n in range(2_000):
        story.calls(f"x{n}", call_id=None)
    fed(session, story)
    assert len(session.snapshot()) < 20_000


# -- max_repeat --------------------------------------------------------------------------------------------------------


def told(*actions: str) -> Story:
    """Calls of ``tool:argument=result``."""
    story = run().starts()
    for action in actions:
        tool, _, rest = action.partition(":")
        argument, _, result = rest.partition("=")
        story.calls(tool, {"a": argument}).returns(result)
    return story.ends()


REPEATS: dict[str, tuple[MaxRepeat, Story, str, str]] = {
    "the same result": (MaxRepeat(2), told("t:1=x", "t:2=x", "t:3=x"), "fail", "t repeated 3 times in a row exceeds max of 2"),
    "as often as allowed": (MaxRepeat(3), told("t:1=x", "t:2=x", "t:3=x"), "pass", "at most 3 times in a row (within max of 3)"),
    "another result between": (MaxRepeat(1), told("t:1=x", "t:1=y", "t:1=x"), "pass", "at most 1 times in a row (within max of 1)"),
    "another tool with the same": (MaxRepeat(1), told("t:1=x", "u:1=x"), "pass", "at most 1 times in a row (within max of 1)"),
    "the same name": (MaxRepeat(1, "name"), told("t:1=x", "t:2=y"), "fail", "t repeated 2 times in a row exceeds max of 1"),
    "the same arguments": (MaxRepeat(1, "name-args"), told("t:1=x", "t:1=y"), "fail", "t repeated 2 times in a row exceeds max of 1"),
    "other arguments": (MaxRepeat(1, "name-args"), told("t:1=x", "t:2=x"), "pass", "at most 1 times in a row (within max of 1)"),
    "no calls": (MaxRepeat(1), told(), "pass", "at most 0 times in a row (within max of 1)"),
}  # fmt: skip


@pytest.mark.parametrize(("grader", "story", "outcome", "evidence"), REPEATS.values(), ids=list(REPEATS))
def test_repeats(grader: Grader, story: Story, outcome: str, evidence: str) -> None:
    holds(grader, Case(story, outcome, evidence))


def test_arguments_are_the_same_however_they_are_written() -> None:
    story = run().starts().calls("t", {"a": 1, "b": 2}).calls("t", '{"b": 2, "a": 1}').ends()
    assert graded(MaxRepeat(1, "name-args"), story).outcome == "fail"


def test_the_time_that_is_too_many_decides() -> None:
    assert deciding(MaxRepeat(1), told("t:1=x", "t:1=x", "t:1=x")) == 4
    assert deciding(MaxRepeat(1, "name"), told("t:1=x", "t:1=x", "t:1=x")) == 3


def test_what_is_missing_may_have_stood_between() -> None:
    story = told("t:1=x", "u:1=y", "t:1=x")
    rest = [event for event in story if event.seq not in (3, 4)]
    for grader in (MaxRepeat(1), MaxRepeat(1, "name")):
        assert graded(grader, rest).reason == "incomplete"


UNSURE: dict[str, tuple[MaxRepeat, Story]] = {
    "a result that was not sent": (MaxRepeat(1), run().starts().calls("t").returns(UNSENT)),
    "a result that was cut": (MaxRepeat(1), run().starts().calls("t").returns("x", flags=("truncated",))),
    "a result of nobody knows which tool": (MaxRepeat(1), run().starts().returns("x", name=None)),
    "arguments that were not sent": (MaxRepeat(1, "name-args"), run().starts().calls("t", UNSENT)),
}


@pytest.mark.parametrize(("grader", "story"), UNSURE.values(), ids=list(UNSURE))
def test_what_is_the_same_as_nobody_knows_what_is_not_graded(grader: MaxRepeat, story: Story) -> None:
    assert graded(grader, story.ends()).reason == "content_missing"


def test_a_row_has_at_least_one() -> None:
    assert [setting for setting, _ in MaxRepeat(0).problems()] == ["max"]
    assert MaxRepeat(1).problems() == []


def test_what_nobody_knows_breaks_a_row() -> None:
    story = run().starts().calls("a").calls("a", UNSENT).calls("a").ends()
    verdict = graded(MaxRepeat(1, "name-args"), story)
    assert (verdict.outcome, verdict.reason) == ("not_graded", "content_missing")
    assert "what 1 of the tool events hold" in verdict.evidence
    assert graded(MaxRepeat(1, "name"), story).outcome == "fail"


def test_half_a_surrogate_pair_is_compared_like_any_text() -> None:
    story = run().starts().calls("a").returns("\ud83d").calls("a").returns("\ud83d").ends()
    assert graded(MaxRepeat(1), story).outcome == "fail"


def test_a_result_of_nobody_knows_what_may_be_that_of_the_final_call() -> None:
    asked: list[Any] = [{"name": "sh", "result": "ok", "final": True}]
    story = run().starts().calls("ls", call_id=None).calls("sh", call_id=None).returns("ok", name=None, call_id=None)
    assert graded(ToolCalls(asked), story.ends()).outcome == "not_graded"
