"""What the processes do, and what it costs them."""

from .parts import OF_WORKERS, WORKER, Board, Panel, Query, Row, gauge, quantiles, rate

BOARD = Board(
    "worker",
    "Worker",
    "What the processes do, and what it costs them.",
    OF_WORKERS,
    (
        Row(
            "Work",
            (
                Panel("Records read", "", (Query(rate("events_consumed_total", WORKER, "type"), "{{type}}"),), "ops"),
                Panel("What became of them", "", (Query(rate("events_total", WORKER, "fate"), "{{fate}}"),), "ops"),
                Panel(
                    "Batches",
                    "Time to grade one, and to write it.",
                    quantiles("batch_duration_seconds", WORKER, "stage", "{{stage}}"),
                    "s",
                ),
                Panel(
                    "The event loop",
                    "The longest that it kept others waiting in each second; at 5 s a worker ends itself.",
                    quantiles("event_loop_lag_seconds", WORKER, "instance", "{{instance}}"),
                    "s",
                ),
            ),
        ),
        Row(
            "Memory and CPU",
            (
                Panel("Runs remembered", "", (Query(gauge("state_keys"), "{{instance}}"),)),
                Panel("Their states", "", (Query(gauge("state_bytes"), "{{instance}}"),), "bytes"),
                Panel(
                    "Memory",
                    "",
                    (Query(f'process_resident_memory_bytes{{job="stream-graders", {WORKER}}}', "{{instance}}"),),
                    "bytes",
                ),
                Panel(
                    "CPU",
                    "Cores.",
                    (
                        Query(
                            f'rate(process_cpu_seconds_total{{job="stream-graders", {WORKER}}}[$__rate_interval])',
                            "{{instance}}",
                        ),
                    ),
                ),
            ),
        ),
        Row(
            "Right",
            (
                Panel(
                    "Events that the ledger lacks",
                    "0, or there is a defect.",
                    (Query(gauge("ledger_difference_events"), "{{instance}}"),),
                ),
                Panel("Dead letters", "", (Query(rate("dlq_records_total", WORKER, "reason"), "{{reason}}"),), "ops"),
                Panel(
                    "Events held back",
                    "Behind a gap, or until the agent is known.",
                    (Query(gauge("events_held"), "{{instance}}"),),
                ),
                Panel(
                    "Deadlines that nobody kept", "", (Query(gauge("deadline_overdue_seconds"), "{{instance}}"),), "s"
                ),
                Panel(
                    "Producers and partitions",
                    "Producers that began again under their old name, and runs on a partition that is not theirs.",
                    (
                        Query(rate("producers_restarted_total", WORKER, "instance"), "{{instance}} restarted"),
                        Query(rate("runs_misplaced_total", WORKER, "instance"), "{{instance}} misplaced"),
                    ),
                    "ops",
                ),
                Panel(
                    "Judges",
                    "Questions that checks asked, and answers that settled one or were ignored: late, unasked for, or not signed.",
                    (
                        Query(rate("questions_total", WORKER, "instance"), "{{instance}} asked"),
                        Query(rate("answers_total", WORKER, "instance, use"), "{{instance}} {{use}}"),
                    ),
                    "ops",
                ),
                Panel(
                    "Versions",
                    "Of the program, and of the suites that each worker has loaded.",
                    (
                        Query(f"count by (version) ({gauge('build_info')})", "program {{version}}"),
                        Query(
                            f"count by (suite, suite_version) ({gauge('suite_checks')})", "{{suite}} {{suite_version}}"
                        ),
                    ),
                ),
                Panel(
                    "Starts",
                    "In the time shown.",
                    (
                        Query(
                            f'changes(process_start_time_seconds{{job="stream-graders", {WORKER}}}[$__range])',
                            "{{instance}}",
                        ),
                    ),
                ),
            ),
        ),
    ),
)
