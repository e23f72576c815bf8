"""chrF: how alike two texts are by the short pieces of letters that they share."""

from collections import Counter

ORDER = 6
"""Characters of the longest pieces."""
BETA = 2
"""How many times recall weighs what precision does."""


class Chrf:
    """A target, and how close a text comes to it: 0 to 1. Blanks do not count, letters mind their case.

    >>> target = Chrf("from 9 to 17")
    >>> target.of("from 9 to 17"), round(target.of("from 9 until 17"), 2), target.of("zzz")
    (1.0, 0.38, 0.0)
    """

    def __init__(self, target: str) -> None:
        self._pieces = [Counter(_pieces(_dense(target), n)) for n in range(1, ORDER + 1)]

    def of(self, text: str) -> float:
        """The F-score of a text: the mean over the lengths of pieces that both texts have."""
        letters = _dense(text)
        precisions, recalls = list[float](), list[float]()
        for n, wanted in enumerate(self._pieces, 1):
            there, total = max(0, len(letters) - n + 1), wanted.total()
            if not there or not total:
                continue
            found = Counter(piece for piece in _pieces(letters, n) if piece in wanted)
            shared = (found & wanted).total()
            precisions.append(shared / there)
            recalls.append(shared / total)
        if not any(precisions):
            return 0.0
        precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
        return (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def _dense(text: str) -> str:
    return "".join(text.split())


def _pieces(letters: str, n: int) -> list[str]:
    return [letters[at : at + n] for at in range(len(letters) - n + 1)]
