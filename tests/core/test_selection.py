"""Which suites grade a run, when that is known, and what is kept of a run that none does (design 5.1)."""

import pytest

from stream_graders.events import Agent, DeadLetter, Event
from stream_graders.graders.agentlasso.tool_not_called import ToolNotCalled
from stream_graders.graders.vally.transcript_contains import TranscriptContains
from stream_graders.suites import Check, Select, Suite
from stream_graders.testing import Story, run
from tests.core.life import HOUR, MINUTE, SECOND, Life

CHECKS = (Check("says", TranscriptContains("done"), "critical"), Check("drops", ToolNotCalled("drop"), "critical"))
SUPPORT = Suite("support", CHECKS, select=Select(agent=("support-*", "helpdesk"), environment=("production",)))
BOT = Agent("support-bot", "1.4")


def told(*agents: Agent | None) -> list[Event]:
    """A run of these agents' messages, in production, and its end."""
    story = run(environment="production", agent=None)
    for agent in agents:
        story.says("done", agent=agent)
    return list(story.ends())


SELECTED = {
    "a pattern": Select(agent=("support-*",)),
    "one of several": Select(agent=("x", "support-bot")),
    "a version": Select(version=("1.*",)),
    "an environment": Select(environment=("staging", "production")),
    "a tenant": Select(tenant=("acme",)),
    "labels": Select(labels={"prompt": "v*", "region": "eu"}),
    "everything": Select(),
}
REFUSED = {
    "agent is support-bot, the suite selects other": Select(agent=("other",)),
    "agent is support-bot, the suite selects Support-*, x": Select(agent=("Support-*", "x")),
    "version is 1.4, the suite selects 2.*": Select(version=("2.*",)),
    "environment is production, the suite selects staging": Select(environment=("staging",)),
    "tenant is acme, the suite selects evil": Select(tenant=("evil",)),
    "label prompt is v7, the suite selects v8": Select(labels={"prompt": "v8"}),
    "label owner is not set, the suite selects *": Select(labels={"owner": "*"}),
    "variant is live, the suite selects candidate": Select(variant="candidate"),
}


def start() -> Story:
    return run(environment="production", tenant="acme", agent=BOT).starts(labels={"prompt": "v7", "region": "eu"})


@pytest.mark.parametrize("select", SELECTED.values(), ids=list(SELECTED))
def test_a_suite_selects_by(select: Select) -> None:
    assert Life(Suite("s", CHECKS, select=select)).feed(start()).phase == "open"


@pytest.mark.parametrize(("clause", "select"), REFUSED.items(), ids=list(REFUSED))
def test_a_run_that_is_refused_keeps_the_clause(clause: str, select: Select) -> None:
    life = Life(Suite("s", CHECKS, select=select)).feed(start())
    assert (life.phase, life.session.refusal) == ("unselected", f"s: {clause}")
    life.moves()
    assert life.session.refusal == f"s: {clause}"
    assert len(life.session.snapshot()) < 200


def test_a_name_in_brackets_is_a_name() -> None:
    life = Life(Suite("s", CHECKS, select=Select(agent=("bot[1]",)))).feed(run(agent=Agent("bot[1]")).starts())
    assert life.phase == "open"


def test_shadow_traffic_needs_a_suite_that_asks_for_it() -> None:
    candidate = run().starts(variant="candidate", pair_id="p-1").ends()
    assert Life(Suite("s", CHECKS)).feed(candidate).phase == "unselected"
    shadow = Life(Suite("s", CHECKS, select=Select(variant="candidate"))).feed(candidate)
    assert (shadow.run.variant, shadow.run.pair_id) == ("candidate", "p-1")


def test_every_event_of_an_unselected_run_is_counted_and_none_graded() -> None:
    life = Life(SUPPORT).feed(run(agent=Agent("sales")).starts().says("a").says("b", seq=9, id="ahead").ends())
    assert (life.ledger.unselected, life.ledger.graded, life.effects) == (4, 0, [])


def test_an_unselected_run_is_forgotten_an_hour_after_it_was_last_heard_of() -> None:
    life = Life(SUPPORT).feed(run(agent=Agent("sales")).starts()).later(HOUR - 1)
    assert life.phase == "unselected"
    assert life.later(1).phase == "gone"
    life = Life(SUPPORT).feed(run(agent=Agent("sales")).starts()).later(31 * MINUTE)
    assert life.feed(run(agent=Agent("sales")).says("x", seq=1)).later(HOUR - 1).phase == "unselected"


