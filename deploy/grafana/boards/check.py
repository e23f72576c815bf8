"""How one check decides, agent by agent."""

from .parts import CHECKS, OF_CHECKS, Board, Panel, Query, Row, quantiles, rate, share

BOARD = Board(
    "check",
    "Check",
    "How one check decides, agent by agent.",
    OF_CHECKS,
    (
        Row(
            "Outcomes",
            (
                Panel(
                    "Passed, by agent",
                    "Of those that have an outcome, over an hour.",
                    (Query(share("verdicts_total", "pass", "pass|fail", CHECKS, "agent"), "{{agent}}"),),
                    "percentunit",
                ),
                Panel(
                    "Outcomes",
                    "",
                    (Query(rate("verdicts_total", CHECKS, "outcome"), "{{outcome}}", exemplars=True),),
                    "ops",
                ),
                Panel(
                    "Why it was not graded",
                    "",
                    (
                        Query(
                            rate("checks_ungraded_total", 'suite=~"$suite", check=~"$check"', "outcome, reason"),
                            "{{outcome}} {{reason}}",
                            may_be_empty=True,
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Scores",
                    "As a share of their scale; of checks that say more than pass or fail.",
                    tuple(
                        query._replace(may_be_empty=True)
                        for query in quantiles("score_ratio", 'suite=~"$suite", check=~"$check"', "check", "{{check}}")
                    ),
                    "percentunit",
                ),
            ),
        ),
        Row(
            "Told",
            (
                Panel(
                    "Early and amended",
                    "Verdicts before the run's end, and those that late events changed.",
                    (
                        Query(rate("early_verdicts_total", CHECKS, "outcome"), "early {{outcome}}", may_be_empty=True),
                        Query(
                            rate("amended_verdicts_total", CHECKS, "outcome"), "amended {{outcome}}", may_be_empty=True
                        ),
                    ),
                    "ops",
                ),
                Panel(
                    "Violations, by agent", "", (Query(rate("violations_total", CHECKS, "agent"), "{{agent}}"),), "ops"
                ),
            ),
        ),
    ),
)
