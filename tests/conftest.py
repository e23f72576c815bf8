"""What all tests share: what they may ask the machine for, and what happens where the machine has not got it."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.programs import missing_programs
from tests.kafka.broker import KafkaBroker, missing_tools

ROOT = Path(__file__).resolve().parent.parent
REAL_DATA = (ROOT / os.environ.get("SG_REAL_DATA", "../shared/data")).resolve()


SERVED = ("tests/integration/", "tests/demo/", "tests/kafka/", "tests/deploy/test_compose.py")
"""Where tests start services."""


def is_served(nodeid: str) -> bool:
    return nodeid.startswith(SERVED)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that takes one of the fixtures below carries its marker; `-m 'not requires_kafka'` then means it."""
    for item in items:
        taken = getattr(item, "fixturenames", ())
        for fixture, marker in (("kafka", "requires_kafka"), ("real_data", "requires_real_data")):
            if fixture in taken:
                item.add_marker(marker)
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: not is_served(item.nodeid))  # What takes longest begins first.


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests with services stay in one process: they mostly wait, and two such stories at a time would tell of the machine.

    The others go by file, so that what a file prepares is prepared once. (xdist's own groups do nothing since pytest 9.2.)
    """
    from xdist.scheduler import LoadScopeScheduling

    class ByServices(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "services" if is_served(nodeid) else nodeid.partition("::")[0]

    return ByServices(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("requires_kafka") and (missing := missing_tools()):
        unavailable(f"Apache Kafka needs {' and '.join(missing)} on the path; install a JDK (17 or later) and Maven")
    if item.get_closest_marker("requires_prometheus") and (programs := missing_programs()):
        packages = "install Debian's prometheus and prometheus-alertmanager, or their makers' releases"
        unavailable(f"not on the path: {', '.join(programs)}; {packages}")
    if item.get_closest_marker("requires_real_data") and not REAL_DATA.is_dir():
        unavailable("the recorded runs are not here; name their folder in SG_REAL_DATA")


def unavailable(reason: str) -> None:
    """Skips the test, except in CI: there a test that could not run has not passed."""
    if os.environ.get("CI"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """One running broker for the whole session: a test makes topics of its own, and faults on a broker of its own."""
    with KafkaBroker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of recorded agent runs."""
    return REAL_DATA
