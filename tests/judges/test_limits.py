"""A breaker by its own clock, and a ledger that a crash leaves right."""

from pathlib import Path

from stream_graders.judges.ledger import Cost, Ledger, Limit, Reservation
from stream_graders.judges.limits import Breaker


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_five_failures_open_it_and_after_a_while_one_call_tries() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(4):
        breaker.fail("server")
    assert breaker.state == "closed"
    breaker.fail("timeout")
    assert (breaker.state, breaker.wait()) == ("open", 30.0)
    clock.now += 30
    assert (breaker.state, breaker.wait()) == ("half_open", 0.0)
    breaker.begin()
    assert breaker.wait() > 0  # Only one tries.
    breaker.fail("server")
    assert breaker.wait() == 60.0
    clock.now += 60
    breaker.begin()
    breaker.succeed()
    assert (breaker.state, breaker.wait()) == ("closed", 0.0)


def test_failures_far_apart_leave_it_closed_and_a_bad_key_opens_it_at_once() -> None:
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(20):
        breaker.fail("server")
        clock.now += 10
    assert breaker.state == "closed"
    breaker.fail("auth")
    assert breaker.state == "open"


DAY = Limit("check s/c", "day", {"micro_usd": 100, "calls": 3})
NOON = 1_790_000_000.0


def test_a_crash_between_reservation_and_settling_has_spent_what_it_reserved(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "l")
    assert isinstance(ledger.reserve([DAY], Cost(80, 10), NOON), Reservation)
    again = Ledger(tmp_path / "l")
    assert again.spent("check s/c", "2026-09-21") == Cost(80, 10, 1)
    assert again.reserve([DAY], Cost(30, 10), NOON) == "check s/c a day (micro_usd)"


def test_what_a_call_did_not_cost_is_given_back_and_another_day_has_its_own_limit() -> None:
    ledger = Ledger()
    first = ledger.reserve([DAY], Cost(80, 10), NOON)
    assert isinstance(first, Reservation)
    ledger.settle(first, Cost(10, 5))
    assert ledger.used(DAY, NOON) == 1 / 3
    second = ledger.reserve([DAY], Cost(80, 10), NOON)
    assert isinstance(second, Reservation)
    ledger.release(second)
    assert ledger.spent("check s/c", "2026-09-21") == Cost(10, 5, 1)
    assert isinstance(ledger.reserve([DAY], Cost(95, 1), NOON + 86_400), Reservation)


def test_a_refusal_by_one_scope_spends_nothing_of_the_others() -> None:
    ledger = Ledger(share=0.5)
    wide = Limit("all judges", "hour", {"calls": 100})
    assert isinstance(ledger.reserve([wide, DAY], Cost(10, 1), NOON), Reservation)
    assert ledger.reserve([wide, DAY], Cost(10, 1), NOON) == "check s/c a day (calls)"  # Half of three is one.
    assert ledger.spent("all judges", "2026-09-21T14").calls == 1
