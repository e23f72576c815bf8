"""What a module of a source's form gives: checks as a suite file of ours writes them."""

import re
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

Loc = tuple[str | int, ...]


JUDGE = "asks a judge model in a way of its own: write a check with agentlasso.llm_judge or vally.prompt for it"
"""Why a check of a source is not graded."""


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

    def add_all(
        self, loc: Loc, check: str, parts: list[tuple[str, dict[str, Any]]], severity: str, **more: Any
    ) -> None:
        """Add a check that passes, with a score of 1, where each of its parts does, and has 0 otherwise.

        The parts count nothing themselves. For what a source answers with yes or no, and we by several graders or a score.

        Args:
            loc: where it stands.
            check: its name.
            parts: graders with their settings.
            severity: what its failure does to the run.
            more: other keys of the check.
        """
        names = [f"{check}-part-{n}" for n in range(1, len(parts) + 1)]
        for name, (grader, settings) in zip(names, parts, strict=True):
            self.add(
                loc, name, grader, "info", settings, **{k: deepcopy(more[k]) for k in ("when", "turn") if k in more}
            )
        self.checks.append({"check": check, "all": names, "severity": severity, **more})
        self.checks[-1].pop("turn", None)
        self.places.append(loc)

    def free(self, wanted: str) -> str:
        """A name for a check that none has yet."""
        taken = {check["check"] for check in self.checks}
        return next(
            name for n in range(1, len(taken) + 2) if (name := wanted if n == 1 else f"{wanted}-{n}") not in taken
        )


def slug(text: str, otherwise: str) -> str:
    """A text as part of a check's name; what else it should be where nothing of it can stand there.

    >>> slug("says: 'hello'", "check"), slug("...", "check")
    ('says---hello', 'check')
    """
    return re.sub(r"[^A-Za-z0-9_.-]", "-", text)[:60].strip("-._") or otherwise


def exactly(text: str) -> str:
    """The pattern that finds this text and no other.

    >>> exactly("a.b")
    '\\\\Aa\\\\.b\\\\z'
    """
    return rf"\A{re.escape(text)}\z"


def listed(value: dict[str, Any], name: str, loc: Loc = ()) -> list[Any]:
    """The list under a key, or none.

    Raises:
        SourceError: it is no list.
    """
    found = value.get(name) or []
    if not isinstance(found, list):
        raise SourceError("should be a list", (*loc, name))
    return found


def mapped(value: dict[str, Any], name: str, loc: Loc = ()) -> dict[str, Any]:
    """The mapping under a key, or none.

    Raises:
        SourceError: it is no mapping.
    """
    found = value.get(name) or {}
    if not isinstance(found, dict):
        raise SourceError("should be a mapping", (*loc, name))
    return found
