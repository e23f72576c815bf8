"""Is the state of the system what the task asked for?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ...answers import ASSERTIONS, Answer
from ...events import Event, compact
from ...grading import RunFacts, Seen
from ...questions import AskingGrader, Inquiry
from ...verdicts import Finding, Outcome, Reason
from ._flags import ACTING
from ._reply import TOLD, listed, short

LABEL = 100
"""Characters of a target's name."""
LENGTH = 64_000
"""Bytes that a specification may have: it travels in a request."""


@dataclass
class DroostState(AskingGrader):
    """Score 5 if every assertion of ``spec`` holds, and 0 otherwise; the reply is not read (R123 to R125).

    ``spec`` is a mapping with a ``target`` and a list ``assertions`` of mappings with ``id``, ``tier``, ``kind``, and what the
    kind asks for. Without one the check is skipped; one that is malformed asked to be graded here, and scores 0. Once the
    run is complete the judge worker looks: it reads the target's state as its ``probes`` allow, and an assertion of another
    kind, or one that could not be looked at, does not hold. No answer at all scores 0.

    ``results`` are an answer that is known already, so that nobody looks: by id true, false, null (nothing answered), or a
    mapping of ``ok`` and ``cause``.

    >>> from stream_graders.testing import graded, run
    >>> spec = {"assertions": [{"id": "type", "tier": "config"}, {"id": "page"}]}
    >>> grader = DroostState(spec, {"type": True, "page": {"ok": False, "cause": "not published"}})
    >>> print(graded(grader, run().says("All done.").ends()).evidence)
    1 of 2 assertions hold
    PASS type (config)
    FAIL page: not published
    """

    version = 2
    metadata = ACTING
    costs = False
    rule = "probe"
    nobody = Finding(Outcome.NOT_GRADED, Reason.NO_PROBE, "no probe has looked at the state", sound=True)
    scale = (0, 5)
    pass_at = 3.5
    references: ClassVar[dict[str, str]] = {"spec": "metadata.droost"}

    spec: Any = None
    results: Any = None

    def __post_init__(self) -> None:
        self.settled = self._without() is not None

    def wants(self) -> tuple[type[Event], ...]:
        return ()

    def problems(self) -> list[tuple[str, str]]:
        if self.results is None or isinstance(self.results, dict):
            return []
        return [("results", "should be a mapping from the ids of assertions to true, false or null")]

    def warnings(self) -> list[tuple[str, str]]:
        if self.spec is None:
            return [("spec", "asserts nothing, so a run that brings no spec of its own is skipped")]
        fault = self._fault()
        return [] if fault is None else [("spec", f"every run scores 0: {fault}")]

    def update(self, seen: Seen) -> None:
        raise NotImplementedError("it reads no event")

    def finding(self, run: RunFacts) -> Finding:
        return self._without() or self.nobody

    def judges(self) -> tuple[str, ...]:
        target = self.spec.get("target")
        return (target[:LABEL],) if isinstance(target, str) and target else ()

    def inquiry(self, run: RunFacts) -> Inquiry:
        return Inquiry({"assertions": compact(self.spec["assertions"])}, False, ())

    def answered(self, answer: Answer) -> Finding:
        if answer.results is None:
            text = f"{answer.code or 'malformed'}: {answer.said or 'the answer tells of no look'}"
            return Finding(Outcome.ERROR, Reason.JUDGE_ERROR, text, sound=True)
        return self._looked({name: {"ok": is_ok, "cause": cause} for name, (is_ok, cause) in answer.results.items()})

    def _without(self) -> Finding | None:
        """What can be said before anybody has looked."""
        if self.spec is None:
            return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, "no droost spec; skipping", sound=True)
        if (fault := self._fault()) is not None:
            return Finding(Outcome.FAIL, Reason.SETUP_FAILED, f"setup failed: {fault}", sound=True)
        return None if self.results is None else self._looked(self.results)

    def _looked(self, results: Any) -> Finding:
        if not results or not isinstance(results, dict):
            return Finding(Outcome.FAIL, Reason.SETUP_FAILED, "setup failed: the probes returned nothing", sound=True)
        lines = list(self._lines(results))
        held = sum(line.startswith("PASS") for line in lines)
        if len(lines) > TOLD:
            lines.sort(key=lambda line: line.startswith("PASS"))
        text = "\n".join([f"{held} of {len(lines)} assertions hold", listed(lines, "\n")])
        if held < len(lines):
            return Finding(Outcome.FAIL, Reason.STATE_NOT_AS_EXPECTED, text, sound=True)
        return Finding(Outcome.PASS, Reason.STATE_AS_EXPECTED, text, sound=True)

    def _fault(self) -> str | None:
        if not isinstance(self.spec, dict):
            return "the spec is no mapping"
        assertions = self.spec.get("assertions")
        if not isinstance(assertions, list) or not assertions:
            return "assertions is no list with entries"
        if len(assertions) > ASSERTIONS or len(compact(assertions).encode()) > LENGTH:
            return f"assertions has more than {ASSERTIONS} entries, or more than {LENGTH} bytes"
        return None

    def _lines(self, results: dict[str, Any]) -> Iterator[str]:
        for n, assertion in enumerate(self.spec["assertions"]):
            known = assertion if isinstance(assertion, dict) else {}
            name = known.get("id")
            label = short(str(name)) if name else f"assertion {n + 1}"
            result = results.get(name) if isinstance(name, str) else None
            is_ok = result.get("ok") if isinstance(result, dict) else result
            cause = result.get("cause") if isinstance(result, dict) else None
            if not name:
                cause = "has no id"
            elif is_ok is None:
                cause = cause or "nothing answered"
            tier = f" ({short(str(known['tier']))})" if known.get("tier") else ""
            told = f": {short(str(cause))}" if cause and is_ok is not True else ""
            yield f"{'PASS' if is_ok is True else 'FAIL'} {label}{tier}{told}"
