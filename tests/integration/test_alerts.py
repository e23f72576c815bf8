"""The chain for real: workers on Apache Kafka, Prometheus, Alertmanager, and whoever is to hear of it.

Each alert is provoked by what it is for, heard of, and taken back once that is over. The files are the shipped ones with
durations divided by 60.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Self

import pytest

from deploy.grafana.boards import BOARDS
from deploy.grafana.boards.parts import Query
from stream_graders.events import Agent, Event, to_json
from stream_graders.stream.topics import partition_of
from stream_graders.testing import Story, run
from tests.deploy.promql import chosen
from tests.deploy.servers import Alertmanager, Prometheus, Receiver
from tests.integration.harness import SHOP, STARTED, Metrics, Stage, WorkerProcess, free_port, is_ready, until, written
from tests.integration.test_sink import SinkProcess
from tests.kafka.broker import KafkaBroker

pytestmark = [pytest.mark.requires_kafka, pytest.mark.requires_prometheus, pytest.mark.timeout(600)]

BLIND = """
suite: blind
select: {agent: 'blind-*'}
checks:
  - {check: no-drop, grader: agentlasso.tool_not_called, severity: minor, settings: {tool: db.drop}}
"""
MADE_UP = 600
"""Agents with a name of their own: more than two workers have room for, at 25 series each."""
BACKLOG = 9_000
"""Runs that take workers seconds, of five events each."""


class Chain:
    """All of it, and what befalls it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.broker = KafkaBroker(folder / "kafka")
        self.stage = Stage(self.broker.bootstrap)
        self.suites = [written(folder / "shop.yaml", SHOP), written(folder / "blind.yaml", BLIND)]
        self.ports = [free_port(), free_port()]
        self.workers = [self.worker(n, self.suites) for n in range(2)]
        self.receiver = Receiver()
        self.alertmanager = Alertmanager(folder, self.receiver)
        self.sink = SinkProcess(self.stage, self.alertmanager.address, "alertmanager")
        self.prometheus = Prometheus(folder, self.ports, self.sink.port, self.alertmanager)
        self._all = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.callback(self.receiver.close)
            stack.enter_context(self.broker)
            self.stage.set()
            stack.callback(self.stop)
            self.start(0)
            stack.enter_context(self.alertmanager)
            stack.enter_context(self.sink)
            STARTED.pop()
            stack.enter_context(self.prometheus)
            self._all = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._all.close()

    def worker(self, number: int, suites: list[Path]) -> WorkerProcess:
        return WorkerProcess(self.stage, suites, f"w{number}", "--metrics-port", str(self.ports[number]))

    def start(self, *numbers: int) -> None:
        """Start workers, and see them ready."""
        for number in numbers:
            self.workers[number].start()
            STARTED.pop()  # It outlasts the test; the chain ends it.
        for number in numbers:
            until(lambda n=number: is_ready(self.ports[n]), f"worker {number} being ready", self.workers[number])  # type: ignore[misc]  # a default keeps the loop's value

    def stop(self) -> None:
        """Ask the workers to stop."""
        for worker in self.workers:
            if worker.process is not None:
                worker.stop()

    def fires(self, alert: str, receiver: str, **labels: str) -> None:
        """Wait until an alert is heard of by whom it is for."""

        def is_heard() -> bool:
            told = self.receiver.heard(alert)
            return any(labels.items() <= notice.labels.items() and notice.receiver == receiver for notice in told)

        until(is_heard, f"hearing of {alert}; firing are {self.prometheus.firing()}")

    def ends(self, alert: str) -> None:
        """Wait until the end of an alert is heard of, and it does not fire any more."""
        until(
            lambda: bool(self.receiver.heard(alert, "resolved")) and alert not in self.prometheus.firing(),
            f"hearing of the end of {alert}",
        )

    def forget(self) -> None:
        """Hear as if for the first time."""
        until(lambda: not self.prometheus.firing(), f"nothing firing; {self.prometheus.firing()} do")
        self.receiver.notices.clear()


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    with Chain(tmp_path_factory.mktemp("chain")) as chain:
        yield chain


