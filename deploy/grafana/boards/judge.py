"""What judges are asked, what they answer, and what it costs."""

from .parts import PREFIX, Board, Panel, Query, Row, quantiles, rate

MODEL = 'model=~"$model"'
JUDGES = 'job=~".+"'
"""Whatever tells it: judge workers have no choice of their own."""


def judged(metric: str, of: str, by: str, legend: str) -> Query:
    """How much a counter grows; nothing, where no check asks a judge."""
    return Query(rate(f"judge_{metric}_total", of, by), legend, may_be_empty=True)


def grown_by(part: str, whole: str, of: str) -> str:
    """What one counter grew by in an hour, as a share of what another did."""
    some, all_ = f"increase({PREFIX}judge_{part}_total[1h])", f"increase({PREFIX}judge_{whole}_total{{{of}}}[1h])"
    return f"sum({some}) / (sum({all_}) > 0)"


BOARD = Board(
    "judge",
    "Judge",
    "What judges are asked, what they answer, and what it costs.",
    {"model": "judge_calls_total"},
    (
        Row(
            "Asked",
            (
                Panel(
                    "Requests",
                    "By what became of them.",
                    (judged("requests", JUDGES, "status, code", "{{status}} {{code}}"),),
                    "ops",
                ),
                Panel("Requests, by grader", "", (judged("requests", JUDGES, "grader", "{{grader}}"),), "ops"),
                Panel(
                    "Workers that answer",
                    "",
                    (Query('sum by (job) (up{job="judge"})', "{{job}}", may_be_empty=True),),
                ),
                Panel(
                    "Requests without an answer yet",
                    "",
                    (Query(f"sum by (job) ({PREFIX}judge_requests_waiting)", "{{job}}", may_be_empty=True),),
                ),
                Panel(
                    "How long the oldest has waited",
                    "",
                    (
                        Query(
                            f"time() - ({PREFIX}judge_oldest_request_timestamp_seconds > 0)",
                            "{{instance}}",
                            may_be_empty=True,
                        ),
                    ),
                    "s",
                ),
                Panel(
                    "Not answered",
                    "Runs that had gone on meanwhile, and records that are no request.",
                    (judged("expired", JUDGES, "job", "expired"), judged("bad_requests", JUDGES, "job", "no request")),
                    "ops",
                ),
            ),
        ),
        Row(
            "Models",
            (
                Panel(
                    "Calls",
                    "By how they ended.",
                    (judged("calls", MODEL, "model, outcome", "{{model}} {{outcome}}"),),
                    "ops",
                ),
                Panel(
                    "Time of a call",
                    "",
                    tuple(
                        q._replace(may_be_empty=True)
                        for q in quantiles("judge_call_seconds", MODEL, "model", "{{model}}")
                    ),
                    "s",
                ),
                Panel(
                    "Calls under way",
                    "",
                    (
                        Query(
                            f"sum by (model) ({PREFIX}judge_calls_under_way{{{MODEL}}})", "{{model}}", may_be_empty=True
                        ),
                    ),
                ),
                Panel(
                    "Left alone",
                    "1 while a model is not asked because it fails.",
                    (Query(f"max by (model) ({PREFIX}judge_breaker_open{{{MODEL}}})", "{{model}}", may_be_empty=True),),
                ),
                Panel(
                    "Dollars an hour",
                    "",
                    (
                        Query(
                            f"{rate('judge_cost_micro_usd_total', MODEL, 'model')} * 3600 / 1e6",
                            "{{model}}",
                            may_be_empty=True,
                        ),
                    ),
                    "currencyUSD",
                ),
                Panel("Tokens", "", (judged("tokens", MODEL, "model, kind", "{{model}} {{kind}}"),), "ops"),
            ),
        ),
        Row(
            "Answers",
            (
                Panel("Where they came from", "", (judged("cache", JUDGES, "how", "{{how}}"),), "ops"),
                Panel(
                    "Budgets",
                    "Calls that were refused, and the used share of a limit.",
                    (
                        judged("budget_refusals", JUDGES, "unit", "refused for {{unit}}"),
                        Query(
                            f"max by (window) ({PREFIX}judge_budget_used_ratio)",
                            "used of {{window}}",
                            may_be_empty=True,
                        ),
                    ),
                ),
                Panel(
                    "Share of replies without a score, and of scores off the scale",
                    "Of an hour. Alerts begin at 20 % and 1 %.",
                    (
                        Query(grown_by("unreadable", "calls", 'outcome="ok"'), "no score", may_be_empty=True),
                        Query(grown_by("clamped", "requests", 'status="scored"'), "off the scale", may_be_empty=True),
                    ),
                    "percentunit",
                ),
                Panel(
                    "Looks at states",
                    "By target; one that failed fails its assertion.",
                    (judged("probe_looks", JUDGES, "target, outcome", "{{target}} {{outcome}}"),),
                    "ops",
                ),
                Panel(
                    "Odd answers",
                    "Asked for again, taken as the scale's end, flagged, or given to a second judge.",
                    (
                        judged("unreadable", JUDGES, "code", "again: {{code}}"),
                        judged("clamped", JUDGES, "grader", "off the scale: {{grader}}"),
                        judged("suspect", JUDGES, "flag", "{{flag}}"),
                        judged("escalated", JUDGES, "job", "second judge"),
                    ),
                    "ops",
                ),
            ),
        ),
    ),
)
