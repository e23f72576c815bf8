"""What several commands share of their settings: topics' names, and the key of judges."""

from collections.abc import Sequence
from dataclasses import replace

import typer

from ..security import JUDGE_KEY, judge_key
from ..suites import Fleet
from .errors import UserError
from .runs import Graded


def names_of(pairs: Sequence[str]) -> dict[str, str]:
    """The map of physical topic names from ``NAME=PHYSICAL`` pairs.

    Raises:
        UserError: a pair has another form.
    """
    names = {}
    for pair in pairs:
        name, equals, physical = pair.partition("=")
        if not (name and equals and physical):
            raise UserError(f"--topic {pair}: write the name, =, and the physical name")
        names[name] = physical
    return names


def with_key(fleet: Fleet, *, required: bool = True) -> Fleet:
    """The suites with the key that tells judges' answers from others', where a check asks judges.

    Raises:
        UserError: a check asks judges, and a key that is ``required`` is not set: anybody could answer for them.
        SecurityError: the key cannot be used.
    """
    if not fleet.asks_judges:
        return fleet
    key = judge_key()
    if key is None and required:
        told = "a check asks a judge, so this needs the key that the judge worker signs its answers with"
        raise UserError(f"{' or '.join(JUDGE_KEY)}: not set; {told}")
    return replace(fleet, judge_key=key)


def tell_unsigned(graded: Graded) -> None:
    """Say on standard error that answers of judges were believed without a signature, if some were."""
    count = graded.ledger.answered
    if count and graded.fleet.judge_key is None:
        told = f"{count} answers of judges were believed unsigned, whoever wrote them"
        typer.echo(f"{told}; set {' or '.join(JUDGE_KEY)} to take only those that are signed", err=True)
