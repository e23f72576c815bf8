"""What a worker asks of its topics before it starts: a topic that does not fit loses or repeats verdicts later."""

from collections.abc import Iterator, Mapping

from aiokafka.admin import AIOKafkaAdminClient

from ..settings import Settings
from . import rights
from .topics import Existing, inspect

TABLE = "runs"
ROLES = {
    "journal": "agent.events.v1",
    "verdicts": "agent.verdicts.v1",
    "run_verdicts": "agent.run_verdicts.v1",
    "violations": "agent.violations.v1",
    "judge_requests": "agent.judge.requests.v1",
    "dead_letters": "agent.events.dlq.v1",
}
"""The topics that a worker reads and writes, by what they are to it."""
KIB = 1024
OUTAGE_MS = 24 * 3_600_000
"""The longest outage that loses nothing: what is older may be gone from the journal."""
COMPACTION_LAG_MS = 600_000
HEADROOM = 64 * KIB
"""What the headers of a dead letter add to a record."""


class TopicMisfitError(ValueError):
    """Topics that a worker cannot work with; the message names every problem, one a line."""


def physical(settings: Settings) -> dict[str, str]:
    """The physical names of the worker's topics by their role."""
    return {role: settings.topic(name) for role, name in ROLES.items()}


def changelog(settings: Settings) -> str:
    """The changelog of the runs' states, named as Faust derives it."""
    return f"{settings.app}-{TABLE}-changelog"


def leader(settings: Settings) -> str:
    """Faust's own topic, whose holder computes the assignment."""
    return f"{settings.app}-__assignor-__leader"


async def partitions(settings: Settings) -> int:
    """Check rights and topics, and give the journal's partition count.

    Raises:
        SecurityError: a file or function of the security settings cannot be used.
        RightsError: a right is missing.
        TopicMisfitError: a topic is missing or does not fit.
        KafkaError: the cluster cannot be asked.
    """
    names = {**physical(settings), "changelog": changelog(settings)}
    client = settings.security.client()
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.bootstrap, request_timeout_ms=20_000, **client)
    try:
        await admin.start()
        await rights.check(admin, {**names, "leader": leader(settings)}, settings.app)
        found = await inspect(admin, names.values())
    finally:
        await admin.close()
    problems = list(misfits(names, found))
    if problems:
        raise TopicMisfitError("\n".join(problems))
    return found[names["journal"]].partitions


def misfits(names: Mapping[str, str], found: Mapping[str, Existing]) -> Iterator[str]:
    """What is wrong with the topics, one line each."""
    missing = [name for name in names.values() if name not in found]
    if missing:
        yield f"{', '.join(missing)}: not there; run `stream-graders topics apply`"
        return
    topics = {role: found[name] for role, name in names.items()}
    journal = topics["journal"]
    for role, topic in topics.items():
        if topic.partitions != journal.partitions:
            counts = f"{topic.partitions} partitions, the journal {names['journal']} has {journal.partitions}"
            yield f"{names[role]}: has {counts}; both must have the same, so make it anew"
    if journal.configs.get("message.timestamp.type") != "LogAppendTime":
        why = "deadlines run on the time that the broker stamps"
        yield f"{names['journal']}: message.timestamp.type must be LogAppendTime: {why}"
    if topics["changelog"].configs.get("cleanup.policy") != "compact":
        yield f"{names['changelog']}: cleanup.policy must be compact alone, or retention removes the state of open runs"
    yield from _too_small(names, topics)
    yield from _too_short(names, topics)


def _too_small(names: Mapping[str, str], topics: Mapping[str, Existing]) -> Iterator[str]:
    least = {
        "changelog": 1024 * KIB,
        "verdicts": 256 * KIB,
        "run_verdicts": 256 * KIB,
        "violations": 256 * KIB,
        "dead_letters": _number(topics["journal"], "max.message.bytes", 1024 * KIB) + HEADROOM,
    }
    for role, size in least.items():
        if _number(topics[role], "max.message.bytes", size) < size:
            yield f"{names[role]}: max.message.bytes must be at least {size}"


def _too_short(names: Mapping[str, str], topics: Mapping[str, Existing]) -> Iterator[str]:
    retention = _number(topics["journal"], "retention.ms", OUTAGE_MS)
    if 0 <= retention < OUTAGE_MS:
        yield f"{names['journal']}: retention.ms must be at least {OUTAGE_MS}, or an outage of a day loses events"
    lag = _number(topics["changelog"], "min.compaction.lag.ms", COMPACTION_LAG_MS)
    if lag < COMPACTION_LAG_MS:
        why = "compaction could keep the late write of a worker that stood still and drop the newer state"
        yield f"{names['changelog']}: min.compaction.lag.ms must be at least {COMPACTION_LAG_MS}: {why}"


def _number(topic: Existing, config: str, default: int) -> int:
    value = topic.configs.get(config)
    return default if value is None else int(value)
