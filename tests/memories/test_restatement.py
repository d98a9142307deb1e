"""Which statements say the same in other words, and which only look alike; and the words that this rests on."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.memories.lexicon import alike, inflections, opposite, stem
from apps.memories.restatement import differs, restates
from apps.memories.state_change import change_between

SAME = """
Mira lives in Port Salt.|Mira resides in Port Salt.
Captain Voss commands the Gull.|The Gull is commanded by Captain Voss.
The user has a peanut allergy.|The user is allergic to peanuts.
Tom is not married.|Tom isn't married.
The user doesn't like mushrooms.|The user dislikes mushrooms.
The train departs at 8:15.|The train leaves at 8:15.
The reward is ten thousand crowns.|The reward is 10,000 crowns.
Kim is Jonas's wife.|Jonas is Kim's husband.
"""
DIFFERENT = """
Mira lives in Port Salt.|Mira lives in Port Salt with her two sons.
Tom likes Ada.|Tom doesn't like Ada.
Tom owes Ada ten crowns.|Tom owes Ada nine crowns.
Tom trusts Ada.|Ada trusts Tom.
The lamp is on.|The lamp is off.
The key is under the mat.|The key is behind the mat.
Marl is a member of the Thieves' Guild.|Marl was expelled from the Thieves' Guild.
Kit has a black eye.|Kit's black eye has faded.
The expedition has enough food.|The expedition is out of food.
"""


def pairs(lines: str) -> list[list[str]]:
    return [line.split("|") for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("old", "new"), pairs(SAME))
def test_says_the_same(old: str, new: str) -> None:
    assert not differs(old, new)
    assert not differs(new, old)
    assert change_between(old, new) is None


@pytest.mark.parametrize(("old", "new"), pairs(DIFFERENT))
def test_says_something_else(old: str, new: str) -> None:
    assert differs(old, new)
    assert not restates(old, new)


@given(st.text(max_size=300), st.text(max_size=300))
def test_no_text_makes_it_raise(old: str, new: str) -> None:
    differs(old, new)
    restates(old, new)
    assert not differs(old, old)


@pytest.mark.parametrize(
    "piece",
    ["a", "aly ", "a alyaly", "the ", "mira ", "Mira and ", "x's ", "1 ", "“", "is not ", "put a b ", "of the "],
)
def test_long_texts_take_no_longer_than_their_length(piece: str) -> None:
    text = (piece * 1000)[:1000]
    began = time.perf_counter()
    change_between(text, f"{text}b")
    differs(text, f"{text}b")
    assert time.perf_counter() - began < 2


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


def test_every_form_of_a_verb_has_its_stem() -> None:
    for verb in ("sell", "plan", "move", "bury", "die", "quit", "free", "expel"):
        assert {stem(form) for form in inflections(verb)} == {verb}
    assert inflections("give up") == ["give up", "gives up", "gave up", "given up", "giving up"]


def test_words_that_mean_the_same_and_words_that_exclude_each_other() -> None:
    assert alike("buy", "purchase")
    assert alike("teach", "teacher")
    assert alike("birth", "birthplace")
    assert opposite("open", "shut")
    assert opposite("loyal", "disloyal")
    assert not opposite("close", "shut")
