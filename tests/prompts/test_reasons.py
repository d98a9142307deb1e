"""Test the reasons of a recall."""

from apps.prompts.reasons import names_in, reasons


def test_the_order_of_reasons():
    text = reasons(names=["Mira"], origin="214 messages ago", signals={"vector": 0.712, "lexical": 0.3})
    assert text == "names Mira · said 214 messages ago · similar .71"


def test_pinned_and_shared_words():
    assert reasons(names=[], origin="", signals={"lexical": 0.4}, pinned=True) == "pinned · shares its words"
    assert (
        reasons(names=["A", "B", "C", "D"], origin="1 message ago", signals={})
        == "names A, B and C · said 1 message ago"
    )
    assert reasons(names=[], origin="", signals={"vector": 1.0000001}) == "similar 1.00"


def test_a_name_is_not_repeated_as_a_trigger_word():
    text = reasons(names=["Lady Vael"], origin="", signals={}, triggers=["vael", "ferry"])
    assert text == "names Lady Vael · triggered by ferry"
    assert reasons(names=["Lady Vael"], origin="", signals={}, triggers=["lady"]) == "names Lady Vael"


def test_without_reasons_it_is_always_included():
    assert reasons(names=[], origin="", signals={}) == "always included"


def test_names_of_several_words_and_with_accents():
    names = ["Lady Vael", "Élise", "Al", "d'Arc", ""]
    assert names_in("lady vael asked ÉLISE also about D'Arc", names) == ["Lady Vael", "Élise", "d'Arc"]
