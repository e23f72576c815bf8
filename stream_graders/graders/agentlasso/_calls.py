"""Which tools the agent called, for the details of the tool checks."""

NAMES = 24
"""Tool names remembered for the detail of a check."""
LENGTH = 700
"""Characters of them together: evidence shows no more."""
_MORE = "…"


def noted(names: list[str], name: str) -> None:
    """Add a called tool to the names of a detail, once, in order of first call; a long name is cut."""
    short = name if len(name) <= 100 else name[:99] + "…"
    if short in names or (names and names[-1] == _MORE):
        return
    names.append(short if has_room(names, short) else _MORE)


def has_room(names: list[str], name: str) -> bool:
    """May another name be remembered?"""
    return len(names) < NAMES and sum(map(len, names)) + len(name) <= LENGTH


def told(names: list[str]) -> str:
    """The sentence that lists the called tools."""
    return f"The agent called: {', '.join(names)}." if names else "The agent called no tools."
