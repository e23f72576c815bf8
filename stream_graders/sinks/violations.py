"""Which violations belong together, and when people hear of them. Pure: records and times in, notices out.

An agent that fails a check once fails it a thousand times. So violations are grouped by agent, version, environment, suite
and check: the first three runs of a group are told one by one, those after them as a count. A group ends when every
violation of it was taken back, or when none came for an hour; what comes after that is told as new. All of it follows from
the records and the times that they carry, so that a process that starts again reads the last hour and knows what was told;
a group that has gone on for longer is counted from there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from ..verdicts import Verdict, Violation

TOLD = 3
"""Runs of a group that are told one by one."""
QUIET_MS = 3_600_000
"""Without a violation for so long a group has ended."""
SUMMARY_MS = 600_000
"""Least time between two counts of the same group."""
GROUPS = 5_000
"""Groups that are remembered; over it the one that was silent longest ends."""
CASES = 1_000
"""Runs of a group that are remembered, to know a record that comes again; over it such a one counts once more."""


class Key(NamedTuple):
    """What violations of one group have in common."""

    agent: str
    version: str
    environment: str
    suite: str
    check: str


@dataclass(slots=True)
class Group:
    """Violations that belong together. Times are milliseconds, as the records carry them."""

    key: Key
    since: int
    last: int
    count: int = 0
    """Runs that violated, those taken back included."""
    resolved: int = 0
    """Runs of them that were taken back by a late event."""
    runs: list[Verdict] = field(default_factory=list)
    """The verdicts of the first runs, the latest first if none is left of them."""
    counted: int = 0
    """How many runs had been told of when the last count was given."""
    counted_at: int = 0
    cases: dict[tuple[str, str], bool] = field(default_factory=dict)
    """Runs and whether each was taken back."""

    @property
    def verdict(self) -> Verdict:
        """The first verdict: what the check is, how severe, and whose."""
        return self.runs[0]


Kind = Literal["violation", "more", "taken_back", "resolved"]


class Notice(NamedTuple):
    """Something for people to hear."""

    kind: Kind
    """``violation``: one of a group's first runs; ``more``: the count has grown; ``taken_back``: a run of it was not one
    after all; ``resolved``: that was the last one."""
    group: Group
    verdict: Verdict
    """The one that is the occasion."""
    at: int


class Groups:
    """All groups that are going on."""

    def __init__(self) -> None:
        self.groups: dict[Key, Group] = {}

    def take(self, violation: Violation, at: int) -> list[Notice]:
        """A record; what is to be told because of it.

        Args:
            violation: what a worker published.
            at: the record's time, in milliseconds.
        """
        notices = [*self.passed(at)]
        verdict = violation.verdict
        key, case = key_of(verdict), (verdict.run_id, verdict.opened_at)
        group = self.groups.get(key)
        if violation.resolved:
            return [*notices, *self._take_back(key, group, case, verdict, at)]
        if group is None:
            notices += self._make_room()
            group = self.groups[key] = Group(key, at, at, counted_at=at)
        elif case in group.cases:
            return notices  # Published again after a crash.
        group.count += 1
        group.last = max(group.last, at)
        if len(group.cases) < CASES:
            group.cases[case] = False
        if group.count <= TOLD:
            group.runs.append(verdict)
            group.counted, group.counted_at = group.count, at
            notices.append(Notice("violation", group, verdict, at))
        return notices

    def passed(self, now: int) -> Iterator[Notice]:
        """What is to be told because time has passed: counts that are due. Ends the groups that have fallen silent."""
        for key, group in list(self.groups.items()):
            is_over = now - group.last >= QUIET_MS
            if group.count > group.counted and (is_over or now - group.counted_at >= SUMMARY_MS):
                group.counted, group.counted_at = group.count, now
                yield Notice("more", group, group.verdict, now)
            if is_over:
                del self.groups[key]

    def _take_back(
        self, key: Key, group: Group | None, case: tuple[str, str], verdict: Verdict, at: int
    ) -> Iterator[Notice]:
        if group is None:  # It was told more than an hour ago: whoever heard of it is to hear this too.
            group = Group(key, at, at, count=1, resolved=1, runs=[verdict])
            yield Notice("resolved", group, verdict, at)
        elif not group.cases.get(case, True):
            group.cases[case] = True
            group.resolved += 1
            if group.resolved == group.count:
                del self.groups[key]
                yield Notice("resolved", group, verdict, at)
            elif any(case == (told.run_id, told.opened_at) for told in group.runs):
                yield Notice("taken_back", group, verdict, at)

    def _make_room(self) -> Iterator[Notice]:
        if len(self.groups) >= GROUPS:
            oldest = min(self.groups.values(), key=lambda group: group.last)
            del self.groups[oldest.key]
            if oldest.count > oldest.counted:
                yield Notice("more", oldest, oldest.verdict, oldest.last)


def key_of(verdict: Verdict) -> Key:
    """The group that a violation belongs to."""
    agent = verdict.agent
    return Key(
        agent.name if agent else "",
        (agent.version if agent else None) or "",
        verdict.environment or "",
        verdict.suite,
        verdict.check,
    )
