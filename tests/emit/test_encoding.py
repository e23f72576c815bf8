"""An event too long, or odd in a field, becomes a record that every reader takes."""

from typing import Any

import pytest

from stream_graders.emit.backlog import Pending
from stream_graders.emit.encoding import MAX_BYTES, encode
from stream_graders.events import UNSENT, Event, Message, RunStart, ToolResult
from stream_graders.wire import decode


def encoded(kind: str, **body: Any) -> Event:
    record = encode(Pending(kind, "r-1", 0, {"agent": {"name": "a"}}, body), "p")
    assert len(record.value) <= MAX_BYTES
    event = decode(record.value, record.key)
    assert isinstance(event, Event), event
    return event


def test_the_longest_texts_are_cut_and_the_others_kept() -> None:
    result = {"page": "x" * 2_000_000, "other page": "y" * 500_000, "title": "z" * 1_000, "n": [1, 2]}
    event = encoded("tool.result", name="t", result=result)
    assert isinstance(event, ToolResult)
    assert event.flags == ("truncated",)
    assert (event.result["title"], event.result["n"]) == ("z" * 1_000, [1, 2])
    lengths = {name: len(event.result[name]) for name in ("page", "other page")}
    assert lengths["page"] == pytest.approx(lengths["other page"], abs=2)
    assert sum(lengths.values()) > 890_000


@pytest.mark.parametrize("letter", ["é", "😀", '"', "\n", "\x01"], ids=repr)
def test_a_cut_minds_what_letters_take(letter: str) -> None:
    event = encoded("message", role="user", content=letter * 900_000)
    assert isinstance(event, Message)
    assert event.flags == ("truncated",)
    assert isinstance(event.content, str)
    assert set(event.content) == {letter, "…"}
    assert len(letter.encode()) * len(event.content) > 100_000


def test_what_is_long_without_long_texts_loses_its_content() -> None:
    event = encoded("tool.result", name="t", call_id="c1", result=[f"{n:090d}" for n in range(49_000)])
    assert isinstance(event, ToolResult)
    assert (event.name, event.call_id) == ("t", "c1")
    assert set(event.flags) == {"content_missing", "truncated"}


def test_more_values_than_an_event_may_hold_are_left_out() -> None:
    event = encoded("tool.result", name="t", result=[float("nan"), *range(200_000)])
    assert isinstance(event, ToolResult)
    assert event.result[:3] == ["nan", 0, 1]
    assert event.result[-1] == "…"
    assert event.flags == ("truncated", "unserialisable")


def test_content_that_is_no_text_becomes_one() -> None:
    event = encoded("message", role="assistant", content={"answer": 42})
    assert isinstance(event, Message)
    assert (event.content, event.flags) == ('{"answer":42}', ())


def test_parts_stay_parts() -> None:
    parts = [{"type": "text", "content": "hello"}]
    event = encoded("message", role="assistant", content=parts)
    assert isinstance(event, Message)
    assert event.content == parts


def test_references_and_labels_take_the_form_that_readers_insist_on() -> None:
    event = encoded(
        "run.start", labels={"n": 1, "on": True}, expected={"format": 7, "metadata": "m", "criteria": ["a"]}
    )
    assert isinstance(event, RunStart)
    assert event.labels == {"n": "1", "on": "true"}
    assert event.expected is not None
    assert (event.expected.format, event.expected.metadata, event.expected.criteria) == ("7", {"value": "m"}, ["a"])


def test_a_value_that_is_null_is_null() -> None:
    event = encoded("tool.result", name="t", result=None)
    assert isinstance(event, ToolResult)
    assert (event.result, event.flags) == (None, ())


def test_what_was_emptied_says_so() -> None:
    pending = Pending("message", "r-1", 0, {}, {"role": "user", "content": "hello"})
    pending.empty()
    record = encode(pending, "p")
    event = decode(record.value, record.key)
    assert isinstance(event, Message)
    assert (event.content, event.flags) == (UNSENT, ("content_missing",))
