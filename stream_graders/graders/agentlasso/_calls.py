"""Which tools the agent called, for the details of the tool checks."""

from ...matching.tools import listed

NAMES = 32
"""Tool names remembered for the detail of a check."""


def noted(names: list[str], name: str) -> None:
    """Add a called tool to the names of a detail, once, in order of first call; a long name is cut."""
    short = name if len(name) <= 100 else name[:99] + "…"
    if short not in names and len(names) <= NAMES:
        names.append(short)


def told(names: list[str]) -> str:
    """The sentence that lists the called tools."""
    if not names:
        return "The agent called no tools."
    more = ", …" if len(names) > NAMES else ""
    return f"The agent called: {listed(names[:NAMES], NAMES)}{more}."
