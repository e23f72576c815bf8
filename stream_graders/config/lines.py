"""YAML with the lines of its values, so that a problem can say where it stands."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Loc = tuple[str | int, ...]

_SURROGATE = re.compile("[\ud800-\udfff]")


class YamlError(ValueError):
    """A file that cannot be read as YAML; ``line`` counts from 1."""

    def __init__(self, message: str, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class YamlFile:
    """A YAML file's value, the line of each place in it, and the keys that stand there twice."""

    value: Any
    _lines: dict[Loc, int]
    repeated: tuple[Loc, ...]

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
        try:
            value = yaml.safe_load(text)
            node = yaml.compose(text, Loader=yaml.SafeLoader)
            lines: dict[Loc, int] = {}
            repeated: list[Loc] = []
            _walk(node, (), lines, repeated)
        except RecursionError:
            raise YamlError("holds itself, or is nested too deep") from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            told = error.problem or "is no YAML"
            raise YamlError(f"is no YAML: {told}", mark.line + 1 if mark else 1) from error
        except yaml.YAMLError as error:
            raise YamlError(f"is no YAML: {error}") from error
        return cls(value, lines, tuple(repeated))

    def line(self, loc: Loc) -> int:
        """The line of a place, or of the nearest place around it that stands in the file."""
        while loc and loc not in self._lines:
            loc = loc[:-1]
        return self._lines.get(loc, 1)


def _walk(node: yaml.Node | None, loc: Loc, lines: dict[Loc, int], repeated: list[Loc]) -> None:
    if node is None:
        return
    lines.setdefault(loc, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode) and _SURROGATE.search(node.value):
        raise YamlError("holds half of a surrogate pair, which is no text", node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = (*loc, str(key.value))
            if inner in lines:
                repeated.append(inner)
            lines[inner] = key.start_mark.line + 1
            _walk(value, inner, lines, repeated)
    elif isinstance(node, yaml.SequenceNode):
        for n, value in enumerate(node.value):
            _walk(value, (*loc, n), lines, repeated)
