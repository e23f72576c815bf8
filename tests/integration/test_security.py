"""On a broker that asks who speaks and what they may: a worker works with the rights that docs/security.md lists and no other.

No password or token is in anything that a worker or a command writes.
"""

import asyncio
import gc
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from stream_graders.emit import Emitter
from stream_graders.stream.rights import TOPICS
from stream_graders.stream.start import ROLES
from tests.cli.commands import command
from tests.integration.harness import (
    SHOP,
    Metrics,
    Stage,
    WorkerProcess,
    expected,
    free_port,
    stories,
    until,
    verdicts,
    written,
)
from tests.kafka.secure import GROUP, PASSWORD, TOPIC, SecureBroker

# aiokafka closes a refused TLS connection without waiting for the broker's answer, and the loop of a command in this
# process may end before it comes. Such transports are collected within the test that left them, where it may say so.
pytestmark = [pytest.mark.requires_kafka, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(autouse=True)
def refused_connections_are_collected() -> Iterator[None]:
    yield
    gc.collect()


TOKENS = """
import base64, json, time

def encoded(part):
    return base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")

async def token():
    return encoded({"alg": "none"}) + "." + encoded({"sub": "token-worker", "exp": time.time() + 3600}) + "."

def refuses():
    raise RuntimeError("client_secret=SECRET-OF-THE-TOKEN")
"""


class Way(NamedTuple):
    """A way to log in: who that is to Kafka, and the settings."""

    user: str
    settings: dict[str, str]
    port: str = "sasl_port"


def login(mechanism: str, **more: str) -> dict[str, str]:
    return {"SG_SECURITY_PROTOCOL": "SASL_SSL", "SG_SASL_MECHANISM": mechanism, **more}


WAYS = {
    "SCRAM-SHA-512": Way(
        "User:scram-worker",
        login("SCRAM-SHA-512", SG_SASL_USERNAME="scram-worker", SG_SASL_PASSWORD_FILE="{folder}/password"),
    ),
    "PLAIN": Way("User:plain-worker", login("PLAIN", SG_SASL_USERNAME="plain-worker", SG_SASL_PASSWORD=PASSWORD)),
    "mTLS": Way(
        "User:CN=cert-worker",
        {
            "SG_SECURITY_PROTOCOL": "SSL",
            "SG_SSL_CERTIFICATE_FILE": "{folder}/cert-worker.crt",
            "SG_SSL_KEY_FILE": "{folder}/cert-worker.key",
        },
        "mtls_port",
    ),
    "OAUTHBEARER": Way("User:token-worker", login("OAUTHBEARER", SG_SASL_TOKEN_FUNCTION="tokens:token")),
}


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with SecureBroker(tmp_path_factory.mktemp("secure")) as broker:
        (broker.directory / "password").write_text(f"{PASSWORD}\n")
        (broker.directory / "tokens.py").write_text(TOKENS)
        yield broker


def environment(broker: SecureBroker, way: Way, **other: str) -> dict[str, str]:
    told = {name: value.format(folder=broker.directory) for name, value in way.settings.items()}
    return {"SG_SSL_CA_FILE": str(broker.ca), "PYTHONPATH": str(broker.directory), **told, **other}


def address(broker: SecureBroker, way: Way) -> str:
    return f"127.0.0.1:{getattr(broker, way.port)}"


def take(monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str]) -> None:
    """Make the settings those of this process."""
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(settings["PYTHONPATH"])


def rights(stage: Stage) -> dict[tuple[int, str], tuple[str, ...]]:
    """What docs/security.md says that a worker needs."""
    topics = {(TOPIC, names(stage)[role]): needed for role, needed in TOPICS.items()}
    return {**topics, (GROUP, stage.app): ("Read",)}


def names(stage: Stage) -> dict[str, str]:
    """The physical names of a worker's topics by their role."""
    own = {"changelog": f"{stage.app}-runs-changelog", "leader": f"{stage.app}-__assignor-__leader"}
    return {**{role: stage.topic(role) for role in ROLES}, **own}


def granted(broker: SecureBroker, user: str, needed: Mapping[tuple[int, str], tuple[str, ...]]) -> None:
    for (kind, name), operations in needed.items():
        asyncio.run(broker.grant(user, kind, name, *operations))


