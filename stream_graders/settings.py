"""What a worker must be told."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from .security import UNSECURED, Security


@dataclass(frozen=True)
class Settings:
    """A worker's settings; `stream-graders worker --help` says where each comes from."""

    bootstrap: str
    """Kafka's addresses, host:port with commas."""
    app: str = "stream-graders"
    """The consumer group, and the front of the changelog's name."""
    slot: str = "0"
    """Names this worker among its group, the same at each of its starts: its static membership."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Physical topic names by the names in topics/."""
    metrics_port: int = 9808
    """Where /metrics, /healthz and /readyz are served; 0 for none."""
    metrics_host: str = "127.0.0.1"
    accept_loss: bool = False
    """Go on although records were removed before they were graded; it is written down."""
    session_timeout: float = 10.0
    """Seconds after which the group gives a silent worker's partitions to others."""
    security: Security = UNSECURED
    """How Kafka is spoken to."""

    def topic(self, name: str) -> str:
        """The physical name of a topic."""
        return self.names.get(name, name)