class Feed:
    """Tells events again and again, until what they provoke is heard of."""

    def __init__(self, tell: Callable[[int], None]) -> None:
        self._tell, self._enough = tell, threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._enough.set()
        self._thread.join()
        assert self._failed is None, f"the events could not be sent: {self._failed!r}"

    def _run(self) -> None:
        try:
            for number in count():
                self._tell(number)
                if self._enough.wait(0.3):
                    return
        except BaseException as error:  # noqa: BLE001  (for whoever waits)
            self._failed = error


def of(agent: str, run_id: str) -> Story:
    return run(run_id, agent=Agent(agent, "1.0"), environment="prod")


def good(agent: str, run_id: str) -> list[Event]:
    return list(of(agent, run_id).starts().calls("find").returns({"id": "A-1"}).says("welcome, it is A-1").ends())


def bad(run_id: str) -> list[Event]:
    return list(of("bad", run_id).starts().calls("db.drop").returns("ok").says("bye").ends())


def unreported(run_id: str) -> list[Event]:
    return list(of("blind-bot", run_id).starts(reports=("messages", "end")).says("welcome").ends())


def provoke(chain: Chain, number: int) -> None:
    """Runs that fail, that cannot be graded, that lie elsewhere, and records that are no events."""
    told: list[Event] = []
    for n in range(4):
        name = f"{number}-{n}"
        told += [*good("calm", f"good-{name}"), *bad(f'bad-"{name}\\'), *unreported(f"blind-{name}")]
    stage = chain.stage
    stage.tell(told)
    stage.send((b"bad", b"no event") for _ in range(4))
    elsewhere = good("calm", f"elsewhere-{number}")
    key = elsewhere[0].run_id.encode()
    partition = (partition_of(key, stage.partitions) + 1) % stage.partitions
    stage.send(((key, to_json(event)) for event in elsewhere), partition)


# -- the stories, in their order: each goes on with what the one before left -----------------------------------------------


def test_a_worker_that_is_not_there_is_heard_of_until_it_is(chain: Chain) -> None:
    chain.fires("WorkerDown", "ticket", instance=f"127.0.0.1:{chain.ports[1]}")
    assert chain.receiver.heard("WorkersAbsent") == []
    beats = len(chain.receiver.heard("Watchdog"))
    until(lambda: len(chain.receiver.heard("Watchdog")) >= beats + 3, "three heartbeats")
    assert {notice.receiver for notice in chain.receiver.heard("Watchdog")} == {"deadman"}
    other = written(chain.folder / "other.yaml", SHOP.replace("welcome", "hello"))
    chain.workers[1] = chain.worker(1, [other, chain.suites[1]])
    chain.start(1)
    chain.ends("WorkerDown")
    chain.fires("SuitesDiffer", "ticket", suite="shop")
    chain.workers[1].stop()
    chain.workers[1] = chain.worker(1, chain.suites)
    chain.start(1)
    chain.ends("SuitesDiffer")
    assert chain.prometheus.troubles() == []


def test_what_goes_wrong_with_runs_and_records_is_heard_of_until_it_is_over(chain: Chain) -> None:
    chain.forget()
    with Feed(lambda number: provoke(chain, number)):
        chain.fires("FailBudgetBurn", "ticket", agent="bad", environment="prod", suite="shop")
        chain.fires("ChecksNotGraded", "ticket", suite="blind", check="no-drop")
        chain.fires("DeadLetters", "ticket", job="stream-graders")
        chain.fires("RunsMisplaced", "ticket")
        chain.fires("AgentViolation", "page", agent="bad", suite="shop", check="no-drop", notify="page")
        chain.fires("AgentViolation", "ticket", agent="bad", suite="shop", check="polite", notify="ticket")
        [notice, *_] = chain.receiver.heard("FailBudgetBurn")
        assert notice.annotations["summary"] == "Runs of bad in prod fail suite shop"
        assert chain.prometheus.firing() == {"FailBudgetBurn", "ChecksNotGraded", "DeadLetters", "RunsMisplaced"}
        hold_every_query(chain.prometheus)
        assert chain.prometheus.troubles() == []
    for alert in ("FailBudgetBurn", "ChecksNotGraded", "DeadLetters", "RunsMisplaced"):
        chain.ends(alert)