def test_another_tenants_event_is_refused_in_an_unselected_run_too() -> None:
    life = Life(SUPPORT).feed(run(agent=Agent("sales"), tenant="acme").starts()).moves()
    assert life.feed(run(tenant="evil").says("x", seq=1)).buried == [DeadLetter.TENANT_MISMATCH]


# -- an agent that is named late -------------------------------------------------------------------------------------------------


def test_events_wait_for_the_agents_name() -> None:
    events = told(None, None, BOT)
    life = Life(SUPPORT).feed(events[:2])
    assert (life.phase, life.ledger.held) == ("waiting", 2)
    life.moves().feed(events[2])
    assert (life.phase, life.ledger.held, life.ledger.graded) == ("open", 0, 3)
    assert life.feed(events[3]).outcomes() == {"says": "pass (found)", "drops": "not_graded (record_unknown)"}
    assert life.verdicts[0].decided_by is not None
    assert life.verdicts[0].decided_by.seq == 0


def test_the_last_event_may_name_it() -> None:
    story = run(environment="production", agent=None).starts().says("done").ends(agent=BOT)
    life = Life(SUPPORT).feed(story)
    assert life.outcomes() == {"says": "pass (found)", "drops": "pass (not_called)"}
    assert life.run.agent == BOT


def test_the_name_of_an_agent_that_is_not_selected_frees_what_waited() -> None:
    life = Life(SUPPORT).feed(told(None, None, Agent("sales")))
    assert (life.phase, life.ledger.unselected, life.ledger.held) == ("unselected", 4, 0)


def test_without_a_name_for_30_seconds_nothing_is_graded_by_a_suite_that_asks_for_one() -> None:
    life = Life(SUPPORT).feed(told(None, None)[:2]).later(30 * SECOND)
    assert life.phase == "open"
    life.feed(told(None, None)[2])
    assert life.outcomes() == {"says": "not_graded (agent_unknown)", "drops": "not_graded (agent_unknown)"}
    assert (life.run.outcome, life.run.flags, life.run.agent) == ("not_graded", ("agent_unknown",), None)


def test_a_suite_that_does_not_ask_grades_it() -> None:
    life = Life((SUPPORT, Suite("all", CHECKS[:1]))).feed(told(None)).later(30 * SECOND)
    assert {(v.suite, v.outcome, v.reason) for v in life.verdicts} == {
        ("support", "not_graded", "agent_unknown"),
        ("all", "pass", "found"),
    }


def test_the_other_clauses_still_refuse_a_run_without_a_name() -> None:
    life = Life(SUPPORT).feed(run(environment="staging", agent=None).says("x")).later(30 * SECOND)
    assert (life.phase, life.session.refusal) == (
        "unselected",
        "support: environment is staging, the suite selects production",
    )


def test_64_events_or_128_kb_without_a_name_are_enough() -> None:
    assert Life(SUPPORT).feed(told(*[None] * 64)[:64]).phase == "waiting"
    assert Life(SUPPORT).feed(told(*[None] * 65)[:65]).phase == "open"
    assert Life(SUPPORT).feed(told(None, None, None)[:3], size=50_000).phase == "open"


def test_a_gap_that_is_given_up_while_a_name_is_awaited_lies_where_it_lies() -> None:
    events = told(None, None, None, BOT)
    life = Life(SUPPORT).feed(events[:2]).later(1_000).feed(events[3:])
    life.later(30 * SECOND)
    assert life.session.course.last_gap == 2


def test_a_pinned_suite_stays_whatever_is_named_later() -> None:
    life = Life(SUPPORT).feed(told(BOT, Agent("sales")))
    assert life.run.suite == "support"
    assert life.run.agent == BOT


def test_an_early_start_of_another_producer_does_not_unpin_it() -> None:
    life = Life(SUPPORT).feed(told(BOT)[:1], run(producer="p2", agent=Agent("sales")).starts())
    assert life.phase == "open"
    assert life.session.identity.agent == Agent("sales")
