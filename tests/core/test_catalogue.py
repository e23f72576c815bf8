"""Graders of other packages, by entry point (P9, R156, R157)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_graders.catalogue import catalogue, grader_named
from stream_graders.config import load
from stream_graders.laws import LAWS
from stream_graders.testing import fed, graded, run, run_verdicts_of, session_of
from stream_graders.verdicts import Verdict

ACME = '''
from dataclasses import dataclass, field

from stream_graders.events import Event, Message
from stream_graders.grading import Grader, RunFacts, Seen
from stream_graders.verdicts import Finding, Outcome, Reason


@dataclass
class Brevity(Grader):
    """Ten points, less one for each message over the limit."""

    order_free = True
    scale = (0, 10)
    pass_at = 7.0
    metadata = {"observes_actions": "no"}

    limit: int = 20

    long: list[str] = field(default_factory=list, init=False)
    cut: bool = field(default=False, init=False)

    def wants(self) -> tuple[type[Event], ...]:
        return (Message,)

    def needs(self) -> frozenset[str]:
        return frozenset({"messages"})

    def update(self, seen: Seen) -> None:
        self.cut = self.cut or (seen.is_assistant and seen.truncated)
        if seen.is_assistant and len(seen.text) > self.limit and seen.event.id not in self.long and len(self.long) < 10:
            self.long.append(seen.event.id)

    def finding(self, run: RunFacts) -> Finding:
        score = 10.0 - len(self.long)
        outcome = Outcome.PASS if score >= self.pass_at else Outcome.FAIL
        return Finding(outcome, Reason.FOUND, f"{len(self.long)} long messages", score=score, cut=self.cut)


class NoGrader:
    pass
'''


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package beside ours, installed as pip would leave it."""
    (tmp_path / "acme_graders.py").write_text(ACME)
    info = tmp_path / "acme_graders-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-graders\nVersion: 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    catalogue.cache_clear()
    yield info / "entry_points.txt"
    catalogue.cache_clear()


def brings(file: Path, line: str) -> None:
    file.write_text(f"[stream_graders.graders]\n{line}\n")


def test_it_is_used_from_a_suite_with_its_own_scale(installed: Path, tmp_path: Path) -> None:
    brings(installed, "acme.brevity = acme_graders:Brevity")
    kind = grader_named("acme.brevity")
    assert kind is not None
    suite = tmp_path / "s.yaml"
    suite.write_text(
        "suite: s\nscoring: {policy: composite}\nchecks:\n"
        "  - {check: short, grader: acme.brevity, severity: critical, settings: {limit: 5}}\n"
    )
    loaded = load(suite)
    session = session_of(loaded)
    effects = fed(session, run().starts().says("hello there").says("no").ends())
    (record,) = run_verdicts_of(effects)
    assert (record.checks[0].score, record.checks[0].scale, record.score, record.outcome) == (9.0, (0, 10), 4.5, "pass")
    verdict: Verdict = graded(loaded.checks[0], run().starts().says("hello there").ends())
    assert verdict.grader == "acme.brevity"


def test_it_is_held_to_the_laws(installed: Path) -> None:
    brings(installed, "acme.brevity = acme_graders:Brevity")
    kind = grader_named("acme.brevity")
    assert kind is not None
    for law in LAWS:
        law(kind(), list(run().starts().asks("x").says("a long message of many words").ends()))


WRONG = {
    "the name of a grader of ours": ("vally.transcript_contains = acme_graders:Brevity", "the name is taken"),
    "a name in a family of ours": ("vally.brevity = acme_graders:Brevity", "the name is taken"),
    "one word": ("brevity = acme_graders:Brevity", "write the name as family.question"),
    "no grader": ("acme.brevity = acme_graders:NoGrader", "is no subclass of"),
}


@pytest.mark.parametrize(("line", "said"), WRONG.values(), ids=list(WRONG))
def test_what_is_wrong_with_it_stops_the_program(installed: Path, line: str, said: str) -> None:
    brings(installed, line)
    with pytest.raises(LookupError, match=f"entry point .* of acme-graders: .*{said}"):
        catalogue()