def unanswered(prometheus: Prometheus, queries: Iterable[Query]) -> list[str]:
    """Expressions that give nothing, and do not say that they show what is rare."""
    empty = []
    for query in queries:
        found = prometheus.query(chosen(query.expr, interval="10s", span="1m").replace("[1h]", "[1m]"))
        if not query.may_be_empty and {sample["value"][1] for sample in found} <= {"NaN"}:
            empty.append(query.expr)
    return empty


def hold_every_query(prometheus: Prometheus) -> None:
    """Every expression of every dashboard gives something, and failed runs stand beside their counters."""
    shown = [query for board in BOARDS for row in board.rows for panel in row.panels for query in panel.queries]
    assert unanswered(prometheus, shown) == []
    nobody = Query('stream_graders_state_keys{instance="nobody"}')
    assert unanswered(prometheus, [nobody, nobody._replace(may_be_empty=True)]) == [nobody.expr]
    told = prometheus.get(
        "/api/v1/query_exemplars", query="stream_graders_run_verdicts_total", start="0", end="99999999999"
    )
    runs = {each["labels"]["run_id"] for series in told["data"] for each in series["exemplars"]}
    # As Prometheus 2.42 keeps them: it does not take the escapes out again.
    assert any(run_id.startswith('bad-\\"') and run_id.endswith("\\\\") for run_id in runs), runs


def test_the_ledger_adds_up_over_all_workers(chain: Chain) -> None:
    committed = chain.stage.committed()
    pages = [Metrics(port) for port in chain.ports]
    assert sum(page.of("events_consumed_total") for page in pages) == committed
    fates = sum(page.of("events_total") + page.of("events_held") + page.of("events_replayed_total") for page in pages)
    assert fates == committed
    opened = sum(page.of("checks_opened_total") for page in pages)
    assert opened == sum(page.of("verdicts_total") for page in pages) > 0


def test_a_broker_that_is_away_is_heard_of_until_it_is_back(chain: Chain) -> None:
    chain.forget()
    chain.broker.stop()
    chain.fires("BrokerUnreachable", "page")
    chain.broker.start()
    chain.ends("BrokerUnreachable")


def test_workers_that_are_all_gone_are_heard_of_once_and_not_each_by_itself(chain: Chain) -> None:
    chain.forget()
    chain.stop()
    chain.fires("WorkersAbsent", "page", job="stream-graders")
    until(
        lambda: sum(
            alert["labels"]["alertname"] == "WorkerDown" and bool(alert["status"]["inhibitedBy"])
            for alert in chain.alertmanager.alerts()
        ) == 2,
        "both alerts of one worker each being kept back",
    )  # fmt: skip
    assert chain.receiver.heard("WorkerDown") == []
    chain.start(0, 1)
    chain.ends("WorkersAbsent")


def test_a_partition_that_stands_still_is_heard_of_until_it_moves(chain: Chain) -> None:
    chain.forget()
    chain.stop()
    chain.stage.tell(event for n in range(BACKLOG) for event in good("calm", f"waits-{n}"))
    for worker in chain.workers:
        worker.start()
        STARTED.pop()
    until(lambda: any(map(lag_of, chain.ports)), "a worker being behind")
    # The broker takes nothing and gives nothing, as one does whose disk hangs; connections stay.
    os.kill(chain.broker.pid, signal.SIGSTOP)
    try:
        chain.fires("PartitionStalled", "page", job="stream-graders")
    finally:
        os.kill(chain.broker.pid, signal.SIGCONT)
    chain.ends("PartitionStalled")
    until(lambda: not any(map(lag_of, chain.ports)), "the rest being read")


def lag_of(port: int) -> float:
    """How many records a worker has before it; 0 while it is not there."""
    with suppress(OSError):
        return Metrics(port).of("consumer_lag_records")
    return 0.0


def test_agents_with_made_up_names_are_heard_of(chain: Chain) -> None:
    chain.forget()
    chain.stage.tell(event for n in range(MADE_UP) for event in good(f"made-up-{n}", f"made-up-{n}"))
    with Feed(lambda number: chain.stage.tell(good(f"next-{number}", f"next-{number}"))):
        chain.fires("LabelsFolded", "ticket", suite="shop")
    others = 'stream_graders_runs_started_total{agent="other", environment="other", suite="shop"} > 0'
    until(lambda: bool(chain.prometheus.query(others)), "runs being counted as other")
    assert chain.prometheus.troubles() == []
