"""A desk with checks that ask judges: requests are outputs like verdicts, the same bytes when a batch comes again."""

from dataclasses import dataclass

from stream_graders.answers import mac_of
from stream_graders.events import Event, JudgeAnswer, from_json, to_json
from stream_graders.graders.ai_eval.accuracy_grader import AccuracyGrader
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.stream.desk import Counts, Desk
from stream_graders.suites import Fleet
from stream_graders.testing import run, suite_of

KEY = b"a key of the judges"
FLEET = Fleet((suite_of(TranscriptContains("gate"), AccuracyGrader()),), judge_key=KEY)
GOOD = {"status": "scored", "score": 5, "reason": "right"}


@dataclass
class Record:
    key: bytes | None
    value: bytes | None
    offset: int
    timestamp: int


def records(*events: Event, first: int = 0) -> list[Record]:
    return [Record(e.run_id.encode(), to_json(e), first + n, 1_000 * (first + n + 1)) for n, e in enumerate(events)]


def desk(kept: dict[bytes, bytes] | None = None) -> Desk:
    return Desk(FLEET, ("journal", 0, 1), kept or {}, Counts())


def answer(request: str, key: bytes) -> JudgeAnswer:
    return JudgeAnswer(
        schema="stream_graders.event/1", id=f"a-{key!r}", run_id="run-1", ts=1, request_id=request, answer=GOOD,
        mac=mac_of(key, request, GOOD),
    )  # fmt: skip


STORY = list(run().starts().asks("Which gate?").says("It is at gate 4.").ends())


def test_a_request_is_an_output_of_its_batch_and_comes_again_with_it() -> None:
    once, again = desk(), desk()
    once.grade(records(*STORY))
    again.grade(records(*STORY))
    out, repeated = once.take(0), again.take(0)
    [(key, _, headers)] = out.judge_requests
    assert (key, dict(headers)["sg-schema"]) == (b"run-1", b"stream_graders.judge_request/1")
    assert dict(headers)["sg-at"] == b"journal/0/3"
    assert repeated.judge_requests == out.judge_requests
    assert (len(out.verdicts), len(out.run_verdicts), once.counts.asked) == (1, 0, 1)


def test_an_answer_that_nobody_signed_is_counted_and_one_that_a_judge_signed_settles() -> None:
    first = desk()
    first.grade(records(*STORY))
    out = first.take(0)
    assert out.judge_requests[0][1] is not None
    request = from_json(out.judge_requests[0][1])["id"]
    kept = {key: value for key, value in out.states.items() if value is not None}
    second = desk(kept)  # Another worker goes on with the run.
    second.grade(records(answer(request, b"an agent's guess"), answer("another", KEY), answer(request, KEY), first=4))
    out = second.take(0)
    assert (second.counts.ledger.answered, second.counts.ledger.unasked) == (1, 2)
    assert [from_json(value)["score"] for _, value, _ in out.verdicts if value is not None] == [5.0]
    assert len(out.run_verdicts) == 1
    assert second.counts.difference() == 0


def test_a_run_that_waits_for_a_judge_waits_as_bytes() -> None:
    """A judge that is away may keep half an hour of runs waiting."""
    first = desk()
    first.grade(records(*STORY))
    first.take(0)
    assert first._live == {}
