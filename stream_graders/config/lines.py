"""YAML with the file and line of each of its values, so that a problem can say where it stands."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Loc = tuple[str | int, ...]

_SURROGATE = re.compile("[\ud800-\udfff]")


class Place(NamedTuple):
    """Where a value stands: the name of its file, and the line, from 1."""

    file: str
    line: int


class YamlError(ValueError):
    """A file that cannot be read as YAML; ``line`` counts from 1."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class YamlFile:
    """A YAML file's value, the place of each value in it, and the keys that stand there twice.

    JSON is YAML, but for the tabs that may indent it.
    """

    value: Any
    places: dict[Loc, Place]
    repeated: tuple[Loc, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "YamlFile":
        """Read a file.

        Raises:
            YamlError: it cannot be opened or is no YAML.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise YamlError(f"cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise YamlError("is not UTF-8 text") from error
        if path.suffix == ".json":
            text = text.replace("\t", " ")
        try:
            value = yaml.safe_load(text)
            node = yaml.compose(text, Loader=yaml.SafeLoader)
            places: dict[Loc, Place] = {}
            repeated: list[Loc] = []
            _walk(node, (), path.name, places, repeated)
        except RecursionError:
            raise YamlError("holds itself, or is nested too deep") from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            told = error.problem or "is no YAML"
            raise YamlError(f"is no YAML: {told}", mark.line + 1 if mark else 1) from error
        except yaml.YAMLError as error:
            raise YamlError(f"is no YAML: {error}") from error
        return cls(value, places, tuple(repeated))

    def place(self, loc: Loc) -> Place:
        """Where a value stands, or the nearest value around it that stands in a file."""
        while loc and loc not in self.places:
            loc = loc[:-1]
        return self.places.get(loc, Place("", 1))

    def moved(self, loc: Loc, to: Loc) -> dict[Loc, Place]:
        """The places of a value and all in it, as those of the same value elsewhere."""
        return {to + at[len(loc) :]: place for at, place in self.places.items() if at[: len(loc)] == loc}


def _walk(node: yaml.Node | None, loc: Loc, file: str, places: dict[Loc, Place], repeated: list[Loc]) -> None:
    if node is None:
        places[loc] = Place(file, 1)
        return
    places.setdefault(loc, Place(file, node.start_mark.line + 1))
    if isinstance(node, yaml.ScalarNode) and _SURROGATE.search(node.value):
        raise YamlError("holds half of a surrogate pair, which is no text", node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*loc, str(key.value))
            if inner in places:
                repeated.append(inner)
            places[inner] = Place(file, key.start_mark.line + 1)
            _walk(value, inner, file, places, repeated)
    elif isinstance(node, yaml.SequenceNode):
        for n, value in enumerate(node.value):
            _walk(value, (*loc, n), file, places, repeated)
