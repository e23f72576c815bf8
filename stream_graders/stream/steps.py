"""Named steps of a worker at which it can be told to die, so that `stream-graders chaos` can aim.

A crash is harmless wherever it comes, is the claim; these are the places where it would not be if an order were wrong.
"""

import os
import signal
from enum import StrEnum

VARIABLE = "SG_DIE_AT"
"""Names a step, and the how manieth time it is to be the last, as ``outputs:3``. For tests of crashes only."""

DIED = "died at step "


class Step(StrEnum):
    """Where a worker is in its work."""

    GRADED = "graded"
    """A batch is graded, and nothing of it is written."""
    SENT = "sent"
    """Some of its outputs are on their way."""
    OUTPUTS = "outputs"
    """Its outputs are durable, its states are not."""
    STATES = "states"
    """Its states are durable, its records are not acknowledged."""
    ACKED = "acked"
    """Its records are acknowledged, and their offsets may not be committed."""
    RECOVERY = "recovery"
    """A part of the changelog is read."""
    REBALANCE = "rebalance"
    """The group has begun to share its partitions anew."""


_step, _, _count = os.environ.get(VARIABLE, "").partition(":")
_before = iter(range(int(_count or 1) - 1))


def reached(step: Step) -> None:
    """Die, as by kill -9, if this is the step to die at; a line on standard error says that it was reached."""
    if step == _step and next(_before, None) is None:
        os.write(2, f"{DIED}{step}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)
