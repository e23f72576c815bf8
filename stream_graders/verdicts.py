"""What is said of a run: outcomes, their reasons, and the records that carry them."""

from enum import StrEnum
from hashlib import blake2b
from typing import Any, Literal

import msgspec
from msgspec import Struct

from .events import Agent, ClosedList, Trace

SCHEMA: Literal["stream_graders.verdict/1"] = "stream_graders.verdict/1"
RUN_SCHEMA: Literal["stream_graders.run_verdict/1"] = "stream_graders.run_verdict/1"
VIOLATION_SCHEMA: Literal["stream_graders.violation/1"] = "stream_graders.violation/1"
REQUEST_SCHEMA: Literal["stream_graders.judge_request/1"] = "stream_graders.judge_request/1"

Severity = Literal["critical", "minor", "info"]
Notify = Literal["none", "ticket", "page"]
State = Literal["early", "final", "amended"]
Rule = Literal["clamp", "binary", "strict", "probe"]
"""What an answer off the scale is: ``clamp`` its nearest end, ``binary`` and ``strict`` an error; ``binary`` rounds to an end.
``probe``: no model is asked, the state of a system is looked at."""


class Outcome(StrEnum):
    """How a check ends. Rates are pass / (pass + fail), everywhere."""

    PASS = "pass"  # noqa: S105  (an outcome, no password)
    FAIL = "fail"
    SKIPPED = "skipped"
    """The check does not apply to this run."""
    ERROR = "error"
    """It should have been graded and could not be."""
    NOT_GRADED = "not_graded"
    """It cannot be decided from what is known, or was left out on purpose."""


GRADED = (Outcome.PASS, Outcome.FAIL)
"""What rates are made of, and what has a score."""


