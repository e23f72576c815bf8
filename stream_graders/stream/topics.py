"""The topics as code: what the files in topics/ ask for, what a cluster has, and the way from one to the other.

Guarantees: a topic is created or left alone. None is deleted, none gets another partition count, and no config of an
existing one is changed: what differs is reported, one line a difference, with the command that changes it.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAuthorizationFailedError, for_code
from aiokafka.partitioner import murmur2
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

APP = "stream-graders"
"""The worker's app id unless the settings name another: its consumer group, and the front of its own topics' names."""

_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_FROM_FIELDS = {"cleanup.policy": "cleanup", "retention.ms": "retention"}
_VISIBLE_WITHIN = 10.0
"""Seconds for every broker to learn of a new topic; on one node it takes a few milliseconds."""


def partition_of(key: bytes, partitions: int) -> int:
    """The partition that a key belongs to, as Kafka's own clients place it.

    >>> partition_of(b"r-7", 12)
    8
    """
    return int(murmur2(key) & 0x7FFFFFFF) % partitions


class TopicError(ValueError):
    """Topic files or names that cannot be used; the message names every problem, one a line."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Example(_Model):
    """A record as it may lie in the topic: ``value`` is JSON, or the text itself where the topic has no schema."""

    key: str | None
    value: JsonValue
    headers: dict[str, str] = {}


class Topic(_Model):
    """One topic, as its file describes it. ``{app}`` in the name stands for the worker's app id."""

    name: Annotated[str, Field(pattern=r"^(\{app\}-)?[a-zA-Z0-9._-]+$", max_length=200)]
    description: str
    owner: str
    key: str | None
    """What the record key is; null where records have none."""
    value_schema: Annotated[str, Field(pattern=r"^[a-z_.]+/[0-9]+$")] | None
    """The schema of every value; null where the values are nobody's contract."""
    partitions: Annotated[int, Field(ge=1)] = 12
    replication: Annotated[int, Field(ge=1)] = 3
    cleanup: Literal["delete", "compact"]
    retention: Annotated[str, Field(pattern=r"^[1-9][0-9]*[smhd]$")] | None = None
    """How long records are kept, as in ``7d``; for a topic that is cleaned by deleting."""
    config: dict[str, bool | int | float | str]
    """Kafka's own names and units, as its tools take them."""
    examples: list[Example]

    @field_validator("config")
    @classmethod
    def _not_said_elsewhere(cls, config: dict[str, Any]) -> dict[str, Any]:
        for key in config:
            if key in _FROM_FIELDS:
                raise ValueError(f"{key} comes from the field {_FROM_FIELDS[key]!r}; remove it here")
        return config

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        if self.cleanup == "delete" and self.retention is None:
            raise ValueError("a topic with cleanup 'delete' needs a retention, such as 7d")
        if self.cleanup == "compact" and self.retention is not None:
            raise ValueError("a topic with cleanup 'compact' has no retention: remove it")
        if self.value_schema is not None and not self.examples:
            raise ValueError(f"a topic of {self.value_schema} needs an example record")
        for number, example in enumerate(self.examples):
            said = example.value.get("schema") if isinstance(example.value, dict) else None
            if self.value_schema is not None and said != self.value_schema:
                raise ValueError(f"examples[{number}] is of schema {said!r}, the topic of {self.value_schema!r}")
        return self

    @property
    def retention_ms(self) -> int | None:
        """The retention in milliseconds, None for a compacted topic."""
        return None if self.retention is None else int(self.retention[:-1]) * _UNITS[self.retention[-1]]


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where one cluster departs from the files.

    Args:
        app: the worker's app id, the front of its own topics' names.
        names: physical names by the names in the files.
        partitions: for every topic that has more than one; None keeps the files' counts.
        replication: copies of every topic; None keeps the files' counts.
    """

    app: str = APP
    names: Mapping[str, str] = field(default_factory=dict)
    partitions: int | None = None
    replication: int | None = None

    def name(self, topic: Topic) -> str:
        """The topic's physical name."""
        return self.names.get(topic.name, topic.name).replace("{app}", self.app)


@dataclass(frozen=True)
class Wanted:
    """A topic as one cluster should have it, under its physical name and with Kafka's own configs."""

    name: str
    partitions: int
    replication: int
    configs: Mapping[str, str]


@dataclass(frozen=True)
class Existing:
    """A topic as a cluster has it; ``configs`` are the effective ones, the broker's defaults included."""

    partitions: int
    replication: int
    configs: Mapping[str, str]


