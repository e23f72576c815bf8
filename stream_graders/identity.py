"""What a run is known by, as its events tell it, at a length that each of its records can bear."""

from typing import Any

from .events import Agent, Event, Message, RunStart, Trace
from .verdicts import Identity, identity_with

WORDS = 512
"""Characters of a name, version or id that a run's records repeat; the rest is cut, so that every record stays small."""
LABELS = 32
LABEL = 256
"""A run carries at most 32 labels, of at most 256 characters in name and in value."""


def started(identity: Identity, event: RunStart) -> Identity:
    """The identity once the run's start is known: what it says wins over what earlier events said."""
    known = {
        "agent": _agent(event.agent) or identity.agent,
        "model": cut(event.model) or identity.model,
        "variant": event.variant,
        "pair_id": cut(event.pair_id),
        "labels": _labels(event.labels) or identity.labels,
    }
    return identity_with(identity, known)


def learned(identity: Identity, event: Event) -> Identity:
    """The identity with what an event says first: the first agent, model, environment and so on that are named."""
    new: dict[str, Any] = {}
    if identity.agent is None and event.agent is not None:
        new["agent"] = _agent(event.agent)
    if identity.model is None and isinstance(event, Message) and event.model:
        new["model"] = cut(event.model)
    for name in ("environment", "session_id", "root_run_id"):
        if getattr(identity, name) is None and (value := getattr(event, name)) is not None:
            new[name] = cut(value)
    if identity.trace is None and (trace := event.trace) is not None:
        new["trace"] = Trace(cut(trace.trace_id) or "", cut(trace.span_id), cut(trace.parent_span_id))
    return identity_with(identity, new) if new else identity


def are_many(labels: dict[str, str] | None) -> bool:
    """Are labels more, or longer, than a run carries?"""
    if not labels:
        return False
    return len(labels) > LABELS or max(map(len, [*labels, *labels.values()])) > LABEL


def cut(text: str | None) -> str | None:
    """A text that a sender chose, cut to `WORDS` characters."""
    return text if text is None or len(text) <= WORDS else text[: WORDS - 1] + "…"


def _labels(labels: dict[str, str] | None) -> dict[str, str] | None:
    if labels is None or not are_many(labels):
        return labels
    return {name[:LABEL]: value[:LABEL] for name, value in [*labels.items()][:LABELS]}


def _agent(agent: Agent | None) -> Agent | None:
    if agent is None or (len(agent.version or "") <= WORDS and len(agent.id or "") <= WORDS):
        return agent
    return Agent(agent.name, cut(agent.version), cut(agent.id))