def worker_of(broker: SecureBroker, stage: Stage, suite: Path, way: Way, *options: str, **other: str) -> WorkerProcess:
    told = environment(broker, way, **other)
    return WorkerProcess(stage, [suite], "a", *options, bootstrap=address(broker, way), environment=told)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return written(tmp_path / "shop.yaml", SHOP)


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
def test_a_worker_with_just_its_rights_gives_the_verdicts_of_grade(secure: SecureBroker, suite: Path, way: Way) -> None:
    stage = Stage(secure.bootstrap, partitions=2).set()
    granted(secure, way.user, rights(stage))
    events = stories(0, 48)
    stage.tell(events)
    port = free_port()
    with worker_of(secure, stage, suite, way, "--metrics-port", str(port)) as worker:
        until(lambda: stage.committed() == len(events), "the journal being read to its end", worker)
        page = Metrics(port).text
        assert worker.stop() == 0
    assert verdicts(stage) == expected(suite, events)
    for text in (page, worker.output()):
        assert PASSWORD not in text
        assert "eyJ" not in text  # what a token begins with


LACKING = {
    "nowhere to write verdicts": ("verdicts", "Write"),
    "ticks may not be written": ("journal", "Write"),
    "the journal may not be read": ("journal", "Read"),
    "configs may not be read": ("violations", "DescribeConfigs"),
    "the changelog may not be written": ("changelog", "Write"),
    "Faust's topic is hidden": ("leader", "Read"),
    "no group": ("group", "Read"),
}


@pytest.mark.parametrize(("role", "operation"), LACKING.values(), ids=list(LACKING))
def test_the_right_that_is_missing_is_named(secure: SecureBroker, suite: Path, role: str, operation: str) -> None:
    way = WAYS["SCRAM-SHA-512"]
    stage = Stage(secure.bootstrap, partitions=1).set()
    needed = rights(stage)
    kind, name = GROUP, stage.app
    if role != "group":
        kind, name = TOPIC, names(stage)[role]
    needed[kind, name] = tuple(each for each in needed[kind, name] if each != operation)
    granted(secure, way.user, needed)
    with worker_of(secure, stage, suite, way) as worker:
        assert worker.wait() == 2
    [line] = worker.output().splitlines()
    what = f"{'group' if kind == GROUP else 'topic'} {name}"
    assert line.endswith(
        f"the right {operation} on {what} is missing: grant this client {operation} (docs/security.md)"
    )


