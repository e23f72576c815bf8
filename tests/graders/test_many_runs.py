"""Ten thousand random runs against the oracles; a million by `python -m tests.graders.many_runs 1000000`."""

from tests.graders.many_runs import graded


def test_ten_thousand_random_runs_are_graded_as_the_oracles_say() -> None:
    assert graded(10_000) == []
