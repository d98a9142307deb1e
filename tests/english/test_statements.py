"""What is only imagined, and what somebody asks to be remembered."""

import pytest

from apps.english.imagined import is_imagined
from apps.english.requests import asked_to_remember, requests_in
from tests.durations import takes_at_most


@pytest.mark.parametrize(
    "text",
    [
        "I'd live in Rome if I could.",
        "If I were you, I'd leave.",
        "What if I lived in Rome?",
        "I dreamed I had a dog.",
        "On stage I was Hamlet.",
        "In another life I was a painter.",
        "In the game I'm a wizard of the ninth level.",
    ],
)
def test_imagined(text: str) -> None:
    assert is_imagined(text)


@pytest.mark.parametrize(
    "text",
    [
        "If I drink milk, I get sick.",
        "I dream of becoming a pilot.",
        "I wish to learn Greek.",
        "I would like to visit Rome.",
        "The best day in my life was my wedding.",
        "She asked me if I live in Oslo.",
        "Nora asked me if we could move to Bonn.",
        "I asked Tom if he would marry me, and he said yes.",
        "I live in Oslo, but if I could, I would move to Rome.",
        "I work in the game industry.",
        "My sister is a nurse in the film school of Oslo.",
        "My book is a novel about Rome.",
    ],
)
def test_real(text: str) -> None:
    assert not is_imagined(text)


def test_requests_among_other_sentences() -> None:
    message = "Hi! Please remember that I am deaf. It rains.\nDon't forget: my son is called Otto."
    assert requests_in(message) == ["I am deaf.", "My son is called Otto."]


@pytest.mark.parametrize(
    "text", ["I remember that my wife is Nora.", "Remember the Alamo.", "He asked me to remember."]
)
def test_who_remembers_asks_nothing(text: str) -> None:
    assert asked_to_remember(text) == ""


@pytest.mark.parametrize(
    "word", ["hey, ", "hey ", "please ", "remember that ", "if I would ", "I wish ", "in the play "]
)
def test_repetition_takes_no_time(word: str) -> None:
    with takes_at_most(1):  # second
        text = word * 500
        asked_to_remember(text)
        requests_in(text)
        is_imagined(text)
