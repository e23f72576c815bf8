"""Which graders there are: every module of every family of ours, and what other packages bring, by name.

Another package brings a grader by an entry point of the group ``stream_graders.graders``: its name is the grader's, two
words with a dot between, and what it points to is the class (R156, R157).

A module that cannot be imported, or that holds no grader or two, stops the program when a suite names it: a grader that
is missing without a word would be a check that never fails.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import isclass
from pkgutil import iter_modules

from . import graders
from .grading import Grader

GROUP = "stream_graders.graders"
"""The group of entry points that other packages bring their graders by."""

_NAME = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


@cache
def catalogue() -> dict[str, type[Grader]]:
    """All graders by name, in the order of their names.

    Raises:
        ImportError: a module of a family cannot be imported.
        LookupError: a module holds no grader, or more than one; an entry point is none of a grader, or its name is taken.
    """
    found: dict[str, type[Grader]] = {}
    for family in iter_modules(graders.__path__):
        package = import_module(f"{graders.__name__}.{family.name}")
        for module in iter_modules(package.__path__):
            if not module.name.startswith("_"):
                grader = _grader_of(f"{package.__name__}.{module.name}")
                found[grader.name] = grader
    ours = {name.partition(".")[0] for name in found}
    for entry in entry_points(group=GROUP):
        if entry.name.partition(".")[0] in ours or entry.name in found:
            raise LookupError(f"{_from(entry)}: the name is taken; families of ours are {', '.join(sorted(ours))}")
        found[entry.name] = _brought(entry)
    return dict(sorted(found.items()))


@cache
def grader_named(name: str) -> type[Grader] | None:
    """The grader of this name; dashes stand for underscores, as in the sources' own pages.

    Only its own module is imported: all of them take longer than most suites need to be read and checked.

    Raises:
        ImportError: its module cannot be imported.
        LookupError: its module holds no grader, or more than one; an entry point is none of a grader.
    """
    name = name.replace("-", "_")
    if _NAME.fullmatch(name) is None:
        return None
    family, _, module = name.partition(".")
    if _is_in(graders.__path__, family):
        package = import_module(f"{graders.__name__}.{family}")
        return _grader_of(f"{package.__name__}.{module}") if _is_in(package.__path__, module) else None
    return next((_brought(entry) for entry in entry_points(group=GROUP, name=name)), None)


def _is_in(places: Iterable[str], module: str) -> bool:
    """Is there a module of this name, that is not for others only?"""
    return not module.startswith("_") and any(found.name == module for found in iter_modules(places))


def _brought(entry: EntryPoint) -> type[Grader]:
    """The grader that an entry point brings, under that name."""
    if not _NAME.fullmatch(entry.name):
        raise LookupError(
            f"{_from(entry)}: write the name as family.question, in small letters, digits and underscores"
        )
    kind = entry.load()
    if not (isclass(kind) and issubclass(kind, Grader)):
        raise LookupError(f"{_from(entry)}: {entry.value} is no subclass of stream_graders.grading.Grader")
    kind.name = entry.name
    return kind


def _from(entry: EntryPoint) -> str:
    package = "a package" if entry.dist is None else entry.dist.name
    return f"entry point {entry.name} of {package}"


def _grader_of(module: str) -> type[Grader]:
    own = [
        value
        for value in vars(import_module(module)).values()
        if isclass(value) and issubclass(value, Grader) and value.__module__ == module
    ]
    if len(own) != 1:
        raise LookupError(f"{module} holds {len(own)} graders; a grader module holds one")
    return own[0]
