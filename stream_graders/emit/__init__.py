"""The SDK that agents send their events with.

It never blocks the agent, never raises into it and never loses an event without counting it: a call puts a small
object into a bounded backlog, a thread of its own does the rest.

>>> from stream_graders.emit.sinks import MemorySink
>>> emitter = Emitter(MemorySink(), agent="refunds", version="1.2")
>>> with emitter.run(run_id="r-7") as run:
...     run.user("Where is my refund?")
...     with run.tool("orders.lookup", {"id": 7}) as call:
...         call.result({"order_id": "ORD-1"})
...     run.assistant("It is on its way.")
>>> emitter.close()
>>> emitter.stats().sent
6
"""

import logging
import os
from functools import partial
from typing import Any, Literal, Self
from uuid import uuid4

from ..security import UNSECURED, SecurityError, from_environment
from .kafka import TOPIC, KafkaSink
from .outbox import Outbox, Stats
from .runs import Run, snapshot, text_of
from .sinks import Sink

_log = logging.getLogger(__name__)


class Emitter:
    """Sends the events of an agent's runs. One a process is enough; it may be used from any thread.

    A forked child begins anew, with another producer id; what its parent enqueued stays the parent's to send. Processes
    that end without Python's clean-up (``os._exit``, workers of multiprocessing) call `close` themselves.
    """

    def __init__(
        self,
        sink: Sink,
        *,
        agent: str | None = None,
        version: str | None = None,
        environment: str | None = None,
        tenant: str | None = None,
    ) -> None:
        self._outbox = Outbox(sink)
        self._agent = agent
        self._version = version
        self._common = {"environment": environment, "tenant": tenant}

    @classmethod
    def from_env(cls) -> Self:
        """An emitter as the environment describes it.

        ``SG_BOOTSTRAP_SERVERS``, ``SG_TOPIC`` (default ``agent.events.v1``), ``SG_AGENT_NAME``, ``SG_AGENT_VERSION``,
        ``SG_ENVIRONMENT``, ``SG_TENANT``, and the security settings of docs/security.md. Without servers, or with
        settings that cannot be used, a line in the log says so, and every event counts as dropped: an agent is not to
        fail for want of its monitoring.
        """
        servers = os.environ.get("SG_BOOTSTRAP_SERVERS", "")
        wrong = "" if servers else "SG_BOOTSTRAP_SERVERS is not set; set it to a broker's host:port"
        security = UNSECURED
        try:
            security = from_environment()
        except SecurityError as error:
            wrong = wrong or str(error)
        emitter = cls(
            KafkaSink(servers, os.environ.get("SG_TOPIC") or TOPIC, security=security),
            agent=os.environ.get("SG_AGENT_NAME"),
            version=os.environ.get("SG_AGENT_VERSION"),
            environment=os.environ.get("SG_ENVIRONMENT"),
            tenant=os.environ.get("SG_TENANT"),
        )
        if wrong:
            _log.warning("no agent events are sent: %s", wrong)
            emitter.close()
        return emitter

    def run(
        self,
        run_id: str | None = None,
        *,
        agent: str | None = None,
        version: str | None = None,
        model: str | None = None,
        session_id: str | None = None,
        parent_run_id: str | None = None,
        root_run_id: str | None = None,
        labels: dict[str, str] | None = None,
        expected: dict[str, Any] | None = None,
        variant: Literal["live", "candidate"] = "live",
        pair_id: str | None = None,
    ) -> Run:
        """Begin a run, or go on with one: its events are numbered on where an earlier block of this process stopped.

        Args:
            run_id: what the events are graded by as one unit; one is made where it is not given.
            agent, version: of this run, where they are not the emitter's.
            parent_run_id, root_run_id: where this run is a sub-agent's.
            expected: references for graders that take them (``criteria``, ``expected_facts``, ``expected_tools`` ...).
            variant: ``candidate`` keeps the run out of the grading of live traffic; ``pair_id`` names its live twin.
        """
        who = _texts(
            name=self._agent if agent is None else agent, version=self._version if version is None else version
        )
        envelope: dict[str, Any] = _texts(
            **self._common, session_id=session_id, parent_run_id=parent_run_id, root_run_id=root_run_id
        )
        if who.get("name"):
            envelope["agent"] = who
        run_id = uuid4().hex if run_id is None else text_of(run_id, uuid4().hex)
        start = _texts(model=model, pair_id=pair_id, variant="live" if text_of(variant) == "live" else "candidate")
        put = partial(self._outbox.put, run_id, envelope)
        return Run(run_id, put, **start, labels=snapshot(labels), expected=snapshot(expected))

    def flush(self, timeout: float = 5.0) -> bool:
        """Wait until everything enqueued so far is durable or given up; False if that took longer than ``timeout``."""
        return self._outbox.flush(timeout)

    def close(self, timeout: float = 5.0) -> None:
        """Deliver what waits within ``timeout`` seconds; the rest, and whatever comes later, counts as dropped.

        Python's own end of the process calls it too.
        """
        self._outbox.close(timeout)

    def stats(self) -> Stats:
        """What became of the events so far."""
        return self._outbox.stats()


def _texts(**values: Any) -> dict[str, str]:
    return {name: text_of(value) for name, value in values.items() if value is not None}
