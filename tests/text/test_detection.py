"""The one rule that tells the language of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.extraction.reading.one_call import UNNAMED_LANGUAGE as UNNAMED
from apps.extraction.reading.one_call import named_language
from apps.text.detection import ENGLISH_NAMES, language_of, likeliest_languages


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("My sister lives on Byres Road.", "en"),
        ("Ich wohne seit drei Jahren in Bremen.", "de"),
        ("J'ai perdu la clé, tu l'as vue ?", "fr"),
        ("No sé dónde está el perro.", "es"),
        ("Non so dove sia il cane.", "it"),
        ("Não sei onde está o cachorro.", "pt"),
        ("Ik weet niet waar de hond is.", "nl"),
        ("Nie wiem, gdzie jest mój pies.", "pl"),
        ("Jag vet inte var hunden är.", "sv"),
        ("Я не знаю, где собака.", "ru"),
        ("Я не знаю, де мій пес і кіт.", "uk"),
        ("Δεν ξέρω πού είναι ο σκύλος.", "el"),
        ("لا أعرف أين الكلب", "ar"),
        ("我在Berlin的Siemens上班。", "zh"),
        ("犬がどこにいるか知りません。", "ja"),
        ("개가 어디 있는지 모르겠어요.", "ko"),
        ("The Chinese word for dog is 狗, and that for cat is 猫.", "en"),
        ("I said “Ich liebe dich” to her and she left the room.", "en"),
    ],
)
def test_the_language_of_a_sentence(text: str, language: str) -> None:
    assert language_of(text, "") == language
    assert language_of(text * 500, "") == language


def test_a_few_words_may_be_of_several_languages() -> None:
    assert {"en", "de"} < set(likeliest_languages("Was geschah letzte Woche?"))
    assert likeliest_languages("Was ist letzte Woche geschehen?") == ["de"]
    assert likeliest_languages("Wolfratshausen") == []


@pytest.mark.parametrize("text", ["", "Wolfratshausen", "12:30", "?!"])
def test_what_nothing_tells_is_the_default(text: str) -> None:
    assert language_of(text) == "en"
    assert language_of(text, "de") == "de"


def test_the_languages_may_be_limited() -> None:
    assert language_of("Nie wiem, gdzie jest mój pies.", "", among={"pl", "de"}) == "pl"
    assert language_of("Nie wiem, gdzie jest mój pies.", "", among={"ru"}) == ""
    assert language_of("我在北京上班。", "", among={"en"}) == ""


def test_prompts_name_the_language_of_the_newest_messages() -> None:
    german = "Ich weiß nicht, wo der Hund ist. " * 100
    assert named_language(["Where is the dog? " * 100, german]) == "German"
    assert named_language(["我在北京上班。"]) == "Chinese"
    assert named_language(["Hm."]) == UNNAMED


@given(st.text())
def test_any_text_has_a_language_with_a_name(text: str) -> None:
    assert language_of(text) in ENGLISH_NAMES
