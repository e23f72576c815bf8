"""The pre-screen puts questions in order and leaves a note; it is no score, stops nothing, and the model in it is real."""

import asyncio
import logging
import threading
import time
from typing import Any

import pytest

from stream_graders.graders.ai_eval.accuracy_grader import AccuracyGrader
from stream_graders.graders.ai_eval.fact_match_grader import FactMatchGrader
from stream_graders.graders.ai_eval.groundedness_grader import GroundednessGrader
from stream_graders.graders.ai_eval.relevance_grader import RelevanceGrader
from stream_graders.graders.datarobot.faithfulness import Faithfulness
from stream_graders.grading import Grader
from stream_graders.judges import prescreen, work
from stream_graders.judges.limits import Slots, Turn
from stream_graders.judges.minilm import AbsentError, load
from stream_graders.judges.prescreen import Scorer, sentences, source_of
from stream_graders.judges.settings import JudgesError, JudgesFile
from stream_graders.testing import fed, judged, requests_of, run, session_of, suite_of
from stream_graders.verdicts import JudgeRequest, Outcome
from tests.conftest import unavailable
from tests.judges.flow import SHOWN, answered, file_of, one, request
from tests.judges.server import Body, Does, ScriptedServer, always, scores, slot

# -- the order -------------------------------------------------------------------------------------------------------------


async def order(turns: dict[str, Turn], before: str = "", after: str = "") -> str:
    """The names of those who wait for one slot, in the order in which they get it.

    Some are cancelled just before the slot is given to the first, or just after, when nobody has noticed yet.
    """
    slots, found = Slots(1, clock=lambda: 1_000.0), []
    await slots.acquire(Turn())

    async def wait(name: str) -> None:
        await slots.acquire(turns[name])
        found.append(name)
        await asyncio.sleep(0)
        slots.release()

    tasks = {}
    for name in turns:
        tasks[name] = asyncio.create_task(wait(name))
        await asyncio.sleep(0)
    for name in before:
        tasks[name].cancel()
    slots.release()
    for name in after:
        tasks[name].cancel()
    await asyncio.gather(*tasks.values(), return_exceptions=True)
    await asyncio.wait_for(slots.acquire(Turn()), 1)  # Whatever befell them, the slot is free again.
    return "".join(found)


def places(**grounded: float | None) -> dict[str, Turn]:
    return {name: Turn(grounded=value) for name, value in grounded.items()}


def test_the_least_grounded_goes_first_and_who_has_no_source_keeps_its_turn() -> None:
    assert asyncio.run(order(places(a=0.9, b=None, c=0.1, d=0.5, e=None))) == "cbdae"
    assert asyncio.run(order(places(a=None, b=None, c=None))) == "abc"
    assert asyncio.run(order(places(a=0.5, b=0.5, c=0.5))) == "abc"


def test_whoever_is_near_its_deadline_lets_nobody_go_first_any_more() -> None:
    turns = places(a=0.9, b=0.1, c=None, d=0.8, e=0.2)
    turns["d"].urgent_at, turns["a"].urgent_at = 990.0, 999.0
    assert asyncio.run(order(turns)) == "dabce"


