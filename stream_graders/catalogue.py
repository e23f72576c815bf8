"""Which graders there are: every module of every family, by name.

A module that cannot be imported, or that holds no grader or two, stops the program at its start: a grader that is
missing without a word would be a check that never fails.
"""

from functools import cache
from importlib import import_module
from inspect import isclass
from pkgutil import iter_modules

from . import graders
from .grading import Grader


@cache
def catalogue() -> dict[str, type[Grader]]:
    """All graders by name, in the order of their names.

    Raises:
        ImportError: a module of a family cannot be imported.
        LookupError: a module holds no grader, or more than one.
    """
    found: dict[str, type[Grader]] = {}
    for family in iter_modules(graders.__path__):
        package = import_module(f"{graders.__name__}.{family.name}")
        for module in iter_modules(package.__path__):
            if not module.name.startswith("_"):
                grader = _grader_of(f"{package.__name__}.{module.name}")
                found[grader.name] = grader
    return dict(sorted(found.items()))


def grader_named(name: str) -> type[Grader] | None:
    """The grader of this name; dashes stand for underscores, as in the sources' own pages."""
    return catalogue().get(name.replace("-", "_"))


def _grader_of(module: str) -> type[Grader]:
    own = [
        value
        for value in vars(import_module(module)).values()
        if isclass(value) and issubclass(value, Grader) and value.__module__ == module
    ]
    if len(own) != 1:
        raise LookupError(f"{module} holds {len(own)} graders; a grader module holds one")
    return own[0]
