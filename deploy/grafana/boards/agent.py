"""How one agent does, check by check."""

from .parts import OF_RUNS, RUNS, Board, Panel, Query, Row, grown, rate, share

BOARD = Board(
    "agent",
    "Agent",
    "How one agent does, check by check.",
    OF_RUNS,
    (
        Row(
            "Outcomes",
            (
                Panel(
                    "Checks that passed",
                    "Of those that have an outcome, over an hour.",
                    (Query(share("verdicts_total", "pass", "pass|fail", RUNS, "check"), "{{check}}"),),
                    "percentunit",
                ),
                Panel(
                    "Failed checks",
                    "",
                    (Query(rate("verdicts_total", f'{RUNS}, outcome="fail"', "check"), "{{check}}", exemplars=True),),
                    "ops",
                ),
                Panel(
                    "Runs by outcome",
                    "",
                    (Query(rate("run_verdicts_total", RUNS, "outcome"), "{{outcome}}", exemplars=True),),
                    "ops",
                ),
                Panel(
                    "Checks without an outcome",
                    "Skipped, not graded or in error: the share of all.",
                    (
                        Query(
                            share("verdicts_total", "skipped|not_graded|error", ".*", RUNS, "check, outcome"),
                            "{{check}} {{outcome}}",
                        ),
                    ),
                    "percentunit",
                ),
            ),
        ),
        Row(
            "Runs",
            (
                Panel(
                    "Runs that began and ended",
                    "",
                    (
                        Query(rate("runs_started_total", RUNS, "agent"), "{{agent}} began"),
                        Query(rate("runs_completed_total", RUNS, "agent, reason"), "{{agent}} {{reason}}"),
                    ),
                    "ops",
                ),
                Panel(
                    "Checks that are open",
                    "Of the runs that began in the time shown: selected, and without an outcome yet.",
                    (
                        Query(
                            f"{grown('checks_opened_total', RUNS, 'agent')} - {grown('verdicts_total', RUNS, 'agent')}",
                            "{{agent}}",
                        ),
                    ),
                ),
                Panel(
                    "Fails before the run's end",
                    "Early verdicts.",
                    (Query(rate("early_verdicts_total", RUNS, "check"), "{{check}}", may_be_empty=True),),
                    "ops",
                ),
                Panel(
                    "Verdicts that late events changed",
                    "",
                    (
                        Query(
                            rate("amended_verdicts_total", RUNS, "check, outcome"),
                            "{{check}} {{outcome}}",
                            may_be_empty=True,
                        ),
                    ),
                    "ops",
                ),
            ),
        ),
    ),
)
