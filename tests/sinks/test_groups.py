"""Which violations people hear of, and when: the first three runs, then counts, and what was taken back."""

import random

import pytest

from stream_graders.sinks import violations
from stream_graders.sinks.violations import CASES, QUIET_MS, SUMMARY_MS, Groups, Notice
from tests.sinks.violations import AT, violation


def kinds(notices: list[Notice]) -> list[tuple[str, int]]:
    return [(notice.kind, notice.group.count) for notice in notices]


def test_three_runs_are_told_and_the_rest_is_counted() -> None:
    groups = Groups()
    told = [notice.kind for n in range(9) for notice in groups.take(violation(f"r{n}"), AT + n)]
    assert told == ["violation"] * 3
    assert kinds([*groups.passed(AT + 8)]) == []
    assert kinds([*groups.passed(AT + 2 + SUMMARY_MS)]) == [("more", 9)]
    assert kinds([*groups.passed(AT + 3 + SUMMARY_MS)]) == [], "nothing new to count"


def test_another_version_is_another_group() -> None:
    groups = Groups()
    for n in range(3):
        groups.take(violation(f"old{n}"), AT)
    assert kinds(groups.take(violation("new", version="1.5.0"), AT)) == [("violation", 1)]


@pytest.mark.parametrize("field", ["suite", "check", "environment"])
def test_so_are_another_suite_check_and_environment(field: str) -> None:
    groups = Groups()
    groups.take(violation("a"), AT)
    assert kinds(groups.take(violation("b", known={field: "other"}), AT)) == [("violation", 1)]


def test_a_record_that_comes_again_is_not_told_again() -> None:
    groups = Groups()
    groups.take(violation("a"), AT)
    assert groups.take(violation("a"), AT + 1) == []


def test_what_is_taken_back_is_told_and_the_last_resolves_the_group() -> None:
    groups = Groups()
    for run in "abcde":
        groups.take(violation(run), AT)
    back = [groups.take(violation(run, resolved=True), AT + 1) for run in "aedcb"]
    # Of the fourth and fifth nobody was told by name.
    assert [[notice.kind for notice in each] for each in back] == [["taken_back"], [], [], ["taken_back"], ["resolved"]]
    assert groups.groups == {}
    assert kinds(groups.take(violation("f"), AT + 2)) == [("violation", 1)]


def test_taken_back_twice_is_taken_back_once() -> None:
    groups = Groups()
    for run in "ab":
        groups.take(violation(run), AT)
    groups.take(violation("a", resolved=True), AT)
    assert groups.take(violation("a", resolved=True), AT) == []


def test_a_group_ends_after_an_hour_of_silence_and_its_count_is_not_lost() -> None:
    groups = Groups()
    for n in range(5):
        groups.take(violation(f"r{n}"), AT)
    assert kinds([*groups.passed(AT + QUIET_MS)]) == [("more", 5)]
    assert groups.groups == {}
    assert kinds(groups.take(violation("later"), AT + QUIET_MS)) == [("violation", 1)]


def test_what_was_told_long_ago_is_still_taken_back() -> None:
    assert kinds(Groups().take(violation("a", resolved=True), AT)) == [("resolved", 1)]


def test_memory_is_bounded_whatever_names_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(violations, "GROUPS", 50)
    groups = Groups()
    told = 0
    for n in range(400):
        for run in range(4):
            told += len(groups.take(violation(f"{n}-{run}", version=str(n)), AT + n))
    assert len(groups.groups) == 50
    assert told == 400 * 3 + 350, "three runs of each, and the count of each that had to go"
    for n in range(CASES + 10):
        groups.take(violation(f"many-{n}"), AT)
    assert max(len(group.cases) for group in groups.groups.values()) == CASES


def test_whoever_reads_the_last_hour_again_knows_what_was_told() -> None:
    """What a process that starts anew tells is what one that ran through would have told."""
    draw = random.Random(7)
    records, now = [], AT
    for _ in range(400):
        now += draw.choice((0, 1_000, 20_000))
        records.append((violation(f"r{draw.randrange(60)}", str(draw.randrange(4)), resolved=draw.random() < 0.3), now))
    assert now - AT < QUIET_MS
    through = Groups()
    whole = [kinds(through.take(*record)) for record in records]
    for cut in range(20, 400, 37):
        anew = Groups()
        for record in records[:cut]:
            anew.take(*record)
        assert [kinds(anew.take(*record)) for record in records[cut:]] == whole[cut:]
