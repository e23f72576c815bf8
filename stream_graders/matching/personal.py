"""Personal data that has a form: e-mail addresses, telephone, card and social security numbers, IP addresses."""

import re
from collections.abc import Iterable, Iterator

import re2

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


def _form(source: str) -> "re2.Pattern":
    return re2.compile(source.encode(), _OPTIONS)


_FORMS = {
    "EMAIL": _form(r"(\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b)"),
    "SSN": _form(r"(\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b)"),
    # RE2 does not look around: the neighbours are matched too, and stay free for the next search.
    "PHONE": _form(
        r"(?:^|[^0-9])((?:\+?1[-.\s]?)?\(?[0-9]{3}\)?[-.\s]?[0-9]{3}[-.\s]?[0-9]{4})(?:[^0-9]|$)",
    ),
    "IP_ADDRESS": _form(r"(\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}\b)"),
    "CREDIT_CARD": _form(r"(\b[0-9][0-9 -]{11,21}[0-9]\b)"),
}

KINDS = tuple(_FORMS)
"""The kinds, in the order in which they are told."""

REACH = 24
"""How far behind a match its form may have looked, in characters."""

_NUMBER = re.compile(r"[0-9][0-9().\s-]{5}")
"""What every form but that of an address holds. Most texts hold neither, and a quick look finds that."""


def found(text: str, kinds: Iterable[str] = KINDS) -> dict[str, list[int]]:
    """Where personal data of these kinds ends in a text, in bytes of UTF-8; kinds that are not there are left out.

    A card number has 13 to 19 digits and the right check digit.

    >>> found("jo@example.com, 4111 1111 1111 1111, 4111 1111 1111 1112")
    {'EMAIL': [14], 'CREDIT_CARD': [35]}
    """
    if "@" not in text and not _NUMBER.search(text):
        return {}
    data = text.encode("utf-8", "surrogatepass")
    ends = {kind: list(_ends(kind, data)) for kind in kinds}
    return {kind: places for kind, places in ends.items() if places}


def _ends(kind: str, data: bytes) -> Iterator[int]:
    form, at = _FORMS[kind], 0
    while (match := form.search(data, at)) is not None:
        start, at = match.span(1)
        if kind != "CREDIT_CARD" or _is_card(data[start:at]):
            yield at


def _is_card(text: bytes) -> bool:
    """13 to 19 digits whose check digit is right: every second one doubled, their digits add up to a multiple of 10."""
    digits = [digit - 48 for digit in text if 48 <= digit <= 57]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return 13 <= len(digits) <= 19 and (sum(doubled) + sum(digits[-1::-2])) % 10 == 0
