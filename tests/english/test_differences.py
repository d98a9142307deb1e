"""Which statements that are worded alike may exclude each other; and the words that this rests on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.english.clauses import clauses
from apps.english.differences import contradicts
from apps.english.lexicon import are_antonyms, are_synonyms, stem
from apps.english.predicates import predicates
from tests.durations import takes_at_most

SAME = """
Mira lives in Port Salt.|Mira resides in Port Salt.
Mira lives in Port Salt with her two sons.|Mira lives in Port Salt.
Captain Voss commands the Gull.|The Gull is commanded by Captain Voss.
The user has a peanut allergy.|The user is allergic to peanuts.
Tom is not married.|Tom isn't married.
The user doesn't like mushrooms.|The user dislikes mushrooms.
The train departs at 8:15.|The train leaves at 8:15.
The reward is ten thousand crowns.|The reward is 10,000 crowns.
Kim is Jonas's wife.|Jonas is Kim's husband.
Mira: “I live in Paris.”|Mira lives in Paris.
"""
EXCLUSIVE = """
Tom likes Ada.|Tom doesn't like Ada.
Tom owes Ada ten crowns.|Tom owes Ada nine crowns.
Mira's brother is called Tom.|Mira's brother is called Ben.
Bram owes Ada ten crowns.|Ada owes Bram ten crowns.
Tom trusts Ada.|Ada trusts Tom.
The lamp is on.|The lamp is off.
The key is under the mat.|The key is behind the mat.
The expedition has enough food.|The expedition is out of food.
"""


def pairs(lines: str) -> list[list[str]]:
    return [line.split("|") for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("old", "new"), pairs(SAME))
def test_other_and_fewer_words_are_no_contradiction(old: str, new: str) -> None:
    assert not contradicts(old, new)


@pytest.mark.parametrize(("old", "new"), pairs(EXCLUSIVE))
def test_negations_numbers_names_particles_and_roles_contradict(old: str, new: str) -> None:
    assert contradicts(old, new)
    assert contradicts(new, old)


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_makes_it_raise(old: str, new: str) -> None:
    contradicts(old, new)
    assert not contradicts(old, old)


@pytest.mark.parametrize(
    "piece",
    ["a", "aly ", "a alyaly", "the ", "mira ", "Mira and ", "x's ", "1 ", "“", "is not ", "put a b ", "of the "],
)
def test_long_texts_take_no_longer_than_their_length(piece: str) -> None:
    text = (piece * 1000)[:1000]
    with takes_at_most(2):
        contradicts(text, f"{text}b")


def test_pronouns_stand_for_whom_they_mean() -> None:
    [first, second] = clauses("Mira: “I sold my boat; it’s gone.”")
    assert first.words[:3] == ("mira", "sold", "mira's")
    assert second.words == ("it", "is", "gone")


def test_what_is_done_by_somebody_is_what_somebody_does() -> None:
    [passive] = predicates("The wolf was killed by Mira.")
    assert (passive.subject, passive.verb, passive.is_past) == (frozenset(["mira"]), "kill", True)
    first, second = predicates("Tom sold the boat and Mira bought it.")
    assert (first.subject, second.subject) == (frozenset(["tom"]), frozenset(["mira"]))


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("sold", "sell"),
        ("planned", "plan"),
        ("moving", "move"),
        ("hated", "hate"),
        ("hats", "hat"),
        ("married", "marry"),
        ("houses", "house"),
        ("teeth", "tooth"),
        ("wedding", "wedding"),
        ("Mira's".lower(), "mira"),
    ],
)
def test_stems(word: str, base: str) -> None:
    assert stem(word) == base


def test_words_that_mean_the_same_and_words_that_exclude_each_other() -> None:
    assert are_synonyms("buy", "purchase")
    assert are_synonyms("teach", "teacher")
    assert are_synonyms("birth", "birthplace")
    assert are_antonyms("open", "shut")
    assert are_antonyms("loyal", "disloyal")
    assert not are_antonyms("close", "shut")


@pytest.mark.parametrize("gap", [" ", "\t", "\n", "\n\n"])
def test_spaces_between_words_take_no_time(gap: str) -> None:
    with takes_at_most(1):  # second; it was a minute and more
        [first, second] = clauses(f"Mira sold the boat{gap * 40_000}because it leaked.")
    assert (first.text, second.words[0]) == ("mira sold the boat", "because")
