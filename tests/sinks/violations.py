"""Violations to tell people of, made from the one in the topic's file."""

from collections.abc import Mapping
from typing import Any

import msgspec

from stream_graders.events import Agent
from stream_graders.stream.topics import load_topics
from stream_graders.verdicts import Violation

(_EXAMPLE,) = next(topic for topic in load_topics() if topic.name == "agent.violations.v1").examples
_FIRST = msgspec.convert(_EXAMPLE.value, Violation)
AT = 1_800_000_000_000


def violation(
    run_id: str, version: str = "1.4.2", *, resolved: bool = False, known: Mapping[str, Any] | None = None
) -> Violation:
    """That auth-before-refund failed in a run, or did not after all."""
    verdict = msgspec.structs.replace(
        _FIRST.verdict, run_id=run_id, id=f"v-{run_id}", agent=Agent("support-bot", version), **(known or {})
    )
    return Violation(id=f"{run_id}-{resolved}", resolved=resolved, verdict=verdict)
