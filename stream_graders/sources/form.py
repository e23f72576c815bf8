"""What a module of a source's form gives: checks as a suite file of ours writes them."""

from dataclasses import dataclass, field
from typing import Any

Loc = tuple[str | int, ...]


class SourceError(ValueError):
    """A file that is not of the form; ``loc`` is the place in it, as keys and list places."""

    def __init__(self, message: str, loc: Loc = ()) -> None:
        super().__init__(message)
        self.loc = loc


@dataclass
class Source:
    """A source's file in our words."""

    checks: list[dict[str, Any]] = field(default_factory=list)
    """As a suite file writes them."""
    places: list[Loc] = field(default_factory=list)
    """Of each check, where it stands in the source's file."""
    scoring: dict[str, Any] = field(default_factory=dict)
    """The policy that makes a run's outcome the source's own, as a suite file writes it."""
    ungraded: list[tuple[Loc, str]] = field(default_factory=list)
    """What the file asks for and no check of ours can ask: place and words."""

    warnings: list[tuple[Loc, str]] = field(default_factory=list)
    """What will work as written, but hardly as meant: place and words."""

    def add(self, loc: Loc, check: str, grader: str, severity: str, settings: dict[str, Any], **more: Any) -> None:
        """Add a check. A missing input means what the source says it does."""
        made = {"check": check, "grader": grader, "severity": severity, "missing_input": "source", "settings": settings}
        self.checks.append({**made, **more})
        self.places.append(loc)