def test_the_doctor_names_the_right_that_is_missing(secure: SecureBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    way = WAYS["SCRAM-SHA-512"]
    stage = Stage(secure.bootstrap, partitions=1).set()
    needed = rights(stage)
    needed[TOPIC, stage.topic("verdicts")] = ("DescribeConfigs",)
    granted(secure, way.user, needed)
    take(monkeypatch, environment(secure, way))
    topics = [word for name, physical in stage.names.items() for word in ("--topic", f"{name}={physical}")]
    done = command("doctor", "--bootstrap", address(secure, way), "--app", stage.app, *topics)
    assert done.code == 1
    [told] = [line for line in done.out.splitlines() if " rights: " in line]
    assert f"the right Write on topic {stage.topic('verdicts')} is missing" in told
    assert PASSWORD not in done.out + done.err


@pytest.mark.parametrize(("role", "operation"), [("verdicts", "Write"), ("journal", "Read")])
def test_a_right_that_is_withdrawn_from_a_running_worker_is_named(
    secure: SecureBroker, suite: Path, role: str, operation: str
) -> None:
    way = WAYS["SCRAM-SHA-512"]
    stage = Stage(secure.bootstrap, partitions=1).set()
    granted(secure, way.user, rights(stage))
    stage.tell(stories(0, 24))
    with worker_of(secure, stage, suite, way) as worker:
        until(lambda: stage.committed() == len(stories(0, 24)), "the journal being read", worker)
        asyncio.run(secure.withdraw(way.user, TOPIC, stage.topic(role), operation))
        stage.tell(stories(24, 48))
        assert worker.wait() == 2
    assert f"the right {operation} on topic {stage.topic(role)} is missing" in worker.output().splitlines()[-1]


REFUSED = {
    "a wrong password": ("SCRAM-SHA-512", {"SG_SASL_PASSWORD_FILE": "", "SG_SASL_PASSWORD": "SECRET-but-wrong"}, "refused the login"),
    "a wrong password, PLAIN": ("PLAIN", {"SG_SASL_PASSWORD": "SECRET-but-wrong"}, "refused the login"),
    "a function that gives no token": (
        "OAUTHBEARER", {"SG_SASL_TOKEN_FUNCTION": "tokens:refuses"},
        "refused the login (SG_SASL_TOKEN_FUNCTION: tokens:refuses raised RuntimeError)",
    ),
    "another authority": ("PLAIN", {"SG_SSL_CA_FILE": "{folder}/other-ca.pem"}, "the broker's certificate is not trusted"),
    "no certificate": ("mTLS", {"SG_SSL_CERTIFICATE_FILE": "", "SG_SSL_KEY_FILE": ""}, "no TLS connection"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "other", "said"), REFUSED.values(), ids=list(REFUSED))
def test_a_refused_client_is_told_why_in_a_line(
    secure: SecureBroker,
    suite: Path,
    name: str,
    other: dict[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    way, stage = WAYS[name], Stage(secure.bootstrap)
    other = {variable: value.format(folder=secure.directory) for variable, value in other.items()}
    take(monkeypatch, environment(secure, way, **other))
    with worker_of(secure, stage, suite, way, **other) as worker:
        assert worker.wait() == 2
    told = [worker.output()]
    for words in (("tail", "--count", "1"), ("topics", "apply"), ("explain", "r", "kafka:x", "-s", suite)):
        done = command(*words, "--bootstrap", address(secure, way))
        assert done.code == 2
        told.append(done.out + done.err)
    for text in told:
        [line] = text.splitlines()
        assert f"{address(secure, way)}: {said}" in line or f"{address(secure, way)}: Kafka {said}" in line
        assert "SECRET" not in line
        assert PASSWORD not in line


def test_the_emitter_and_the_commands_log_in_by_the_same_settings(
    secure: SecureBroker, suite: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    way = WAYS["SCRAM-SHA-512"]
    caplog.set_level("DEBUG")
    stage = Stage(secure.bootstrap, partitions=1)
    named = [part for name, physical in stage.names.items() for part in ("--topic", f"{name}={physical}")]
    take(monkeypatch, environment(secure, way, SG_BOOTSTRAP_SERVERS=address(secure, way)))
    for name in names(stage).values():
        asyncio.run(secure.grant(way.user, TOPIC, name, "Create", "Read", "DescribeConfigs"))
    asyncio.run(secure.grant(way.user, TOPIC, stage.topic("journal"), "Write"))
    alerts, comparisons = stage.names["agent.alerts.v1"], stage.names["agent.comparisons.v1"]
    asyncio.run(secure.grant(way.user, TOPIC, comparisons, "Create", "Describe", "DescribeConfigs"))
    apply = ("topics", "apply", "--app", stage.app, *named, "--partitions", "1", "--replication", "1")
    refused = command(*apply)
    assert refused.code == 1
    assert f"{alerts}: refused: the right Create is missing; grant it to this client" in refused.out
    asyncio.run(secure.grant(way.user, TOPIC, alerts, "Create", "Describe", "DescribeConfigs"))
    made = command(*apply)
    assert (made.code, made.out.count(": created"), made.out.count(": same")) == (0, 1, len(stage.names) + 1), made

    monkeypatch.setenv("SG_TOPIC", stage.topic("journal"))
    emitter = Emitter.from_env()
    with emitter.run("r-1", agent="shop") as run:
        run.user("hello")
    assert emitter.flush(timeout=60)
    emitter.close()
    explained = command("explain", "r-1", f"kafka:{stage.topic('journal')}", "-s", suite)
    assert (explained.code, explained.err) == (0, "")
    assert PASSWORD not in caplog.text

    asyncio.run(secure.withdraw(way.user, TOPIC, stage.topic("journal"), "Read"))
    refused = command("explain", "r-1", f"kafka:{stage.topic('journal')}", "-s", suite)
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)
    assert f"the right Read on topic {stage.topic('journal')} is missing" in refused.err


def test_an_emitter_that_is_refused_says_why(
    secure: SecureBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    way = WAYS["PLAIN"]
    told = environment(secure, way, SG_BOOTSTRAP_SERVERS=address(secure, way), SG_SASL_PASSWORD="SECRET-but-wrong")
    take(monkeypatch, told)
    caplog.set_level("DEBUG")
    emitter = Emitter.from_env()
    emitter.run("r-1")
    until(lambda: "Kafka refused the login" in caplog.text, "the refusal being told")
    emitter.close(timeout=0.1)
    assert "SECRET" not in caplog.text
