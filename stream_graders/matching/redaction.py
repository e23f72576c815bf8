"""Masks what should not travel with evidence: card numbers, e-mail addresses, keys and tokens."""

import re

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

_MAY_HOLD = re.compile(
    r"@|\d(?:[ -]?\d){11}|[spr]k[-_A-Z0-9]|gh[pos][-_A-Z0-9]|xox|glpat|A[KS]IA|[eE][aA][rR][eE][rR]|eyJ"
)
"""A quick look that finds no secret in most texts: the search itself costs ten times as much."""


def masked(text: str) -> str:
    """The text with the middle of each secret replaced.

    >>> masked("key sk-EXAMPLEabcdef1 of jo@example.com")
    'key sk…(masked) of jo…(masked)'
    """
    if not _MAY_HOLD.search(text):
        return text
    pieces, at = [], 0
    for found in _SECRETS.finditer(text):
        start, end = found.span()
        pieces += [text[at : start + 2], "…(masked)"]
        at = end
    return "".join(pieces) + text[at:] if pieces else text
