"""When a check asks a judge, what the request holds, and what its answer makes of the check."""

from dataclasses import dataclass
from hashlib import blake2b

from .answers import ASKS
from .entries import Entry
from .events import canonical_json
from .folding import Combination
from .matching.tools import fits_any
from .questions import AskingGrader, Inquiry
from .suites import Check, Judging, Suite
from .verdicts import Finding, JudgeRequest, Outcome, Reason, identify
from .weighing import Standpoint

_ANY = Judging()


@dataclass(frozen=True, slots=True)
class Ask:
    """An effect: have a judge answer this. ``offset`` is the journal offset of the record that made it due."""

    record: JudgeRequest
    offset: int | None = None


def hanging(entries: list[Entry]) -> dict[Entry, list[Entry]]:
    """Of each check that depends on one that asks a judge, directly or not, what it depends on."""
    named: dict[str, Entry] = {}
    found: dict[Entry, list[Entry]] = {}
    for entry in entries:
        grader, when = entry.grader, entry.check.when
        names = grader.checks if isinstance(grader, Combination) else ()
        names = names if when is None or when.check is None else (*names, when.check)
        others = [named[name] for name in names if name in named]
        if any(other.grader.asks or other in found for other in others):
            found[entry] = others
        named[entry.check.name] = entry
    return found


def drawn(check: Check, at: Standpoint, inquiry: Inquiry, *, failed: bool) -> tuple[float, bool]:
    """How likely it was that a judge would be asked about such a run, and whether one is.

    Runs of which each is judged (a check ``failed``, a planted answer is suspected, a version of the agent that is named) are
    judged for certain; the others by a hash of their id, so that a replay draws the same ones, and who judges more judges
    all that who judges less does.
    """
    judging = check.judge or _ANY
    agent = at.identity.agent
    is_certain = ("injection" in judging.always and "injection_suspected" in inquiry.flags) or (
        failed and "failed" in judging.always
    )
    version = None if agent is None else agent.version
    if is_certain or (version is not None and fits_any(version, judging.versions)):
        return 1.0, True
    return judging.sample, judging.drawn(at.run_id)


def request_of(suite: Suite, entry: Entry, inquiry: Inquiry, at: Standpoint, times: int) -> JudgeRequest:
    """A check's request, its ``times``-th of this run. Its id stands for every byte that the judge is shown: a redelivery
    makes the same one.
    """
    check, grader = entry.check, entry.grader
    assert isinstance(grader, AskingGrader)
    judging = check.judge or _ANY
    scale = grader.answers_on or grader.scale
    model, *panel = grader.judges() or (judging.model, *judging.panel)
    shown = [inquiry.input, scale, grader.rule, [model, panel, judging.escalate], inquiry.flags]
    content = blake2b(canonical_json(shown), digest_size=16).hexdigest()
    return JudgeRequest(
        id=identify(at.segment, suite.name, check.key(check.turn), content, times),
        run_id=at.run_id,
        suite=suite.name,
        check=check.name,
        check_version=check.version,
        grader=grader.name,
        model=model,
        panel=tuple(panel),
        escalate=judging.escalate,
        rule=grader.rule,
        scale=scale,
        pass_at=_passes_at(check, grader, scale),
        input=inquiry.input,
        truncated=inquiry.truncated,
        flags=inquiry.flags,
        inclusion_probability=entry.probability,
        budget=judging.budget,
        asked_at=at.now,
        due=at.now + judging.deadline,
        tenant=at.identity.tenant,
    )


def _passes_at(check: Check, grader: AskingGrader, scale: tuple[float, float]) -> float | None:
    """The threshold on the scale that the judge answers on."""
    at = check.pass_at if check.pass_at is not None else grader.pass_at
    top = grader.mapped(scale[1])
    return None if at is None else at * scale[1] / top if top else at


def answered(entry: Entry) -> Finding:
    """What a check's judge said, or why none did."""
    grader, asked = entry.grader, entry.asked
    assert isinstance(grader, AskingGrader)
    standing = None if asked is None else asked.standing
    if asked is not None and standing == "answered":
        return grader.answered(asked.read)
    if standing == "late":
        return Finding(grader.unanswered, Reason.JUDGE_DEADLINE, "no judge answered in time")
    if standing == "sampled_out":
        text = f"the run is not among the {(entry.check.judge or _ANY).sample:.4g} of runs that are judged"
        return Finding(Outcome.NOT_GRADED, Reason.SAMPLED_OUT, text)
    if standing == "spent":
        text = f"late events changed what is to be judged more than {ASKS - 1} times"
        return Finding(Outcome.NOT_GRADED, Reason.BUDGET, text)
    return grader.nobody
