"""Calls of one step are made together, so neither comes before the other (design 6, BUG-12)."""

from ...events import Event, Message


def is_past(event: Event, step: int) -> bool:
    """Does this event show that the step of an earlier call is over? Steps may be counted anew after a user message."""
    if isinstance(event, Message) and event.role != "user" and event.step is None:
        return False
    return event.step != step
