"""How all agents do."""

from .parts import FAILED_RUNS, OF_RUNS, PREFIX, RUNS, Board, Panel, Query, Row, grown, quantiles, rate, share

LATENCY = Panel(
    "Time to a verdict",
    "From the append of the record that settled a run to its run verdict.",
    quantiles("verdict_latency_seconds", 'suite=~"$suite"', exemplars=True),
    "s",
)

BOARD = Board(
    "fleet",
    "Fleet",
    "How all agents do.",
    OF_RUNS,
    (
        Row(
            "Now",
            (
                Panel(
                    "Runs that passed",
                    "Of those that have an outcome, in the time shown.",
                    (Query(share("run_verdicts_total", "pass", "pass|fail", RUNS, "job", "$__range")),),
                    "percentunit",
                    is_number=True,
                ),
                Panel("Runs graded", "", (Query(grown("run_verdicts_total", RUNS, "job")),), is_number=True),
                Panel("Workers that answer", "", (Query('sum by (job) (up{job="stream-graders"})'),), is_number=True),
                Panel(
                    "Records that wait", "", (Query(f"sum by (job) ({PREFIX}consumer_lag_records)"),), is_number=True
                ),
                Panel(
                    "Alerts that fire",
                    "The watchdog always does.",
                    (Query('count(ALERTS{alertstate="firing", alertname!="Watchdog"}) or vector(0)'),),
                    is_number=True,
                ),
                Panel(
                    "Suites",
                    "Checks of each loaded suite.",
                    (Query(f"max by (suite) ({PREFIX}suite_checks)", "{{suite}}"),),
                    is_number=True,
                ),
            ),
        ),
        Row(
            "Outcomes",
            (
                Panel(
                    "Runs that passed, by agent",
                    "Of those that have an outcome, over an hour.",
                    (Query(share("run_verdicts_total", "pass", "pass|fail", RUNS, "agent"), "{{agent}}"),),
                    "percentunit",
                ),
                Panel(
                    "Runs by outcome",
                    "",
                    (Query(rate("run_verdicts_total", RUNS, "outcome"), "{{outcome}}", exemplars=True),),
                    "ops",
                ),
                Panel(
                    "Agents with the most failed runs",
                    "In the time shown.",
                    (Query(f"topk(10, {grown('run_verdicts_total', FAILED_RUNS, 'agent')})", "{{agent}}"),),
                ),
                Panel(
                    "Checks that were not graded, by reason",
                    "They are in no rate.",
                    (
                        Query(
                            rate("checks_ungraded_total", 'suite=~"$suite"', "reason"), "{{reason}}", may_be_empty=True
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Violations",
                    "Fails that somebody asked to hear of.",
                    (Query(rate("violations_total", RUNS, "suite, check"), "{{suite}} {{check}}"),),
                    "ops",
                ),
                LATENCY,
            ),
        ),
        Row(
            "Room",
            (
                Panel(
                    "Runs counted as other",
                    "For want of series of their own.",
                    (Query(rate("labels_folded_total", 'suite=~"$suite"', "suite"), "{{suite}}"),),
                    "ops",
                ),
                Panel(
                    "Runs that were shed",
                    "Left ungraded because workers were behind.",
                    (Query(rate("runs_shed_total", RUNS, "suite"), "{{suite}}", may_be_empty=True),),
                    "ops",
                ),
                Panel(
                    "Time to the last verdict",
                    "It grows where no run ends.",
                    (Query(f"time() - max by (job) ({PREFIX}last_verdict_timestamp_seconds)", "last verdict"),),
                    "s",
                ),
            ),
        ),
        Row(
            "Told to people",
            (
                Panel(
                    "Violations read by the sink",
                    "",
                    (Query(f"sum by (job) (rate({PREFIX}sink_violations_total[$__rate_interval]))", "read"),),
                    "ops",
                ),
                Panel(
                    "Notices",
                    "What people were told, by kind.",
                    (
                        Query(
                            f"sum by (kind) (rate({PREFIX}sink_notices_total[$__rate_interval]))",
                            "{{kind}}",
                            may_be_empty=True,
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Posts",
                    "To the receiver.",
                    (Query(f"sum by (outcome) (rate({PREFIX}sink_posts_total[$__rate_interval]))", "{{outcome}}"),),
                    "ops",
                ),
                Panel(
                    "Groups",
                    "Of violations that are going on.",
                    (Query(f"sum by (job) ({PREFIX}sink_groups)", "groups"),),
                ),
                Panel(
                    "Receiver away",
                    "For how long it has taken nothing.",
                    (
                        Query(
                            f"(time() - {PREFIX}sink_unreachable_since_timestamp_seconds) * ({PREFIX}sink_unreachable_since_timestamp_seconds > bool 0)",
                            "{{instance}}",
                        ),
                    ),
                    "s",
                ),
                Panel(
                    "Not told",
                    "Records that are no violations, and those that retention removed before they were read.",
                    (
                        Query(f"sum by (job) (rate({PREFIX}sink_unread_records_total[$__rate_interval]))", "unread"),
                        Query(f"sum by (job) (rate({PREFIX}sink_lost_records_total[$__rate_interval]))", "removed"),
                    ),
                    "ops",
                ),
            ),
        ),
    ),
)
