"""Texts as words: told from each other without punctuation, and how much two of them share."""

import re
from collections import Counter
from collections.abc import Sequence

_MARKS = re.compile(r"[^\w\s]")
_WORD = re.compile(r"\w+")

_EMPTY = frozenset(
    {
        *("a", "an", "the", "is", "are", "was", "were", "be", "been", "being", "am", "of", "to", "in", "on", "at"),
        *("for", "and", "or", "but", "it", "its", "this", "that", "these", "those", "with", "as", "by", "from"),
        *("i", "you", "we", "they", "he", "she"),
    }
)
"""Words that say next to nothing; two texts that share only these share nothing."""


def normalized(text: str) -> str:
    """In lower case, without punctuation, with single blanks.

    >>> normalized(" It's  42, Sir! ")
    'its 42 sir'
    """
    return " ".join(_MARKS.sub("", text.lower()).split())


def words(text: str) -> list[str]:
    """Its words in lower case, without those that say nothing, unless it has no others.

    >>> words("The order is HERE."), words("It is.")
    (['order', 'here'], ['it', 'is'])
    """
    found: list[str] = _WORD.findall(text.lower())
    return [word for word in found if word not in _EMPTY] or found


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two texts share, each as often as in both.

    >>> shared(["a", "b", "b"], ["b", "b", "b", "c"])
    2
    """
    return (Counter(one) & Counter(other)).total()


def in_common(one: Sequence[str], other: Sequence[str]) -> int:
    """The longest list of words that stands in both in the same order, others between them left out.

    The rows of the usual table are kept as bits of one number, so that a long text costs little more than its length.

    >>> in_common(["a", "b", "c", "d"], ["b", "x", "a", "c", "d"])
    3
    """
    places: dict[str, int] = {}
    for n, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << n
    whole = (1 << len(other)) - 1
    row = whole
    for word in one:
        met = row & places.get(word, 0)
        row = ((row + met) | (row - met)) & whole
    return len(other) - row.bit_count()


def f_measure(matched: int, one: Sequence[str], other: Sequence[str]) -> float:
    """The harmonic mean of a match's shares in two texts; 0 where nothing matched.

    >>> f_measure(2, ["a", "b"], ["a", "b", "c", "d"])
    0.6666666666666666
    """
    return 2 * matched / (len(one) + len(other)) if matched else 0.0