class State(StrEnum):
    SAME = "same"
    MISSING = "missing"
    """It is not there; `apply` would create it."""
    CREATED = "created"
    DIFFERS = "differs"
    """It is there and not as wanted; nothing was changed."""
    REFUSED = "refused"
    """The cluster would not create it."""


@dataclass(frozen=True)
class Result:
    """What one line of `plan` or `apply` says. A topic that differs has a result for each difference."""

    topic: str
    state: State
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.topic}: {self.state}" + (f": {self.detail}" if self.detail else "")


def load_topics(folder: Path | None = None) -> list[Topic]:
    """The topics of the files in a folder, by default those that come with the package, in order of their names.

    Raises TopicError with every problem of every file.
    """
    folder = folder or _own_folder()
    topics: list[Topic] = []
    problems: list[str] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            topics.append(Topic.model_validate(yaml.safe_load(path.read_text(encoding="utf-8"))))
        except yaml.YAMLError as error:
            problems.append(f"{path.name}: {' '.join(str(error).split())}")
        except ValidationError as error:
            problems += [f"{path.name}: {told}" for told in _told(error)]
    counts = Counter(topic.name for topic in topics)
    problems += [f"{name}: described by {count} files, keep one" for name, count in counts.items() if count > 1]
    if not topics and not problems:
        problems = [f"{folder}: no topic file (*.yaml) in this folder"]
    if problems:
        raise TopicError("\n".join(problems))
    return sorted(topics, key=lambda topic: topic.name)


def place(topics: Sequence[Topic], placement: Placement) -> list[Wanted]:
    """What one cluster should have.

    Raises TopicError where the placement names a topic that there is not, renames one that Faust names, or gives two
    topics one name.
    """
    problems = list(_misplaced(topics, placement))
    if problems:
        raise TopicError("\n".join(problems))
    return [_wanted(topic, placement) for topic in topics]


def _misplaced(topics: Sequence[Topic], placement: Placement) -> Iterable[str]:
    known = {topic.name for topic in topics}
    for name in placement.names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            yield f"there is no topic {name!r} to rename" + (f"; did you mean {near[0]!r}?" if near else "")
        elif "{app}" in name:
            yield f"{name!r} cannot be renamed, Faust derives it from the app id: change that"
    for name, count in Counter(placement.name(topic) for topic in topics).items():
        if count > 1:
            yield f"{count} topics would be named {name!r}; give each its own name"


def _wanted(topic: Topic, placement: Placement) -> Wanted:
    replication = placement.replication or topic.replication
    configs = {key: _as_kafka_spells(value) for key, value in topic.config.items()}
    configs["cleanup.policy"] = topic.cleanup
    if topic.retention_ms is not None:
        configs["retention.ms"] = str(topic.retention_ms)
    if "min.insync.replicas" in configs:
        # One copy may be away, as in the files; with a single copy none may, or nothing could be written.
        configs["min.insync.replicas"] = str(min(int(configs["min.insync.replicas"]), max(1, replication - 1)))
    partitions = topic.partitions if topic.partitions == 1 else placement.partitions or topic.partitions
    return Wanted(placement.name(topic), partitions, replication, configs)


async def inspect(admin: AIOKafkaAdminClient, names: Iterable[str]) -> dict[str, Existing]:
    """Those of the named topics that the cluster has, each with its partition count and effective configs.

    Raises TopicError where the configs may not be read, KafkaError when the cluster cannot be asked.
    """
    # All topics, not the named ones: aiokafka's metadata request for a name would create it on a cluster that
    # creates topics by themselves, with one partition.
    partitions = {found["topic"]: found["partitions"] for found in await admin.describe_topics()}
    present = [name for name in dict.fromkeys(names) if name in partitions]
    if not present:
        return {}
    asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in present]
    replies = [reply.to_object() for reply in await admin.describe_configs(asked)]
    described = {resource["resource_name"]: resource for reply in replies for resource in reply["resources"]}
    refused = [
        f"{name}: its configs cannot be read: {_reason(described[name], 'DescribeConfigs')}"
        for name in present
        if described[name]["error_code"]
    ]
    if refused:
        raise TopicError("\n".join(refused))
    return {name: _existing(partitions[name], described[name]) for name in present}


def _existing(partitions: Sequence[Mapping[str, Any]], described: Mapping[str, Any]) -> Existing:
    entries = {entry["config_names"]: entry["config_value"] for entry in described["config_entries"]}
    return Existing(
        partitions=len(partitions),
        replication=min((len(partition["replicas"]) for partition in partitions), default=0),
        configs={key: value for key, value in entries.items() if value is not None},
    )


