"""The language by which Postgres is to read a text."""

import pytest

from apps.text.languages import configuration_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where did we leave the boat?", "english"),
        ("Wo haben wir das Boot gelassen?", "german"),
        ("Où avons-nous laissé le bateau ?", "french"),
        ("¿Dónde dejamos el barco?", "spanish"),
        ("Dove abbiamo lasciato la barca?", "italian"),
        ("Где мы оставили лодку?", "russian"),
        ("Wolfratshausen", None),
        ("青铜钥匙", None),
    ],
)
def test_the_language_of_a_text_is_told_by_its_function_words(text: str, language: str | None) -> None:
    assert configuration_of(text) == language
