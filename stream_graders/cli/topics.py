"""``stream-graders topics``."""

import asyncio

import typer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from ..security import from_environment, listening
from ..stream.topics import Placement, Result, State, TopicError, apply, load_topics, place
from .errors import Exit, UserError, leave, unreachable
from .sharing import names_of


def apply_topics(bootstrap: str, app: str, names: list[str], partitions: int | None, replication: int | None) -> None:
    """Create what is missing and print a line a topic; exit code 1 where one differs or is refused."""
    placement = Placement(app=app, names=names_of(names), partitions=partitions, replication=replication)
    with listening() as ear:
        try:
            results = asyncio.run(_apply(bootstrap, placement))
        except TopicError as error:
            raise UserError(str(error)) from error
        except (KafkaError, OSError) as error:
            raise unreachable(bootstrap, error, ear) from error
    for result in results:
        typer.echo(str(result))
    if any(result.state in (State.DIFFERS, State.REFUSED) for result in results):
        leave(Exit.GATE_MISSED)


async def _apply(bootstrap: str, placement: Placement) -> list[Result]:
    wanted = place(load_topics(), placement)
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, **from_environment().client())
    try:
        await admin.start()
        return await apply(admin, wanted)
    finally:
        await admin.close()
