"""Times of events, as far as they can be compared: each producer's clock with itself only (design 2: time is log time)."""

from datetime import UTC, datetime

from ...events import Event

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def seconds(event: Event) -> float:
    """When an event happened, in seconds since 1970, to the microsecond."""
    ts = event.ts
    return ts / 1e9 if isinstance(ts, int) else (ts - _EPOCH).total_seconds()
