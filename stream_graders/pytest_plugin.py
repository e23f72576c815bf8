"""Collects the cases of suites: each run in a ``*.test.yaml`` file is a test of pytest.

Installed with the package; a file counts where pytest is told to look, or where it stands under ``testpaths``.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ENDING = ".test.yaml"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "SuiteCases | None":
    """Takes the files of cases."""
    if not file_path.name.endswith(ENDING):
        return None
    return SuiteCases.from_parent(parent, path=file_path)


class DiffersError(Exception):
    """A suite says something else of a run than it should; one line a difference."""


class SuiteCases(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator["SuiteCase"]:
        """Its cases, each a test."""
        # Imported here: pytest loads this module for every run of every project, most of which have no such file.
        from .config import load
        from .config.cases import CaseError, read_cases

        try:
            suite_file, cases = read_cases(self.path)
            suite = load(suite_file)
        except (CaseError, ValueError) as error:
            raise self.CollectError(str(error)) from error
        for case in cases:
            yield SuiteCase.from_parent(self, name=case.name, case=case, suite=suite)


class SuiteCase(pytest.Item):
    """A run and what its verdicts are to say."""

    def __init__(self, *, case: Any, suite: Any, **more: Any) -> None:
        super().__init__(**more)
        self.case = case
        self.suite = suite

    def runtest(self) -> None:
        """Grade the run and compare."""
        if differences := list(self.case.differences(self.suite)):
            raise DiffersError("\n".join(differences))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The differences alone: where they were found in our code helps nobody."""
        return str(excinfo.value) if isinstance(excinfo.value, DiffersError) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """The line of the case in its file."""
        return self.path, self.case.line - 1, f"{self.path.name}: {self.name}"