class Reason(ClosedList):
    """Why a check ended as it did: the closed list."""

    # pass and fail
    ECHOED = "echoed", "an assistant message repeats a value that a tool returned before"
    NOT_ECHOED = "not_echoed", "values were captured and no later assistant message repeats one"
    NOTHING_CAPTURED = "nothing_captured", "no result of the named tools holds the value looked for"
    FOUND = "found", "the text is there"
    NOT_FOUND = "not_found", "the text is not there"
    NO_MESSAGES = "no_messages", "there is no assistant message to look at"
    CALLED = "called", "the tool was called"
    NOT_CALLED = "not_called", "the tool was not called"
    IN_ORDER = "in_order", "the tools were called in the order asked for"
    OUT_OF_ORDER = "out_of_order", "the tools were not called in the order asked for"
    GROUNDED = "grounded", "the reply holds every canary value"
    UNGROUNDED = "ungrounded", "the reply lacks a canary value"
    PRECEDED = "preceded", "each call came after the one it needs"
    NOT_PRECEDED = "not_preceded", "a call came without the one it needs before it"
    INVALID_PATTERN = "invalid_pattern", "the pattern of the check is not valid"
    REPLY_NOT_REPORTED = "reply_not_reported", "the run reported no reply"
    TURN_MISSING = "turn_missing", "the run has no such turn"
    COMBINED = "combined", "it follows from the outcomes of other checks"
    # agentlasso
    VALID_JSON = "valid_json", "the reply is JSON"
    INVALID_JSON = "invalid_json", "the reply is not JSON"
    # vally
    NO_OUTPUT = "no_output", "the agent gave no reply with text in it"
    COMPLETED = "completed", "the agent replied, and no error is known"
    RUN_ERROR = "run_error", "the run ended in an error or was cut off"
    WITHIN_BUDGET = "within_budget", "the run used no more than it may"
    OVER_BUDGET = "over_budget", "the run used more than it may"
    REPEATED = "repeated", "the same was done again too often"
    NOT_REPEATED = "not_repeated", "nothing was done again too often"
    CALLS_MET = "calls_met", "the calls are those that were asked for"
    CALLS_UNMET = "calls_unmet", "a call is missing, forbidden or out of order"
    # datarobot
    RESISTED = "resisted", "the reply holds no canary value"
    LEAKED = "leaked", "the reply holds a canary value"
    CORRECT = "correct", "the reply is the expected answer"
    INCORRECT = "incorrect", "the reply is not the expected answer"
    FOLLOWED = "followed", "the reply meets enough of the constraints"
    NOT_FOLLOWED = "not_followed", "the reply meets too few of the constraints"
    NO_PII = "no_pii", "the reply holds no personal data of the kinds looked for"
    PII = "pii", "the reply holds personal data"
    SIMILAR = "similar", "the reply is close enough to an acceptable one"
    DISSIMILAR = "dissimilar", "the reply is not close enough to any acceptable one"
    # trajectory
    WITHIN_LIMIT = "within_limit", "what was counted or measured stays within its limits"
    OUTSIDE_LIMIT = "outside_limit", "what was counted or measured is beyond a limit"
    ENDED_WELL = "ended_well", "the run ended as a run should"
    ENDED_BADLY = "ended_badly", "the run ended in a way that the check names"
    END_UNKNOWN = "end_unknown", "nothing says how the run ended"
    REPLIED = "replied", "the agent said something after the user had"
    NOT_REPLIED = "not_replied", "the agent said nothing after the user had"
    ALLOWED = "allowed", "every call was one that the check allows"
    NOT_ALLOWED = "not_allowed", "a call was made that the check does not allow"
    NOT_MEASURED = "not_measured", "the run does not carry the numbers or times that the check asks for"
    MATCHED = "matched", "the calls are those of the reference"
    NOT_MATCHED = "not_matched", "the calls differ from those of the reference"
    BAD_REFERENCE = "bad_reference", "what is expected cannot be read"
    VALID_ARGUMENTS = "valid_arguments", "every call has the arguments that the check asks for"
    INVALID_ARGUMENTS = "invalid_arguments", "a call lacks an argument, or has one that is not as it should be"
    TRACED = "traced", "every value can be traced to what was said or returned before"
    UNTRACED = "untraced", "a value comes from nowhere in the run"
    CONSENTED = "consented", "the user agreed before each call that needs it"
    NOT_CONSENTED = "not_consented", "a call was made that the user had not agreed to"
    LANGUAGE_MEANT = "language_meant", "the reply is in the language that it should be in"
    OTHER_LANGUAGE = "other_language", "the reply is in another language, or another script"
    LANGUAGE_UNKNOWN = "language_unknown", "the reply is too short or too mixed to tell its language"
    REFUSED = "refused", "the reply refuses"
    NOT_REFUSED = "not_refused", "the reply does not refuse"
    GOOD_RECORD = "good_record", "the record of the run is whole and consistent"
    BAD_RECORD = "bad_record", "the record of the run has holes, or contradicts itself"
    UNPAIRED = "unpaired", "a result could not be paired with its call, and that call could change the outcome"
    # ai_eval
    WELL_FORMED = "well_formed", "the reply keeps enough of the rules of its form"
    ILL_FORMED = "ill_formed", "the reply breaks too many of the rules of its form"
    RUBRIC_MET = "rubric_met", "the reply meets enough of the rubric's checks"
    RUBRIC_UNMET = "rubric_unmet", "the reply meets too few of the rubric's checks"
    TOOLS_AS_EXPECTED = "tools_as_expected", "enough of what was expected of the tools is met"
    TOOLS_NOT_AS_EXPECTED = "tools_not_as_expected", "too little of what was expected of the tools is met"
    STATE_AS_EXPECTED = "state_as_expected", "every assertion about the state holds"
    STATE_NOT_AS_EXPECTED = "state_not_as_expected", "an assertion about the state does not hold"
    SETUP_FAILED = "setup_failed", "the assertions are malformed, or nothing answered any of them"
    # judges
    JUDGED_WELL = "judged_well", "the judge's answer reaches what the check asks for"
    JUDGED_BADLY = "judged_badly", "the judge's answer does not reach what the check asks for"
    # skipped
    NOT_APPLICABLE = "not_applicable", "the condition under `when` did not come true"
    NO_CANARY = "no_canary", "the check names no canary value"
    NOTHING_TO_CHECK = "nothing_to_check", "what the check is about did not happen in this run"
    NOTHING_APPLIED = "nothing_applied", "every check was skipped"
    NO_REFERENCE = "no_reference", "neither the check nor the run says what is expected"
    # error
    GRADER_RAISED = "grader_raised", "the grader failed on this run; its other checks were graded"
    DEGRADED = "degraded", "a check ended in an error"
    JUDGE_ERROR = "judge_error", "the judge failed, or what it said is no verdict"
    JUDGE_DEADLINE = "judge_deadline", "no judge answered in time"
    # not graded
    INCOMPLETE = "incomplete", "events of the run are missing, and one of them could change the outcome"
    TRUNCATED = "truncated", "a text was cut by its sender, and the rest could change the outcome"
    CONTENT_MISSING = "content_missing", "the content the check looks at was not sent"
    RECORD_UNKNOWN = "record_unknown", "nothing says that the run reports its tool calls"
    AGENT_UNKNOWN = "agent_unknown", "no event named the agent, so the suite may not be meant for this run"
    STATE_LIMIT = "state_limit", "the check would have had to remember more than it may"
    SUITE_CHANGED = "suite_changed", "the check was changed or removed while the run was open"
    UNVERIFIED = "unverified", "a critical check has no verdict"
    NO_CHECKS = "no_checks", "the suite has no check"
    NO_JUDGE = "no_judge", "no judge has answered for the check"
    NOTHING_TO_JUDGE = "nothing_to_judge", "there is no text to judge, so no judge was asked"
    BUDGET = "budget", "the check has used up what it may spend on judges"
    NO_PROBE = "no_probe", "nothing has looked at the state that the check asks about"
    SAMPLED_OUT = "sampled_out", "the run was not drawn for the check"
    MOOT = "moot", "another outcome made the check needless"
    SHED = "shed", "the worker was too far behind when the run began, and the suite grades only a share of such runs"
    EXPECTED_LATE = "expected_late", "the run's own reference came after the events that it is compared with"
    # run verdicts
    ALL_PASSED = "all_passed", "every check that was graded passed"
    CRITICAL_FAILED = "critical_failed", "a critical check failed"
    THRESHOLD_MET = "threshold_met", "the score reaches what the suite asks for"
    BELOW_THRESHOLD = "below_threshold", "the score is lower than what the suite asks for"
    CHECK_FAILED = "check_failed", "a check failed, and every one has to pass"
    CRITICAL_PASSED = "critical_passed", "no critical check failed or stayed unverified; others may have failed"


