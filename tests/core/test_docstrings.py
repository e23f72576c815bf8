"""The examples in docstrings say what happens: in graders, which have no other manual, and in what they share."""

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

from stream_graders import graders, matching

MODULES = sorted(
    module.name for package in (graders, matching) for module in walk_packages(package.__path__, f"{package.__name__}.")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    failed, _ = doctest.testmod(import_module(name))
    assert not failed


def test_every_grader_has_an_example() -> None:
    public = [name for name in MODULES if name.count(".") == 3 and "._" not in name]
    assert [name for name in public if not doctest.testmod(import_module(name)).attempted] == []
