"""Which language a text is in, as far as scripts and the commonest words of seven languages can tell.

It knows: English, German, French, Spanish, Italian, Portuguese and Dutch by their words; Greek, Hebrew, Korean, Thai,
Japanese and Chinese by their scripts; and the scripts that several languages write, Latin, Cyrillic, Arabic and
Devanagari, as no more than scripts. It does not tell Russian from Bulgarian, nor Portuguese of one country from another.
"""

import re
from typing import Literal

Language = Literal[
    "de", "el", "en", "es", "fr", "he", "it", "ja", "ko", "nl", "pt", "th", "zh",
    "arabic", "cyrillic", "devanagari", "latin",
]  # fmt: skip
"""ISO 639 codes of languages, and names of scripts."""

_SCRIPTS = {
    "latin": "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f",
    "cyrillic": "\u0400-\u052f",
    "el": "\u0370-\u03ff\u1f00-\u1fff",
    "he": "\u0590-\u05ff",
    "arabic": "\u0600-\u06ff\u0750-\u077f",
    "devanagari": "\u0900-\u097f",
    "th": "\u0e00-\u0e7f",
    "ko": "\uac00-\ud7af\u1100-\u11ff",
    "kana": "\u3040-\u30ff",
    "han": "\u3400-\u4dbf\u4e00-\u9fff",
}
_LETTERS = {script: re.compile(f"[{ranges}]+") for script, ranges in _SCRIPTS.items()}

_COMMON = {
    "en": "the and of to is in that it for you with on are this be your have not was will can i we my an at from",
    "de": "der die das und ist nicht ein eine zu den mit sie ich für auf dem im es von sind haben ihre wir werden kann",
    "fr": "le la les et est de des un une vous pour dans pas que qui sur nous votre avec je du au ne ce être",
    "es": "el la los las y es de que en un una por para con su no se está usted le del lo al más pero",
    "it": "il lo la gli e è di che un una per con non si sono del della le i suo nel ha questo può alla",
    "pt": "o a os as e é de que um uma para com não em por seu sua do da você está no na ao mas",
    "nl": "de het een en is van niet dat u ik op te voor met zijn in uw aan er om wij heeft wordt naar ook",
}
_LANGUAGES: dict[str, list[str]] = {}
for _language, _words in _COMMON.items():
    for _word in _words.split():
        _LANGUAGES.setdefault(_word, []).append(_language)
_WORD = re.compile(r"[^\W\d_]+")

MOST = 0.6
"""The share of a text's letters from which its script is the one it is written in."""
ENOUGH = 3
"""Common words that tell a language."""
LOOKED_AT = 1_000
"""Characters from the beginning of a text that are looked at."""


def language_of(text: str) -> tuple[str, str]:
    """The language of a text, "" where it cannot be told, and its script, "" likewise.

    >>> language_of("Your order is on the way to you."), language_of("Ihre Bestellung ist auf dem Weg zu Ihnen.")
    (('en', 'latin'), ('de', 'latin'))
    >>> language_of("ご注文は発送されました。"), language_of("Ваш заказ в пути"), language_of("OK")
    (('ja', 'ja'), ('', 'cyrillic'), ('', 'latin'))
    """
    text = text[:LOOKED_AT]
    script = "latin" if text.isascii() and _LETTERS["latin"].search(text) else _script_of(text)
    return (_by_words(text) if script == "latin" else script if len(script) == 2 else ""), script


def _script_of(text: str) -> str:
    letters = {script: sum(map(len, pattern.findall(text))) for script, pattern in _LETTERS.items()}
    # Japanese is written in both; Chinese has no kana, or hardly any in a name.
    kana, han = letters.pop("kana"), letters.pop("han")
    letters["ja" if kana * 10 > han else "zh"] = kana + han
    script = max(letters, key=lambda name: letters[name])
    return script if letters[script] and letters[script] >= MOST * sum(letters.values()) else ""


def _by_words(text: str) -> str:
    hits = dict.fromkeys(_COMMON, 0)
    for word in _WORD.findall(text.casefold()):
        if word in _LANGUAGES:
            for language in _LANGUAGES[word]:
                hits[language] += 1
    second, first = sorted(hits, key=lambda name: hits[name])[-2:]
    return first if hits[first] >= ENOUGH and hits[first] > hits[second] else ""
