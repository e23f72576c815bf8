"""`trajectory.final_reply_language`: in which language the reply is."""

import pytest

from stream_graders.graders.trajectory.final_reply_language import FinalReplyLanguage
from stream_graders.matching.languages import language_of
from stream_graders.testing import graded, run

TEXTS = {
    "en": "Your order is on the way, and it should be with you in two days.",
    "de": "Ihre Bestellung ist unterwegs und wird in zwei Tagen bei Ihnen sein.",
    "fr": "Votre commande est en route et sera chez vous dans deux jours.",
    "es": "Su pedido está en camino y se lo entregarán en dos días.",
    "it": "Il suo ordine è in viaggio e sarà da lei tra due giorni, non si preoccupi.",
    "pt": "O seu pedido está a caminho e não vai demorar mais do que dois dias.",
    "nl": "Uw bestelling is onderweg en wordt over twee dagen bij u bezorgd, het is niet ver.",
    "el": "Η παραγγελία σας έρχεται σε δύο ημέρες (order A-17).",
    "he": "ההזמנה שלך בדרך",
    "ja": "ご注文の商品は発送されました。",
    "ko": "주문하신 상품이 배송 중입니다.",
    "zh": "您的订单已发货，两天后送达。",
    "th": "คำสั่งซื้อของคุณกำลังจัดส่ง",
    "cyrillic": "Ваш заказ уже в пути.",
    "arabic": "طلبك في الطريق",
    "devanagari": "आपका ऑर्डर रास्ते में है",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_reply_is_in_one_language_and_in_no_other(language: str) -> None:
    told = {other: graded(_check(other), run().says(TEXTS[language]).ends()).outcome for other in TEXTS}
    assert told == {other: "pass" if other == language else "fail" for other in TEXTS}


def _check(language: str) -> FinalReplyLanguage:
    return FinalReplyLanguage(language)  # type: ignore[arg-type]  # one of those it knows


@pytest.mark.parametrize("text", ["OK", "Order A-17: 58 EUR", "the der la", "👍", "1234", "заказ order пути way"])
def test_what_is_short_or_mixed_has_no_language(text: str) -> None:
    assert language_of(text)[0] == ""
    verdict = graded(FinalReplyLanguage("en"), run().says(text).ends())
    assert (verdict.outcome, verdict.reason) == ("not_graded", "language_unknown")


def test_latin_letters_are_a_script() -> None:
    assert graded(FinalReplyLanguage("latin"), run().says("OK").ends()).outcome == "pass"
    assert graded(FinalReplyLanguage("latin"), run().says(TEXTS["ja"]).ends()).outcome == "fail"
    assert graded(FinalReplyLanguage("el"), run().says("OK").ends()).outcome == "fail"


def test_evidence_names_both_languages() -> None:
    verdict = graded(FinalReplyLanguage("en"), run().says(TEXTS["de"]).ends())
    assert verdict.evidence == "the reply is in de (latin letters), expected en"
    assert str(verdict.points[0].excerpt).startswith("Ihre Bestellung ist unterwegs")
    assert graded(FinalReplyLanguage("en"), run().says(TEXTS["arabic"]).ends()).evidence == (
        "the reply is in arabic letters, expected en"
    )


def test_only_the_last_reply_counts() -> None:
    story = run().says(TEXTS["de"]).says(TEXTS["en"]).ends()
    assert graded(FinalReplyLanguage("en"), story).outcome == "pass"
    assert graded(FinalReplyLanguage("en"), run().says(TEXTS["en"]).ends(output=TEXTS["de"])).outcome == "fail"


def test_without_a_reply_there_is_nothing_to_judge() -> None:
    assert graded(FinalReplyLanguage("en"), run().starts().asks("x").calls("f").ends()).outcome == "skipped"
    assert graded(FinalReplyLanguage("en"), run().starts().ends()).outcome == "skipped"
