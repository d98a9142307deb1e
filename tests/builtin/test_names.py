"""Words that English capitalizes are no names, unless somebody is called so."""

import pytest

from apps.builtin.reading.names import names_in


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("It was cold, and It knew.", []),
        ("We meet on Fri or Sat, not on Friday's market.", []),
        ("He found his Zen in Dec, on a Mon.", []),
        ("He saw Mary Jane's dog and O'Brien.", ["Mary Jane", "O'Brien"]),
        ("She met Élodie Dupré-Martin’s uncle José-María.", ["Élodie Dupré-Martin", "José-María"]),
    ],
)
def test_names_are_told_from_other_capitalized_words(text: str, names: list[str]) -> None:
    assert names_in(text) == names


@pytest.mark.parametrize("name", ["Friday", "May", "Zen"])
def test_a_participant_may_be_called_like_a_day_or_a_month(name: str) -> None:
    assert names_in(f"They saw {name}'s hut, and then {name}.", [name]) == [name]
    assert names_in(f"{name} waited.", [name]) == [name]


def test_nobody_is_called_it() -> None:
    assert names_in("They saw It.", ["It"]) == []
