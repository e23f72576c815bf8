"""No story leaves a worker behind, whatever became of it."""

from collections.abc import Iterator

import pytest

from tests.integration.harness import STARTED


@pytest.fixture(autouse=True)
def no_worker_is_left() -> Iterator[None]:
    yield
    while STARTED:
        process = STARTED.pop()
        process.kill()
        process.wait()