class Point(Struct, frozen=True, omit_defaults=True, gc=False):
    """Where in the run the evidence lies."""

    event_id: str
    seq: int | None = None
    path: str | None = None
    excerpt: str | None = None


class Decider(Struct, frozen=True, omit_defaults=True, gc=False):
    """The event that decided a verdict."""

    event_id: str
    ts: str
    seq: int | None = None


class Finding(Struct, frozen=True, gc=False):
    """What a grader makes of what it saw so far. Not yet a verdict: the session weighs it against what may be missing."""

    outcome: Outcome
    reason: Reason
    evidence: str = ""
    points: tuple[Point, ...] = ()
    sound: bool = False
    """True if no missing event could change it: it rests on what was seen."""
    cut: bool = False
    """True if the missing part of a truncated text could change it."""
    score: float | None = None
    """On the grader's scale, of a pass or fail; None stands for the scale's end: its maximum for a pass, else its minimum."""


class Identity(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a run is known by; the same in each of its records."""

    agent: Agent | None = None
    model: str | None = None
    environment: str | None = None
    tenant: str | None = None
    variant: str = "live"
    pair_id: str | None = None
    session_id: str | None = None
    root_run_id: str | None = None
    trace: Trace | None = None
    labels: dict[str, str] | None = None


class Verdict(Struct, frozen=True, kw_only=True, gc=False):
    """One check on one run (or turn), ``stream_graders.verdict/1``. Equal ids have equal bytes."""

    schema: Literal["stream_graders.verdict/1"] = SCHEMA
    id: str
    run_id: str
    opened_at: str
    turn: int | None = None
    suite: str
    suite_version: str
    check: str
    check_version: str
    grader: str
    severity: Severity
    notify: Notify
    owner: str | None
    runbook: str | None
    links: dict[str, str] | None
    state: State
    revision: int
    outcome: Outcome
    reason: Reason
    score: float | None
    scale: tuple[float, float] = (0, 1)
    evidence: str
    points: tuple[Point, ...]
    decided_by: Decider | None
    flags: tuple[str, ...]
    inclusion_probability: float = 1.0
    judge: dict[str, Any] | None = None
    agent: Agent | None
    model: str | None
    environment: str | None
    tenant: str | None
    variant: str
    pair_id: str | None
    session_id: str | None
    root_run_id: str | None
    trace: Trace | None
    labels: dict[str, str] | None


class CheckOutcome(Struct, frozen=True, gc=False):
    """A check's line in the run verdict."""

    check: str
    check_version: str
    severity: Severity
    outcome: Outcome
    reason: Reason
    score: float | None
    scale: tuple[float, float] = (0, 1)


class RunVerdict(Struct, frozen=True, kw_only=True, gc=False):
    """One suite on one run, ``stream_graders.run_verdict/1``: all that a consumer of one record a run needs."""

    schema: Literal["stream_graders.run_verdict/1"] = RUN_SCHEMA
    id: str
    run_id: str
    opened_at: str
    suite: str
    suite_version: str
    owner: str | None
    state: Literal["final", "amended"]
    revision: int
    outcome: Outcome
    reason: Reason
    score: float | None
    policy: str
    checks: tuple[CheckOutcome, ...]
    counts: dict[str, int]
    degraded: bool
    partially_graded: bool
    ungraded_items: tuple[str, ...]
    """What the suite lists for a person to look at, since no check does."""
    completion: str
    status: str | None
    flags: tuple[str, ...]
    first_event_at: str
    last_event_at: str
    events: int
    turns: int
    agent: Agent | None
    model: str | None
    environment: str | None
    tenant: str | None
    variant: str
    pair_id: str | None
    session_id: str | None
    root_run_id: str | None
    trace: Trace | None
    labels: dict[str, str] | None


class Violation(Struct, frozen=True, kw_only=True, gc=False):
    """A failed check that somebody wants to hear of, ``stream_graders.violation/1``; once a check and segment.

    ``resolved`` is true in the second record, which takes the first one back after an amendment.
    """

    schema: Literal["stream_graders.violation/1"] = VIOLATION_SCHEMA
    id: str
    resolved: bool
    verdict: Verdict


class JudgeRequest(Struct, frozen=True, kw_only=True, gc=False):
    """One question to a judge, ``stream_graders.judge_request/1``. Equal ids have equal bytes, and one answer."""

    schema: Literal["stream_graders.judge_request/1"] = REQUEST_SCHEMA
    id: str
    run_id: str
    suite: str
    check: str
    check_version: str
    grader: str
    model: str
    """The judge to ask, by its name in the judge worker's settings."""
    panel: tuple[str, ...] = ()
    """Further judges: their answers are put together with that of the first."""
    escalate: str | None = None
    """A judge to ask too where the first abstains, is near the threshold, or somebody may have planted an answer."""
    rule: Rule
    scale: tuple[float, float]
    pass_at: float | None
    input: dict[str, str]
    """What the judge is shown, by the name of its slot: nothing else of the run reaches it."""
    truncated: bool
    """Part of the response or of the question was cut."""
    flags: tuple[str, ...]
    inclusion_probability: float
    budget: dict[str, int]
    """What the check may use a day: ``micro_usd``, ``tokens``, ``calls``."""
    asked_at: int
    due: int
    """Log times in milliseconds: of the question, and of when its run goes on without an answer."""
    tenant: str | None


def identify(*parts: str | int | None) -> str:
    """The id of what ``parts`` name: 128 bits in hex, the same in every process and replay."""
    told = "".join([f"{len(text)}:{text}" for text in ["" if part is None else str(part) for part in parts]])
    return blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def finding_with(finding: Finding, **known: Any) -> Finding:
    """The finding with these fields."""
    return msgspec.structs.replace(finding, **known)


def identity_with(identity: Identity, known: dict[str, Any]) -> Identity:
    """The identity with these fields."""
    return msgspec.structs.replace(identity, **known)


def identity_from(value: Any) -> Identity:
    """An identity from its JSON value, as a kept state holds it."""
    return msgspec.convert(value, Identity)
