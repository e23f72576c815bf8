"""Masks what should not travel with evidence: card numbers, e-mail addresses, keys and tokens."""

from functools import lru_cache

import re2

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False

_SECRETS = re2.compile(
    r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
    r"|\b(?:\d[ -]?){12,18}\d\b"
    r"|\b(?:sk|pk|rk|ghp|gho|ghs|xox[abpr]|glpat|AKIA|ASIA)[-_A-Z0-9][A-Za-z0-9_-]{7,}"
    r"|(?i:\bbearer\s+)[A-Za-z0-9._~+/-]{8,}=*"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    _OPTIONS,
)


@lru_cache(maxsize=4_096)  # Most checks say of most runs what they said of the last one.
def masked(text: str) -> str:
    """The text with the middle of each secret replaced.

    >>> masked("key sk-EXAMPLEabcdef1 of jo@example.com")
    'key sk…(masked) of jo…(masked)'
    """
    data = text.encode("utf-8", "surrogatepass")
    if _SECRETS.search(data) is None:  # Most hold none, and an iterator costs more to begin.
        return text
    pieces, at = [], 0
    for found in _SECRETS.finditer(data):
        start, end = found.span()
        pieces += [data[at : start + 2], "…(masked)".encode()]  # A secret begins with two characters of one byte each.
        at = end
    return b"".join([*pieces, data[at:]]).decode("utf-8", "surrogatepass")
