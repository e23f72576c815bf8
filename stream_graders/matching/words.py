"""Words and numbers of a text in one form, so that what was said can be found again however it is written."""

import re
from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain
from json import JSONEncoder
from typing import Any
from zlib import crc32

from ..events import compact

CODE = 5
"""Characters of the code that stands for a word in state: 30 bits of its CRC, the same in every process.

Of a million words that were never heard, one is taken for one of a thousand that were.
"""
SUFFIX = 4
"""Digits by which cards and accounts are named: the end of a long number is heard with it."""

_WITH_UNIT = re.compile(r"(\d{1,18})[a-z]{1,3}")
_WORD = re.compile(r"\d{1,18}(?:[.,]\d{1,18}){0,6}(?![^\W_])|[^\W_]+")


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, and its numbers as they are written.

    What is joined by dashes, underscores or signs is taken apart: each part has to be said.

    >>> words_of("ORD-12AB for $1,200.50")
    ['ord', '12ab', 'for', '1,200.50']
    """
    return _WORD.findall(text.casefold())


def forms(word: str) -> tuple[str, ...]:
    """What a word may stand for: a number without separators and zeros that say nothing; else the word itself.

    A number with up to three letters behind it, as in 20th or 58eur, stands for the number too.

    >>> forms("1,200.50"), forms("058"), forms("1.200"), forms("20th"), forms("12ab9")
    (('1200.5',), ('58',), ('1200', '1.2'), ('20th', '20'), ('12ab9',))
    """
    if not word[0].isdecimal():
        return (word,)
    if not word.replace(".", "").replace(",", "").isdecimal():
        unit = _WITH_UNIT.fullmatch(word)
        return (word,) if unit is None else (word, _plain(unit[1], ""))
    signs = [sign for sign in word if sign in ".,"]
    if not signs:
        return (_plain(word, ""),)
    last = max(word.rfind("."), word.rfind(","))
    whole, part = word[:last], word[last + 1 :]
    groups = re.split("[.,]", word)
    are_thousands = 1 <= len(groups[0]) <= 3 and groups[0] != "0" and all(len(group) == 3 for group in groups[1:])
    if len(set(signs)) == 2:
        return (_plain(re.sub("[.,]", "", whole), part),)
    if len(signs) > 1:
        return (_plain("".join(groups), ""),) if are_thousands else (word,)
    decimal = _plain(whole, part)
    return (_plain(whole + part, ""), decimal) if are_thousands else (decimal,)


def _plain(whole: str, part: str) -> str:
    whole, part = whole.lstrip("0") or "0", part.rstrip("0")
    return f"{whole}.{part}" if part else whole


def pieces_of(text: str) -> list[str]:
    """What stands between the blanks of a text. No word goes on from one piece to the next."""
    return text.split()


def pieces_of_json(value: Any, text: str | None = None) -> list[str]:
    """The same of a JSON value, names, texts and numbers apart; ``text`` is how it is spelled, where that is known.

    JSON's own words true, false and null are words like others.

    >>> pieces_of_json({"id": "A-1", "n": [1, 200], "to": "Jo\\nSmith"})
    ['{', 'id', ':', 'A-1', ',', 'n', ':', '[1', ',', '200]', ',', 'to', ':', 'Jo', 'Smith', '}']
    """
    text = compact(value) if text is None else text
    # A line break is written with a letter, and a comma may stand between two numbers or in one.
    harmless = text.count(", ") + text.count(',"') + text.count(",{") + text.count(",[")
    if "\\" in text or text.count(",") != harmless:
        try:
            text = _ESCAPE.sub(" ", _spell(value))
        except RecursionError:
            return texts_in(value)
    return text.replace('"', " ").split()


def codes_of(pieces: Iterable[str], *, values: bool = False) -> dict[str, None]:
    """What stands in state for all that is heard with these pieces: forms of words, and the ends of long numbers.

    With ``values`` only words that hold something else than letters. In their order, each once.
    """
    return dict.fromkeys(chain.from_iterable(map((_VALUES if values else _ALL).__getitem__, pieces)))


def codes_of_text(text: str, *, values: bool = False) -> Mapping[str, None]:
    """The codes of a text. Those of the last long ones are kept at hand: they are prompts, alike from run to run."""
    if not _PROMPT < len(text) <= 64 * _PROMPT:
        return codes_of(pieces_of(text), values=values)
    return _codes_of_prompt(text, values)


@lru_cache(maxsize=64)
def _codes_of_prompt(text: str, values: bool) -> Mapping[str, None]:
    return codes_of(pieces_of(text), values=values)


_PROMPT = 500
"""Characters from which a text may be a prompt; one of 64 times as many is not kept."""

_spell = JSONEncoder(ensure_ascii=False, check_circular=False, separators=(" , ", ": ")).encode
"""In compact JSON the comma between two numbers could be one of their own."""
_ESCAPE = re.compile(r"\\(?:u[0-9a-f]{4}|.)")

_SHORT = 40
"""Characters of a piece of which is kept what was made of it: the words of one run are mostly those of the next."""
_KEPT = 32_768
"""Pieces that are kept."""


class ByPiece(dict[str, tuple[str, ...]]):
    """What a function makes of a piece of text, looked up without a call: this is done for each word of each run."""

    def __init__(self, work: Callable[[str], Iterable[str]]) -> None:
        super().__init__()
        self._work = work

    def __missing__(self, piece: str) -> tuple[str, ...]:
        made = tuple(self._work(piece))
        if len(piece) <= _SHORT:
            if len(self) >= _KEPT:
                self.clear()
            self[piece] = made
        return made


def _codes(piece: str) -> list[str]:
    return [code_of(word) for word in words_of(piece) if word.isalpha()] + _codes_of_values(piece)


def _codes_of_values(piece: str) -> list[str]:
    found: list[str] = []
    for word in words_of(piece):
        if word.isalpha():
            continue
        found += [code_of(form) for form in forms(word)]
        digits = word.lstrip("abcdefghijklmnopqrstuvwxyz")
        if len(digits) >= 2 * SUFFIX and digits.isdecimal():
            found += [code_of(form) for form in forms(digits[-SUFFIX:])]
    return found


_ALL, _VALUES = ByPiece(_codes), ByPiece(_codes_of_values)


def asked_codes(word: str) -> tuple[str, ...]:
    """The codes of which one is heard if the word was."""
    return _asked(word) if len(word) <= _SHORT else tuple(code_of(form) for form in forms(word))


@lru_cache(maxsize=8_192)
def _asked(word: str) -> tuple[str, ...]:
    return tuple(code_of(form) for form in forms(word))


def code_of(word: str) -> str:
    """What stands for one form of a word."""
    return b2a_base64(crc32(word.encode("utf-8", "surrogatepass")).to_bytes(4, "big"))[:CODE].decode()


def texts_in(value: Any) -> list[str]:
    """All names, texts and numbers of a JSON value, as texts, in their order.

    >>> texts_in({"id": "A-1", "lines": [{"n": 2}, True]})
    ['id', 'A-1', 'lines', 'n', '2']
    """
    found: list[str] = []
    left = [value]
    while left:
        value = left.pop()
        if value.__class__ is str:
            found.append(value)
        elif value.__class__ is dict:
            for name, item in reversed(value.items()):
                left += (item, name)
        elif value.__class__ is list:
            left += reversed(value)
        elif value.__class__ is int or value.__class__ is float:
            found.append(repr(value))
    return found
