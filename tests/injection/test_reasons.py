"""Why something was recalled, in words."""

from apps.injection.reasons import names_in, why


def test_the_reasons_in_order():
    text = why(names=["Mira"], said="214 messages ago", signals={"vector": 0.712, "lexical": 0.3})
    assert text == "names Mira · said 214 messages ago · similar .71"


def test_pinned_and_words():
    assert why(names=[], said="", signals={"lexical": 0.4}, pinned=True) == "pinned · shares its words"
    assert why(names=["A", "B", "C", "D"], said="1 message ago", signals={}) == "names A, B and C · said 1 message ago"
    assert why(names=[], said="", signals={"vector": 1.0000001}) == "similar 1.00"


def test_without_any_reason_it_was_simply_kept():
    assert why(names=[], said="", signals={}) == "kept in mind"


def test_names_of_several_words_and_with_accents():
    names = ["Lady Vael", "Élise", "Al", "d'Arc", ""]
    assert names_in("lady vael asked ÉLISE also about D'Arc", names) == ["Lady Vael", "Élise", "d'Arc"]
