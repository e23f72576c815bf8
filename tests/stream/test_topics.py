"""Topic files: what ours say, what a file may not say, and what a cluster's placement makes of them."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stream_graders import wire
from stream_graders.events import Event
from stream_graders.stream.topics import Existing, Placement, Topic, TopicError, Wanted, differences, load_topics, place
from stream_graders.verdicts import RunVerdict, Verdict, Violation

TOPICS = {topic.name: topic for topic in load_topics()}
JOURNAL = "agent.events.v1"
# What lies beside the journal's partition of the same number (design: a run's records and its state move together).
BESIDE_THE_JOURNAL = [
    "agent.verdicts.v1",
    "agent.run_verdicts.v1",
    "agent.violations.v1",
    "agent.judge.requests.v1",
    "agent.events.dlq.v1",
    "{app}-runs-changelog",
]
KIB = 1024


def described(**changes: Any) -> dict[str, Any]:
    return {
        "name": "a.v1",
        "description": "A topic.",
        "owner": "us",
        "key": "run_id",
        "value_schema": None,
        "cleanup": "delete",
        "retention": "7d",
        "config": {},
        "examples": [],
    } | changes


def write(path: Path, **changes: Any) -> None:
    path.write_text(yaml.safe_dump(described(**changes)))


def topic(**changes: Any) -> Topic:
    return Topic.model_validate(described(**changes))


def test_ours_are_the_designs() -> None:
    assert sorted(TOPICS) == [
        "agent.alerts.v1",
        "agent.comparisons.v1",
        "agent.events.dlq.v1",
        "agent.events.v1",
        "agent.judge.requests.v1",
        "agent.run_verdicts.v1",
        "agent.verdicts.v1",
        "agent.violations.v1",
        "{app}-__assignor-__leader",
        "{app}-runs-changelog",
    ]


def test_the_journal_is_stamped_by_the_broker() -> None:
    assert TOPICS[JOURNAL].config["message.timestamp.type"] == "LogAppendTime"


@pytest.mark.parametrize("name", BESIDE_THE_JOURNAL)
def test_what_lies_beside_the_journal_has_its_partition_count(name: str) -> None:
    assert TOPICS[name].partitions == TOPICS[JOURNAL].partitions


def test_the_changelog_is_compacted_only() -> None:
    changelog = TOPICS["{app}-runs-changelog"]
    assert (changelog.cleanup, changelog.retention) == ("compact", None)


def test_records_fit_where_they_go() -> None:
    size = {name: int(each.config.get("max.message.bytes", 0)) for name, each in TOPICS.items()}
    assert size["{app}-runs-changelog"] >= 1024 * KIB
    assert size["agent.verdicts.v1"] >= 256 * KIB
    assert size["agent.events.dlq.v1"] >= size[JOURNAL] + 64 * KIB


def test_examples_of_the_journal_are_events() -> None:
    for example in TOPICS[JOURNAL].examples:
        assert example.key is not None
        assert isinstance(wire.decode(msgspec.json.encode(example.value), example.key.encode()), Event)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("agent.verdicts.v1", Verdict), ("agent.run_verdicts.v1", RunVerdict), ("agent.violations.v1", Violation)],
)
def test_examples_are_what_the_worker_writes(name: str, kind: type[Verdict | RunVerdict | Violation]) -> None:
    for example in TOPICS[name].examples:
        record = msgspec.json.decode(msgspec.json.encode(example.value), type=kind)
        assert msgspec.to_builtins(record).keys() >= (
            example.value.keys() if isinstance(example.value, dict) else set()
        )
        assert example.key == (record.verdict.run_id if isinstance(record, Violation) else record.run_id)


BAD = {
    "unknown field": ({"partition": 3}, "partition: Extra inputs are not permitted"),
    "no partitions": ({"partitions": 0}, "partitions: Input should be greater than or equal to 1"),
    "a count as text": ({"partitions": "12"}, "partitions: Input should be a valid integer"),
    "retention without unit": ({"retention": "7"}, "retention: String should match pattern"),
    "nothing to delete by": ({"retention": None}, "a topic with cleanup 'delete' needs a retention, such as 7d"),
    "compacted and timed": ({"cleanup": "compact"}, "a topic with cleanup 'compact' has no retention: remove it"),
    "both cleanups": ({"cleanup": "compact,delete"}, "cleanup: Input should be 'delete' or 'compact'"),
    "said twice": ({"config": {"retention.ms": 1}}, "config: retention.ms comes from the field 'retention'"),
    "no example": ({"value_schema": "a.b/1"}, "a topic of a.b/1 needs an example record"),
    "another's example": (
        {"value_schema": "a.b/1", "examples": [{"key": "k", "value": {"schema": "a.c/1"}}]},
        "examples[0] is of schema 'a.c/1', the topic of 'a.b/1'",
    ),
    "a name Kafka refuses": ({"name": "a b"}, "name: String should match pattern"),
}


@pytest.mark.parametrize(("changes", "message"), list(BAD.values()), ids=list(BAD))
def test_a_bad_file_is_told_with_its_name_and_field(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    write(tmp_path / "a.yaml", **changes)
    with pytest.raises(TopicError) as told:
        load_topics(tmp_path)
    assert str(told.value).startswith(f"a.yaml: {message}")


def test_every_problem_of_every_file_is_told_at_once(tmp_path: Path) -> None:
    write(tmp_path / "a.yaml", partitions=0, owner=None)
    write(tmp_path / "b.yaml", cleanup="shred")
    write(tmp_path / "c.yaml", name="same")
    write(tmp_path / "d.yaml", name="same")
    (tmp_path / "e.yaml").write_text("name: [")
    with pytest.raises(TopicError) as told:
        load_topics(tmp_path)
    lines = str(told.value).splitlines()
    assert [line.split(":")[0] for line in lines] == ["a.yaml", "a.yaml", "b.yaml", "e.yaml", "same"]
    assert lines[-1] == "same: described by 2 files, keep one"


def test_a_folder_without_topics_is_told(tmp_path: Path) -> None:
    with pytest.raises(TopicError, match="no topic file"):
        load_topics(tmp_path)


def test_a_file_without_counts_takes_the_usual_ones() -> None:
    assert (topic().partitions, topic().replication) == (12, 3)


def test_fields_become_kafkas_configs() -> None:
    [wanted] = place([topic(retention="2h", config={"unclean.leader.election.enable": False})], Placement())
    assert wanted.configs == {
        "unclean.leader.election.enable": "false",
        "cleanup.policy": "delete",
        "retention.ms": "7200000",
    }


@pytest.mark.parametrize(("replication", "in_sync"), [(None, "2"), (1, "1"), (2, "1"), (3, "2"), (5, "2")])
def test_as_many_copies_must_be_there_as_leave_one_free(replication: int | None, in_sync: str) -> None:
    [wanted] = place([topic(config={"min.insync.replicas": 2})], Placement(replication=replication))
    assert (wanted.replication, wanted.configs["min.insync.replicas"]) == (replication or 3, in_sync)


def test_another_partition_count_is_for_all_but_single_ones() -> None:
    wanted = place([topic(), topic(name="one", partitions=1)], Placement(partitions=4))
    assert [each.partitions for each in wanted] == [4, 1]


def test_the_worker_topics_follow_the_app_id() -> None:
    names = {each.name for each in place(list(TOPICS.values()), Placement(app="grading-eu"))}
    assert {"grading-eu-runs-changelog", "grading-eu-__assignor-__leader"} <= names


def test_a_topic_may_go_by_another_name() -> None:
    [wanted] = place([topic()], Placement(names={"a.v1": "acme.a.v1"}))
    assert wanted.name == "acme.a.v1"


def test_a_placement_that_does_not_fit_is_told_in_full() -> None:
    names = {"agent.event.v1": "x", "{app}-runs-changelog": "y", "agent.verdicts.v1": "agent.alerts.v1"}
    with pytest.raises(TopicError) as told:
        place(list(TOPICS.values()), Placement(names=names))
    assert str(told.value).splitlines() == [
        "there is no topic 'agent.event.v1' to rename; did you mean 'agent.events.v1'?",
        "'{app}-runs-changelog' cannot be renamed, Faust derives it from the app id: change that",
        "2 topics would be named 'agent.alerts.v1'; give each its own name",
    ]


def test_an_equal_topic_has_no_differences() -> None:
    wanted = Wanted("a.v1", 12, 3, {"cleanup.policy": "delete"})
    assert list(differences(wanted, Existing(12, 3, {"cleanup.policy": "delete", "segment.ms": "1"}))) == []


def test_every_difference_is_a_line_with_its_remedy() -> None:
    wanted = Wanted("a.v1", 12, 3, {"cleanup.policy": "compact", "segment.ms": "5"})
    lines = list(differences(wanted, Existing(6, 1, {"cleanup.policy": "delete"})))
    assert [line.split(";")[0] for line in lines] == [
        "partitions are 6, wanted 12",
        "copies are 1, wanted 3",
        "cleanup.policy is delete, wanted compact",
        "segment.ms is not set, wanted 5",
    ]
    assert lines[2].endswith("kafka-configs.sh --alter --topic a.v1 --add-config cleanup.policy=compact")