async def plan(admin: AIOKafkaAdminClient, wanted: Sequence[Wanted]) -> list[Result]:
    """What the cluster lacks and where it differs. Changes nothing.

    Raises what `inspect` raises.
    """
    existing = await inspect(admin, (topic.name for topic in wanted))
    results: list[Result] = []
    for topic in wanted:
        if topic.name not in existing:
            size = f"partitions: {topic.partitions}, copies: {topic.replication}"
            results.append(Result(topic.name, State.MISSING, size))
            continue
        different = list(differences(topic, existing[topic.name]))
        results += [Result(topic.name, State.DIFFERS, each) for each in different]
        if not different:
            results.append(Result(topic.name, State.SAME))
    return results


async def apply(admin: AIOKafkaAdminClient, wanted: Sequence[Wanted]) -> list[Result]:
    """Creates what the cluster lacks and returns once it can be used; says where the rest differs.

    Raises what `inspect` raises. A topic that the cluster refuses does not keep the others from being created.
    """
    results = await plan(admin, wanted)
    missing = {result.topic for result in results if result.state is State.MISSING}
    if not missing:
        return results
    new = [
        NewTopic(topic.name, topic.partitions, topic.replication, topic_configs=dict(topic.configs))
        for topic in wanted
        if topic.name in missing
    ]
    reply = (await admin.create_topics(new)).to_object()
    refused = {error["topic"]: _reason(error, "Create") for error in reply["topic_errors"] if error["error_code"]}
    await _until_usable(admin, missing - refused.keys())
    return [_after_creation(result, refused) if result.topic in missing else result for result in results]


def _after_creation(result: Result, refused: Mapping[str, str]) -> Result:
    if result.topic in refused:
        return Result(result.topic, State.REFUSED, refused[result.topic])
    return Result(result.topic, State.CREATED, result.detail)


async def _until_usable(admin: AIOKafkaAdminClient, names: set[str]) -> None:
    """Returns when every partition has a leader, or after _VISIBLE_WITHIN: the client's own retries take it from there."""
    deadline = asyncio.get_running_loop().time() + _VISIBLE_WITHIN
    while names and asyncio.get_running_loop().time() < deadline:
        for topic in await admin.describe_topics():
            if topic["partitions"] and all(partition["leader"] >= 0 for partition in topic["partitions"]):
                names = names - {topic["topic"]}
        await asyncio.sleep(0.05)


def differences(wanted: Wanted, existing: Existing) -> Iterable[str]:
    """Where an existing topic is not as wanted, one line each, with what to do about it."""
    if existing.partitions != wanted.partitions:
        yield (
            f"partitions are {existing.partitions}, wanted {wanted.partitions}; another count would move runs that are"
            " open, so make a new topic, or ask for the count it has"
        )
    if existing.replication != wanted.replication:
        yield (
            f"copies are {existing.replication}, wanted {wanted.replication};"
            " change it with kafka-reassign-partitions.sh"
        )
    # aiokafka has only the old AlterConfigs, which resets every config of the topic that the request leaves out, and
    # so would undo what an operator sets at the same moment. Kafka's own tool changes one config alone.
    for key, value in wanted.configs.items():
        if existing.configs.get(key) != value:
            yield (
                f"{key} is {existing.configs.get(key, 'not set')}, wanted {value}; change it with"
                f" kafka-configs.sh --alter --topic {wanted.name} --add-config {key}={value}"
            )


def _own_folder() -> Path:
    """topics/ as the build put it into the package, else the checkout's."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "_topics"
    return packed if packed.is_dir() else package.parent / "topics"


def _as_kafka_spells(value: bool | float | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _reason(reply: Mapping[str, Any], operation: str) -> str:
    """Kafka's error in its own words, or its name where the broker sent none; a right that is missing is named."""
    if reply["error_code"] == TopicAuthorizationFailedError.errno:
        return f"the right {operation} is missing; grant it to this client (docs/security.md)"
    return reply.get("error_message") or re.sub(r"Error$", "", for_code(reply["error_code"]).__name__)


def _told(error: ValidationError) -> Iterable[str]:
    for problem in error.errors(include_url=False):
        place = ".".join(str(part) for part in problem["loc"])
        message = problem["msg"].removeprefix("Value error, ")
        yield f"{place}: {message}" if place else message
