"""The accounting of the benchmarks finds what it is there for."""

import pytest

from benchmarks.account import Account, Answer, Key, percentile, spread

ECHO: Key = ("r-1", "echo", "final")
ORDER: Key = ("r-1", "order", "final")
PASS: Answer = ("pass", 4)
FAIL: Answer = ("fail", 9)


def test_what_is_due_and_came_is_in_order() -> None:
    account = Account({ECHO: PASS, ORDER: FAIL})
    account.take(ECHO, PASS, b"1")
    assert not account.is_complete()
    account.take(ORDER, FAIL, b"2")
    assert account.is_complete()
    assert {name: count for name, count in vars(account.sum()).items() if count} == {"due": 2, "came": 2}


def test_a_verdict_that_never_came_is_lost() -> None:
    account = Account({ECHO: PASS, ORDER: FAIL})
    account.take(ECHO, PASS, b"1")
    assert account.sum().lost == 1


def test_a_verdict_that_came_again_is_a_duplicate_and_changed_if_its_bytes_are() -> None:
    account = Account({ECHO: PASS})
    for value in (b"1", b"1", b"2"):
        account.take(ECHO, PASS, value)
    assert (account.sum().duplicate, account.sum().changed, account.sum().lost) == (2, 1, 0)


@pytest.mark.parametrize("answer", [("fail", 4), ("pass", 5), ("pass", None)])
def test_another_outcome_or_deciding_event_is_wrong(answer: Answer) -> None:
    account = Account({ECHO: PASS})
    account.take(ECHO, answer, b"1")
    assert (account.sum().wrong, account.sum().wrong_last) == (1, 1)


def test_a_wrong_verdict_that_is_put_right_leaves_nobody_with_it() -> None:
    account = Account({ECHO: PASS})
    account.take(ECHO, FAIL, b"1")
    account.take(ECHO, PASS, b"2")
    assert (account.sum().wrong, account.sum().wrong_last) == (1, 0)


def test_a_verdict_that_nobody_waits_for_is_wrong_and_fills_no_gap() -> None:
    account = Account({ECHO: PASS})
    account.take(ORDER, PASS, b"1")
    assert not account.is_complete()
    assert (account.sum().wrong, account.sum().lost) == (1, 1)


def test_percentiles_are_values_that_were_measured() -> None:
    values = [float(n) for n in range(1, 101)]
    assert [percentile(values, share) for share in (0.5, 0.9, 0.99, 1.0)] == [50.0, 90.0, 99.0, 100.0]
    assert percentile([7.0], 0.5) == percentile([7.0], 0.99) == 7.0
    assert spread([0.002, 0.004]) == {"p50": 2.0, "p90": 4.0, "p99": 4.0, "max": 4.0}
