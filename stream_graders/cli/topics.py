"""``stream-graders topics``."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import typer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from ..security import from_environment, listening
from ..stream.exports import asyncapi, strimzi
from ..stream.topics import Placement, Result, State, TopicError, Wanted, apply, load_topics, place, plan
from .errors import Exit, UserError, leave, unreachable
from .sharing import names_of

Work = Callable[[AIOKafkaAdminClient, Sequence[Wanted]], Awaitable[list[Result]]]


def plan_topics(bootstrap: str, app: str, names: list[str], partitions: int | None, replication: int | None) -> None:
    """Print a line a topic: there, missing, or other than wanted; exit code 1 unless all are there as wanted."""
    results = _on_cluster(
        bootstrap, Placement(app=app, names=names_of(names), partitions=partitions, replication=replication), plan
    )
    if any(result.state is not State.SAME for result in results):
        leave(Exit.GATE_MISSED)


def export_topics(
    form: str, cluster: str, app: str, names: list[str], partitions: int | None, replication: int | None
) -> None:
    """Print the topics for another tool."""
    placement = Placement(app=app, names=names_of(names), partitions=partitions, replication=replication)
    if form not in ("strimzi", "asyncapi"):
        raise UserError(f"{form}: is none of strimzi, asyncapi")
    try:
        topics = load_topics()
        text = strimzi(topics, placement, cluster) if form == "strimzi" else asyncapi(topics, placement)
    except TopicError as error:
        raise UserError(str(error)) from error
    typer.echo(text, nl=False)


def apply_topics(bootstrap: str, app: str, names: list[str], partitions: int | None, replication: int | None) -> None:
    """Create what is missing and print a line a topic; exit code 1 where one differs or is refused."""
    placement = Placement(app=app, names=names_of(names), partitions=partitions, replication=replication)
    results = _on_cluster(bootstrap, placement, apply)
    if any(result.state in (State.DIFFERS, State.REFUSED) for result in results):
        leave(Exit.GATE_MISSED)


def _on_cluster(bootstrap: str, placement: Placement, work: Work) -> list[Result]:
    """Plan or apply, and print a line a result."""
    with listening() as ear:
        try:
            results = asyncio.run(_worked(bootstrap, placement, work))
        except TopicError as error:
            raise UserError(str(error)) from error
        except (KafkaError, OSError) as error:
            raise unreachable(bootstrap, error, ear) from error
    for result in results:
        typer.echo(str(result))
    return results


async def _worked(bootstrap: str, placement: Placement, work: Work) -> list[Result]:
    wanted = place(load_topics(), placement)
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, **from_environment().client())
    try:
        await admin.start()
        return await work(admin, wanted)
    finally:
        await admin.close()
