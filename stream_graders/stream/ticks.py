"""Lets log time pass in a partition that nobody writes to.

Deadlines run on the append times of the journal, so a run that falls silent in a silent partition would never end. A
tick is a record without a run: it changes when a verdict comes, never what it says. Nor does a partition wait for its
next event with a state that is to be written again: compaction may be faster.
"""

import asyncio
import time
from typing import Any

from aiokafka.errors import TopicAuthorizationFailedError

from ..events import SCHEMA, Tick, to_json
from . import batching, rights
from .table import StateTable
from .worker import Worker

EVERY = 1.0
"""Seconds between two looks, and so between two ticks of a partition."""
TICK = to_json(Tick(schema=SCHEMA))


async def tick(app: Any, worker: Worker, table: StateTable) -> None:
    """For ever, write a tick into each owned partition that is read to its end and whose earliest deadline has passed.

    This process's clock decides when to ask; the broker's stamp on the tick decides what is due.
    """
    while True:
        await asyncio.sleep(EVERY)
        if app.rebalancing or not table.recovered:
            continue
        worker.begin(app.consumer_generation_id)
        due = [partition for partition in app.owned() if _is_due(app, worker, partition)]
        if due:
            worker.stall.check()
            journal = worker.topics["journal"]
            futures = await batching.send(app.producer._producer, journal, {p: [(None, TICK, [])] for p in due})
            try:
                for future in futures:
                    await future
            except TopicAuthorizationFailedError as error:
                rights.lost(error, rights.WRITE)


def _is_due(app: Any, worker: Worker, partition: int) -> bool:
    desk = worker.desk(partition)
    deadline = desk.deadline()
    if not worker.table.stale.get(partition) and (deadline is None or deadline > time.time() * 1000):
        return False
    end = batching.end_of(app, partition)
    return end is not None and max(desk.read + 1, worker.committed(partition)) >= end
