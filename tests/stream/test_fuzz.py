"""Bent journals, the same ones each time; `python -m tests.stream.fuzz` bends new ones for as long as it is asked to."""

import pytest

from tests.stream.fuzz import fault


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_nothing_raises_is_lost_or_grows(first: int) -> None:
    assert [found for seed in range(first, first + 10) if (found := fault(seed)) is not None] == []
