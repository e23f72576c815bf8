"""What the docstrings of graders, and of what they share, show is what happens."""

import doctest
from importlib import import_module
from pkgutil import walk_packages

import pytest

from stream_graders import graders, matching

MODULES = [
    module.name
    for package in (graders, matching)
    for module in walk_packages(package.__path__, f"{package.__name__}.")
    if not module.ispkg
]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_hold(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
