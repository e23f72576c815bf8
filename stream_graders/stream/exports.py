"""The topics for other tools: Strimzi's resources, and an AsyncAPI document. Made from topics/, like everything else about them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml

from ..wire import schemas
from . import rights
from .start import ROLES, TABLE
from .topics import Placement, Topic, Wanted, place

STRIMZI = "kafka.strimzi.io/v1"
"""Strimzi 1.0 serves no other version."""
ASYNCAPI = "3.0.0"
BINDING = "0.5.0"
"""Of AsyncAPI's Kafka bindings."""
WRITTEN_BY_US = frozenset(
    {
        "agent.verdicts.v1",
        "agent.run_verdicts.v1",
        "agent.violations.v1",
        "agent.events.dlq.v1",
        "agent.judge.requests.v1",
    }
)
"""What a worker sends; the journal is what it receives."""


def strimzi(topics: Sequence[Topic], placement: Placement, cluster: str) -> str:
    """The topics as ``KafkaTopic``, and a worker's rights as a ``KafkaUser``: YAML documents.

    Args:
        topics: as `load_topics` gives them.
        placement: where the cluster departs from the files.
        cluster: the name of the ``Kafka`` resource.

    Raises:
        TopicError: the placement does not fit the topics.
    """
    resources = [_topic(wanted, cluster) for wanted in place(topics, placement)]
    return yaml.safe_dump_all([*resources, _worker(placement, cluster)], sort_keys=False, allow_unicode=True, width=120)


def _topic(wanted: Wanted, cluster: str) -> dict[str, Any]:
    return {
        "apiVersion": STRIMZI,
        "kind": "KafkaTopic",
        "metadata": {"name": _resource_name(wanted.name), "labels": {"strimzi.io/cluster": cluster}},
        "spec": {
            "topicName": wanted.name,
            "partitions": wanted.partitions,
            "replicas": wanted.replication,
            "config": dict(sorted(wanted.configs.items())),
        },
    }


def _worker(placement: Placement, cluster: str) -> dict[str, Any]:
    known = {
        **{role: placement.names.get(name, name) for role, name in ROLES.items()},
        "changelog": f"{placement.app}-{TABLE}-changelog",
        "leader": f"{placement.app}-__assignor-__leader",
    }
    acls = [_acl("topic", name, rights.TOPICS[role]) for role, name in known.items()]
    return {
        "apiVersion": STRIMZI,
        "kind": "KafkaUser",
        "metadata": {"name": _resource_name(placement.app), "labels": {"strimzi.io/cluster": cluster}},
        "spec": {
            "authentication": {"type": "scram-sha-512"},
            "authorization": {"type": "simple", "acls": [*acls, _acl("group", placement.app, (rights.READ,))]},
        },
    }


def _acl(kind: str, name: str, operations: Sequence[str]) -> dict[str, Any]:
    return {"resource": {"type": kind, "name": name, "patternType": "literal"}, "operations": list(operations)}


def _resource_name(name: str) -> str:
    """A name that Kubernetes takes: lower case, and no underscores."""
    return re.sub(r"[-_]+", "-", name.lower()).strip("-.")


def asyncapi(topics: Sequence[Topic], placement: Placement) -> str:
    """The topics that others read or write as an AsyncAPI document, from the worker's side: YAML.

    Raises:
        TopicError: the placement does not fit the topics.
    """
    public = [topic for topic in topics if "{app}" not in topic.name]
    placed = {topic.name: wanted for topic, wanted in zip(topics, place(topics, placement), strict=True)}
    components: dict[str, Any] = {}
    channels = {topic.name: _channel(topic, placed[topic.name], components) for topic in public}
    document = {
        "asyncapi": ASYNCAPI,
        "info": {
            "title": "stream_graders",
            "version": "1",
            "description": "Events of agents' runs in, verdicts with evidence out. Delivery is at least once: equal ids have equal bytes.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "channels": channels,
        "operations": dict(_operations(public)),
        "components": {"schemas": dict(sorted(components.items()))},
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=120)


def _channel(topic: Topic, wanted: Wanted, components: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"name": topic.value_schema or topic.name, "contentType": "application/json"}
    if payload := _payload(topic, components):
        message["payload"] = payload
    if topic.key is not None:
        message["bindings"] = {
            "kafka": {"key": {"type": "string", "description": topic.key}, "bindingVersion": BINDING}
        }
    examples = [{"payload": example.value} for example in topic.examples if isinstance(example.value, dict)]
    if examples:
        message["examples"] = examples
    return {
        "address": wanted.name,
        "description": topic.description,
        "messages": {"record": message},
        "bindings": {
            "kafka": {
                "topic": wanted.name,
                "partitions": wanted.partitions,
                "replicas": wanted.replication,
                "topicConfiguration": _configuration(wanted.configs),
                "bindingVersion": BINDING,
            }
        },
    }


def _configuration(configs: Mapping[str, str]) -> dict[str, Any]:
    """What the binding has a place for, as it wants it."""
    told: dict[str, Any] = {"cleanup.policy": [configs["cleanup.policy"]]}
    for name in ("retention.ms", "delete.retention.ms", "max.message.bytes"):
        if name in configs:
            told[name] = int(configs[name])
    return told


def _payload(topic: Topic, components: dict[str, Any]) -> dict[str, Any] | None:
    """The schema of a topic's values, its parts put where the whole document finds them."""
    name = "" if topic.value_schema is None else topic.value_schema.removeprefix("stream_graders.").replace("/", "-")
    schema = schemas().get(f"{name}.json")
    if schema is None:
        return None
    components.update(_moved(schema["$defs"]))
    return dict(_moved({key: value for key, value in schema.items() if key not in ("$schema", "$id", "$defs")}))


def _moved(value: Any) -> Any:
    if isinstance(value, dict):
        # AsyncAPI knows a discriminator as a field's name alone; which schema it stands for, each schema says itself.
        return {key: _moved(each) for key, each in value.items() if key != "discriminator"}
    if isinstance(value, list):
        return [_moved(each) for each in value]
    return value.replace("#/$defs/", "#/components/schemas/") if isinstance(value, str) else value


def _operations(topics: Sequence[Topic]) -> Iterator[tuple[str, dict[str, Any]]]:
    for topic in topics:
        if topic.name == ROLES["journal"] or topic.name in WRITTEN_BY_US:
            action = "send" if topic.name in WRITTEN_BY_US else "receive"
            name = re.sub(r"\W", "_", topic.name.removeprefix("agent."))
            yield f"{action}_{name}", {"action": action, "channel": {"$ref": f"#/channels/{topic.name}"}}
