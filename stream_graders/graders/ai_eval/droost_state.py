"""Is the state of the system what the task asked for?"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ...events import Event
from ...grading import Grader, RunFacts, Seen
from ...verdicts import Finding, Outcome, Reason
from ._flags import ACTING
from ._reply import listed, short


@dataclass
class DroostState(Grader):
    """Score 5 if every assertion of ``spec`` holds, and 0 otherwise; the reply is not read (R123 to R125).

    ``spec`` is a mapping with a list ``assertions`` of mappings with ``id``, ``tier`` and ``kind``. Without one the check
    is skipped; one that is malformed asked to be graded here, and scores 0. ``results`` is what looking at the state
    gave: by id true, false, null (nothing answered), or a mapping of ``ok`` and ``cause``. An assertion without an answer
    does not hold, and no answer at all scores 0. Without ``results`` nobody knows: nothing here looks at the state yet.

    >>> from stream_graders.testing import graded, run
    >>> spec = {"assertions": [{"id": "type", "tier": "config"}, {"id": "page"}]}
    >>> grader = DroostState(spec, {"type": True, "page": {"ok": False, "cause": "not published"}})
    >>> print(graded(grader, run().says("All done.").ends()).evidence)
    1 of 2 assertions hold
    PASS type (config)
    FAIL page: not published
    """

    metadata = ACTING
    scale = (0, 5)
    pass_at = 3.5
    references: ClassVar[dict[str, str]] = {"spec": "metadata.droost"}

    spec: Any = None
    results: Any = None

    def __post_init__(self) -> None:
        self.settled = True

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
        if self.spec is None:
            return Finding(Outcome.SKIPPED, Reason.NO_REFERENCE, "no droost spec; skipping", sound=True)
        if (fault := self._fault()) is not None:
            return Finding(Outcome.FAIL, Reason.SETUP_FAILED, f"setup failed: {fault}", sound=True)
        if self.results is None:
            return Finding(Outcome.NOT_GRADED, Reason.NO_PROBE, "no probe looks at the state yet", sound=True)
        if not self.results or not isinstance(self.results, dict):
            return Finding(Outcome.FAIL, Reason.SETUP_FAILED, "setup failed: the probes returned nothing", sound=True)
        lines = list(self._lines())
        held = sum(line.startswith("PASS") for line in lines)
        text = "\n".join([f"{held} of {len(lines)} assertions hold", listed(lines, "\n")])
        if held < len(lines):
            return Finding(Outcome.FAIL, Reason.STATE_NOT_AS_EXPECTED, text, sound=True)
        return Finding(Outcome.PASS, Reason.STATE_AS_EXPECTED, text, sound=True)

    def _fault(self) -> str | None:
        if not isinstance(self.spec, dict):
            return "the spec is no mapping"
        assertions = self.spec.get("assertions")
        return None if isinstance(assertions, list) and assertions else "assertions is no list with entries"

    def _lines(self) -> Iterator[str]:
        for n, assertion in enumerate(self.spec["assertions"]):
            known = assertion if isinstance(assertion, dict) else {}
            name = known.get("id")
            label = short(str(name)) if name else f"assertion {n + 1}"
            result = self.results.get(name) if isinstance(name, str) else None
            is_ok = result.get("ok") if isinstance(result, dict) else result
            cause = result.get("cause") if isinstance(result, dict) else None
            if not name:
                cause = "has no id"
            elif is_ok is None:
                cause = cause or "nothing answered"
            tier = f" ({short(str(known['tier']))})" if known.get("tier") else ""
            told = f": {short(str(cause))}" if cause and is_ok is not True else ""
            yield f"{'PASS' if is_ok is True else 'FAIL'} {label}{tier}{told}"
