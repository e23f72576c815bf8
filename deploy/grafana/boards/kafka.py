"""How the workers and their brokers get on."""

from .parts import OF_WORKERS, WORKER, Board, Panel, Query, Row, gauge, quantiles, rate

BOARD = Board(
    "kafka",
    "Kafka",
    "How the workers and their brokers get on.",
    OF_WORKERS,
    (
        Row(
            "Behind",
            (
                Panel("Records that wait", "By partition.", (Query(gauge("consumer_lag_records"), "{{partition}}"),)),
                Panel(
                    "Age of the last record read, while others wait",
                    "",
                    (Query(gauge("consumer_lag_seconds"), "{{partition}}"),),
                    "s",
                ),
                Panel(
                    "Committed",
                    "Records a second, by partition: 0 where one stands still.",
                    (Query(f"rate({gauge('committed_offset')}[$__rate_interval])", "{{partition}}"),),
                    "ops",
                ),
                Panel(
                    "Age of the last record read",
                    "It grows where nothing is sent.",
                    (Query(f"time() - {gauge('last_event_timestamp_seconds')}", "{{instance}}"),),
                    "s",
                ),
                Panel(
                    "The lag that runs are shed by",
                    "0 while none are.",
                    (Query(gauge("shedding_lag_seconds"), "{{partition}}"),),
                    "s",
                ),
            ),
        ),
        Row(
            "Brokers and group",
            (
                Panel(
                    "Brokers away",
                    "For how long a worker has had no connection to any.",
                    (
                        Query(
                            f"(time() - {gauge('broker_unreachable_since_timestamp_seconds')}) * ({gauge('broker_unreachable_since_timestamp_seconds')} > bool 0)",
                            "{{instance}}",
                        ),
                    ),
                    "s",
                ),
                Panel(
                    "Writes",
                    "Time until a batch is acknowledged.",
                    quantiles("batch_duration_seconds", f'{WORKER}, stage="write"'),
                    "s",
                ),
                Panel("Rebalances", "", (Query(rate("rebalances_total", WORKER, "instance"), "{{instance}}"),), "ops"),
                Panel(
                    "Recoveries",
                    "From the start of a rebalance until the states are read.",
                    tuple(
                        query._replace(may_be_empty=True)
                        for query in quantiles("recovery_duration_seconds", WORKER, "instance", "{{instance}}")
                    ),
                    "s",
                ),
                Panel(
                    "Reading states",
                    "1 while a worker does, and grades nothing.",
                    (Query(gauge("recovering"), "{{instance}}"),),
                ),
                Panel(
                    "Records read again",
                    "After a restart, and skipped.",
                    (Query(rate("events_replayed_total", WORKER, "instance"), "{{instance}}"),),
                    "ops",
                ),
            ),
        ),
    ),
)
