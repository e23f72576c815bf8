"""Whether what is missing could change what was found: unknown is never shown as pass or fail (design 6)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from .entries import Entry
from .grading import Grader, RunFacts
from .suites import When
from .verdicts import Finding, Identity, Outcome, Reason, identify


class Said(NamedTuple):
    """What a check came to."""

    outcome: Outcome
    reason: Reason
    score: float | None


SaidOf = Callable[[str, "Standpoint"], Said | None]
"""Gives what another check came to, by its name, once it has an outcome."""


@dataclass(frozen=True)
class Standpoint:
    """What the session knows of the run that its records carry."""

    run_id: str
    opened_at: str
    first_event_id: str
    identity: Identity
    flags: tuple[str, ...]
    free: RunFacts
    """The facts for graders that do not mind order: a gap that was filled late is none to them."""
    ordered: RunFacts
    waits: bool = False
    """Events are held back behind a gap: what comes next is not known."""
    now: int = 0
    """Log time."""

    @property
    def own(self) -> str | None:
        """The name of the run's own agent."""
        return None if self.identity.agent is None else self.identity.agent.name

    @cached_property
    def segment(self) -> str:
        """What tells this part of the run's life from every other: part of each id."""
        return identify(self.run_id, self.opened_at, self.first_event_id)

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The identity as the fields of a record."""
        return {name: getattr(self.identity, name) for name in self.identity.__struct_fields__}

    def facts(self, grader: Grader) -> RunFacts:
        """The facts that count for this grader."""
        return self.free if grader.order_free else self.ordered


def weigh(finding: Finding, needs: frozenset[str], facts: RunFacts, missing_input: str) -> Finding:
    """Unknown is never shown as pass or fail: what a missing input could change is not graded (design 6)."""
    if finding.sound or finding.outcome in (Outcome.ERROR, Outcome.NOT_GRADED):
        return finding
    told = finding.evidence
    if facts.lost or facts.tail_unknown:
        return Finding(Outcome.NOT_GRADED, Reason.INCOMPLETE, f"events are missing; so far: {told}", finding.points)
    if "tools" in needs and not facts.tools_known:
        return Finding(Outcome.NOT_GRADED, Reason.RECORD_UNKNOWN, f"no tool-call record is known; so far: {told}")
    if missing_input == "not_graded" and _lacks_content(needs, facts):
        return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, f"content was not sent; so far: {told}")
    if finding.cut:
        return Finding(Outcome.NOT_GRADED, Reason.TRUNCATED, f"a text was cut; so far: {told}", finding.points)
    return finding


def _lacks_content(needs: frozenset[str], facts: RunFacts) -> bool:
    return ("messages" in needs and not facts.messages_known) or ("results" in needs and not facts.results_known)


def applies(entry: Entry, at: Standpoint, said_of: SaidOf) -> bool:
    """Did every clause of a check's ``when`` come true?"""
    when = entry.check.when
    assert when is not None
    if (when.called is not None and not entry.called) or (when.said is not None and entry.said is not True):
        return False
    if when.status and at.ordered.status not in when.status:
        return False
    if when.labels and not _labels_fit(when, at):
        return False
    if when.check is None:
        return True
    said = said_of(when.check, at)
    return said is not None and said[0] in when.outcome


def not_applied(entry: Entry, at: Standpoint, said_of: SaidOf) -> Finding:
    """A condition that did not come true, weighed like a finding: what is not known may have made it true."""
    when, facts = entry.check.when, at.ordered
    assert when is not None
    told = "the condition did not come true: " + ", ".join(f"{name} {value}" for name, value in _told(when))
    if when.labels and at.identity.labels is not None and not _labels_fit(when, at):
        return Finding(Outcome.SKIPPED, Reason.NOT_APPLICABLE, told, sound=True)
    if facts.lost or facts.tail_unknown:
        return Finding(Outcome.NOT_GRADED, Reason.INCOMPLETE, f"events are missing; so far {told}")
    if when.called is not None and not facts.tools_known:
        return Finding(Outcome.NOT_GRADED, Reason.RECORD_UNKNOWN, f"no tool-call record is known; so far {told}")
    if when.said is not None and entry.said is not True:
        if not facts.messages_known:
            return Finding(Outcome.NOT_GRADED, Reason.CONTENT_MISSING, f"content was not sent; so far {told}")
        if entry.said:
            return Finding(Outcome.NOT_GRADED, Reason.TRUNCATED, f"a text was cut; so far {told}")
    if when.check is not None:
        said = said_of(when.check, at)
        if said is not None and said[0] is Outcome.NOT_GRADED and said[0] not in when.outcome:
            return Finding(Outcome.NOT_GRADED, said[1], f"{when.check} has no verdict; so far {told}")
    return Finding(Outcome.SKIPPED, Reason.NOT_APPLICABLE, told, sound=True)


def _labels_fit(when: When, at: Standpoint) -> bool:
    labels = at.identity.labels or {}
    return all(labels.get(name) == value for name, value in when.labels.items())


def _told(when: When) -> Iterator[tuple[str, str]]:
    for name, value in when.clauses.items():
        if isinstance(value, dict):
            yield name, ", ".join(f"{key}: {item}" for key, item in value.items())
        else:
            yield name, ", ".join(value) if isinstance(value, tuple | list) else str(value)