@pytest.mark.parametrize("names", ["c", "a", "ca", "abcd"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_who_is_cancelled_leaves_the_line_and_takes_no_slot_along(names: str, when: str) -> None:
    turns = places(a=0.9, b=None, c=0.1, d=0.5)
    assert set(asyncio.run(order(turns, **{when: names}))) == set("abcd") - set(names)


# -- the judge ---------------------------------------------------------------------------------------------------------------


def grounded(n: int, **known: Any) -> JudgeRequest:
    """A question with a source; its reply is ``Gate n.``."""
    shown = {**SHOWN, "response": f"Gate {n}.", "criteria": "GROUND TRUTH (verified)\n- It leaves from gate 4."}
    return request(n, **{"grader": "ai_eval.fact_match_grader", "input": shown, **known})


def screened(monkeypatch: pytest.MonkeyPatch, scorer: Scorer, server: ScriptedServer, **model: Any) -> JudgesFile:
    """A judges' file whose pre-screen is this."""
    monkeypatch.setattr(work, "load", lambda: scorer)
    return JudgesFile(models=file_of(server, **model).models, prescreen="minilm")


def by_number(source: list[str], reply: list[str]) -> float:
    """Of a test's own: the reply's number is its score, in tenths."""
    assert source == ["It leaves from gate 4."]
    return int(reply[0].removeprefix("Gate ").rstrip(".")) / 10


def test_of_those_who_wait_the_least_grounded_is_asked_first_and_the_note_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = threading.Event()
    requests = [request(0), grounded(9), request(50), grounded(2), grounded(5)]

    def script(n: int, body: Body) -> Does:
        if n == 0:  # It holds the one slot until the others are in line, and looked at.
            threading.Timer(0.5, go.set).start()
        return Does(body=scores(4).body, waits=go)

    with ScriptedServer(script) as server:
        answers, made = answered(screened(monkeypatch, by_number, server, at_once=1), requests)
        replies = [slot(prompt, "agent_response") for prompt in server.prompts()]
    made.close()
    assert replies == ["Gate 0.", "Gate 2.", "Gate 50.", "Gate 5.", "Gate 9."]
    assert [answer["judge"].get("prescreen") for answer in answers] == [None, 0.9, None, 0.2, 0.5]
    assert [answer["score"] for answer in answers] == [4.0] * 5


def test_a_budget_without_room_leaves_the_note_and_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedServer(always(scores(4))) as server:
        answer = one(screened(monkeypatch, by_number, server), grounded(3, budget={"calls": 0}))
        assert (answer["status"], answer["code"], server.asked) == ("not_graded", "budget", [])
    assert (answer["judge"]["prescreen"], answer.get("score")) == (0.3, None)
    story = run().starts().asks("Which gate?").says("Gate 3.").ends()
    verdict = judged(FactMatchGrader(expected_facts="It leaves from gate 4."), story, answer)
    assert (verdict.outcome, verdict.score) == (Outcome.NOT_GRADED, None)
    assert verdict.judge is not None
    assert verdict.judge["prescreen"] == 0.3


def test_an_answer_does_not_wait_long_for_its_note(monkeypatch: pytest.MonkeyPatch) -> None:
    go, looked_at = threading.Event(), list[str]()

    def slow(source: list[str], reply: list[str]) -> float:
        looked_at.extend(reply)
        go.wait(20)
        return 0.5

    monkeypatch.setattr(prescreen, "NOTED_WITHIN", 0.1)
    with ScriptedServer(always(scores(4))) as server:
        begun = time.monotonic()
        answers, made = answered(screened(monkeypatch, slow, server), [grounded(n) for n in range(3)])
        assert time.monotonic() - begun < 10
    go.set()
    made.prescreen._thread.submit(lambda: None).result(20)
    made.close()
    assert len(looked_at) == 1, "what has its answer is not looked at any more"
    assert [answer["score"] for answer in answers] == [4.0] * 3
    assert not any("prescreen" in answer["judge"] for answer in answers)


def test_one_question_at_a_time_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once, most = 0, 0

    def scorer(source: list[str], reply: list[str]) -> float:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.02)
        at_once -= 1
        return 0.5

    with ScriptedServer(always(scores(4))) as server:
        answers, made = answered(screened(monkeypatch, scorer, server), [grounded(n) for n in range(8)])
    made.close()
    assert (most, [answer["judge"]["prescreen"] for answer in answers]) == (1, [0.5] * 8)


def test_a_scorer_that_fails_costs_the_note_alone(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(source: list[str], reply: list[str]) -> float:
        raise ValueError(reply)

    with ScriptedServer(always(scores(4))) as server, caplog.at_level(logging.WARNING):
        answer = one(screened(monkeypatch, broken, server), grounded(77))
    assert (answer["score"], "prescreen" in answer["judge"]) == (4.0, False)
    assert "the pre-screen failed: ValueError" in caplog.text
    assert "77" not in caplog.text


def test_a_pre_screen_that_is_not_installed_is_told_before_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("stream_graders.judges.minilm.import_module", missing)
    with ScriptedServer(always(scores(4))) as server:
        file = JudgesFile(models=file_of(server).models, prescreen="minilm")
        with pytest.raises(JudgesError, match=r"prescreen: onnxruntime is not installed; pip install .*prescreen"):
            work.made(file)


# -- what it looks at --------------------------------------------------------------------------------------------------------

SOURCE = "Flight 8 leaves from gate 4.\nBoarding ends at 10:15."
GRADERS: dict[str, tuple[Grader, str]] = {
    "groundedness": (GroundednessGrader(criteria=SOURCE), SOURCE),
    "groundedness without a source": (GroundednessGrader(), ""),
    "accuracy": (AccuracyGrader(expected_facts=SOURCE.split("\n")), f"- {SOURCE}".replace("\n", "\n- ")),
    "accuracy without facts": (AccuracyGrader(criteria="Names the gate."), ""),
    "fact match": (FactMatchGrader(expected_facts=[SOURCE]), f"- {SOURCE}"),
    "faithfulness": (Faithfulness(SOURCE), SOURCE),
    "relevance": (RelevanceGrader(criteria=SOURCE), ""),
}


@pytest.mark.parametrize(("grader", "source"), GRADERS.values(), ids=list(GRADERS))
def test_the_source_is_what_the_grader_shows_as_one_and_not_the_calls(grader: Grader, source: str) -> None:
    story = run().starts().asks("Which gate?").calls("find", {"flight": 8}).says("It is at gate 4.").ends()
    session = session_of(suite_of(grader))
    [asked] = requests_of(fed(session, list(story), step=0))
    assert source_of(asked) == source


def test_no_more_than_some_sentences_are_looked_at() -> None:
    assert len(sentences("A word. " * 1_000, 16)) == 16
    assert [len(part) for part in sentences("x" * 100_000, 16)] == [prescreen.LONGEST]
    assert sentences("... \n\n !? — ", 16) == []


# -- the real model ----------------------------------------------------------------------------------------------------------

TEXT = sentences(
    "The museum opens at nine and closes at six, except on Mondays, when it stays closed. A ticket costs 14 euros, and 7 for "
    "students. Large bags have to be left in the lockers beside the entrance. Photographs are allowed without a flash.",
    32,
)
SUPPORTED = (
    "Students pay 7 euros for a ticket.",
    "You may take pictures as long as you do not use the flash.",
    "Please put big bags into a locker next to the entrance.",
    "On Mondays the museum is shut.",
)
SWAPPED = (
    "A ticket costs 41 euros, and 7 for students.",
    "The museum opens at ten and closes at six.",
    "Students pay 14 euros for a ticket.",
    "The museum stays closed on Tuesdays.",
)
INVENTED = (
    "The restaurant on the roof serves vegan burgers.",
    "Your parcel will be delivered by courier tomorrow.",
    "Its director won a prize for physics last year.",
    "Dogs are trained there to find truffles.",
)


@pytest.fixture(scope="module")
def minilm() -> Scorer:
    try:
        return load()
    except AbsentError as absent:
        unavailable(f"the pre-screen's model: {absent}")
        raise


def test_what_is_invented_is_less_grounded_than_what_is_said_in_other_words(minilm: Scorer) -> None:
    supported = [minilm(TEXT, [claim]) for claim in SUPPORTED]
    invented = [minilm(TEXT, [claim]) for claim in INVENTED]
    assert max(invented) < 0.5 < min(supported)


def test_one_invented_sentence_is_what_counts_among_supported_ones(minilm: Scorer) -> None:
    assert minilm(TEXT, [*SUPPORTED, INVENTED[1]]) == pytest.approx(minilm(TEXT, [INVENTED[1]]))


def test_a_swapped_number_or_day_is_not_noticed(minilm: Scorer) -> None:
    """Why this is no score: what is wrong in one word looks as grounded as what is right in other words."""
    swapped = [minilm(TEXT, [claim]) for claim in SWAPPED]
    supported = [minilm(TEXT, [claim]) for claim in SUPPORTED]
    assert min(swapped) > min(supported)
    assert max(swapped) > max(supported)


def test_the_judge_worker_notes_what_the_real_model_finds(minilm: Scorer) -> None:
    facts = "GROUND TRUTH (verified)\n- " + "\n- ".join(TEXT)
    with ScriptedServer(always(scores(4))) as server:
        file = JudgesFile(models=file_of(server).models, prescreen="minilm")
        asked = [
            grounded(n, input={**SHOWN, "response": r, "criteria": facts})
            for n, r in enumerate([INVENTED[0], SUPPORTED[0]])
        ]
        answers, made = answered(file, asked)
    made.close()
    invented, supported = (answer["judge"]["prescreen"] for answer in answers)
    assert invented < 0.5 < supported
