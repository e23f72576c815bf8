"""What `stream-graders doctor` says of judges: the key that answers are signed with, and whether anybody answers."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, TopicAuthorizationFailedError

from ..answers import is_genuine
from ..events import JudgeAnswer
from ..security import JUDGE_KEY, SecurityError, judge_key
from ..settings import Settings
from ..stream import start
from .groups import ANSWERS_WITHIN, committed, members, oldest, unread
from .why import Finding

NEWEST = 500
"""Records of each partition's end that answers are looked for in."""
JUDGED_WITHIN = 600.0
"""Seconds that a question may wait before judges are called slow; the alert JudgeBehind says the same."""
_ANSWER = msgspec.json.Decoder(JudgeAnswer)


async def look(
    admin: AIOKafkaAdminClient,
    consumer: AIOKafkaConsumer,
    settings: Settings,
    begins: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> list[Finding]:
    """What is to say of judges, where a check asks them. ``begins`` and ``ends`` are the journal's offsets."""
    found = [await _key(consumer, begins, ends)]
    try:
        found.append(await _answering(admin, consumer, settings))
    except KafkaError as error:
        told = f"group {settings.app}-judges cannot be looked at ({type(error).__name__})"
        found.append(Finding("judges", "warning", told, "give this client Describe on it"))
    return found


# -- the key ---------------------------------------------------------------------------------------------------------------


async def _key(
    consumer: AIOKafkaConsumer, begins: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> Finding:
    try:
        key = judge_key()
    except SecurityError as error:
        return Finding(
            "judge key", "bad", str(error), "" if "openssl" in str(error) else "name another file, or mend it"
        )
    if key is None:
        told = f"{' or '.join(JUDGE_KEY)}: not set; a worker with these suites does not start without"
        return Finding("judge key", "bad", told, "set what workers and judge workers have")
    signed = Counter(is_genuine(key, answer) for answer in await _answers(consumer, begins, ends))
    if not signed:
        return Finding("judge key", "ok", f"set; the journal's newest {NEWEST} records of a partition hold no answer")
    told = f"{signed[True]} of the newest {signed.total()} answers are signed with it"
    if not signed[True]:
        return Finding("judge key", "bad", told, "give workers and judge workers the same key, and look with that one")
    if signed[False]:
        return Finding(
            "judge key", "warning", told, "the others are of before a change of the key, or somebody forges them"
        )
    return Finding("judge key", "ok", told)


async def _answers(
    consumer: AIOKafkaConsumer, begins: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> list[JudgeAnswer]:
    at = {place: max(begins[place], end - NEWEST) for place, end in ends.items() if end > begins[place]}
    consumer.assign(list(at))
    for place, offset in at.items():
        consumer.seek(place, offset)
    found: list[JudgeAnswer] = []
    waiting = set(at)
    while waiting:
        batches = await consumer.getmany(*waiting, timeout_ms=ANSWERS_WITHIN)
        if not batches:
            break  # What has come so far is all that there is to say.
        for records in batches.values():
            found += [answer for record in records if (answer := _answer_in(record.value)) is not None]
        waiting = {place for place in waiting if await consumer.position(place) < ends[place]}
    return found


def _answer_in(value: bytes | None) -> JudgeAnswer | None:
    if value is None or b"judge.answer" not in value:
        return None
    try:
        return _ANSWER.decode(value)
    except (msgspec.MsgspecError, RecursionError):
        return None


# -- who answers -------------------------------------------------------------------------------------------------------------


async def _answering(admin: AIOKafkaAdminClient, consumer: AIOKafkaConsumer, settings: Settings) -> Finding:
    topic, group = start.physical(settings)["judge_requests"], f"{settings.app}-judges"
    known: Any = await consumer._client.fetch_all_metadata()
    places = [TopicPartition(topic, partition) for partition in sorted(known.partitions_for_topic(topic) or ())]
    consumer.assign(places)
    begins, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
    done = await committed(admin, group, begins)
    present, state = await members(admin, group)
    waiting = unread(done, begins, ends)
    count = sum(waiting.values())
    if not present:
        # Without a committed offset nobody ever was there; questions of before its time are over by their deadline.
        ever = "" if done else ", and never had one"
        told = f"group {group} has no member{ever}: {count} questions wait, and nobody answers"
        return Finding("judges", "bad" if count else "warning", told, "start stream-graders judge, or name its --app")
    if state != "Stable":
        return Finding(
            "judges", "warning", f"group {group} is sharing out its partitions ({state})", "ask again in half a minute"
        )
    told = f"{len(present)} in group {group}, {count} questions wait"
    try:
        age = await oldest(consumer, {place: max(done.get(place, 0), begins[place]) for place in waiting})
    except TopicAuthorizationFailedError:  # A worker may write questions, and read none.
        age = None
    if age is None:
        return Finding("judges", "ok", told)
    told += f", the oldest for {age:.0f} s"
    if age > JUDGED_WITHIN:
        return Finding("judges", "warning", told, "docs/runbook.md#judgebehind")
    return Finding("judges", "ok", told)
