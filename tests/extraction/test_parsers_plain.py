"""Notes in plain sentences, as small models write them."""

import pytest

from apps.extraction.memories.plain_notes import Said, is_enough, parse_plain

SAID = Said(
    [
        ("Nadia", "My sister Leyla called from Bergen, she got the job at the aquarium! She's on a gluten free thing."),
        ("Nadia", "I've been a school nurse for nine years. If I ever win the lottery I'll hire you a body."),
        ("Nadia", "Guess what I did with the 40 rolls that I burned at work this morning?"),
    ],
    "Nadia",
)


@pytest.mark.parametrize(
    ("reply", "notes"),
    [
        ("Nadia is a school nurse.", ["Nadia is a school nurse."]),
        ("1. **Nadia is a school nurse.**\n- [fact] Leyla lives in Bergen.", 2),
        ("Here are the facts:\nThe user is a school nurse.", ["Nadia is a school nurse."]),
        ("Nadia's sister is Leyla.\nShe works at the aquarium.", 2),
        ("NONE", []),
        ("", []),
        ("I've been a school nurse for nine years.", []),
        ("Nadia: I've been a school nurse for nine years.", []),
        ("My sister Leyla called from Bergen, she got the job at the aquarium!", []),
        ("Pell runs a ferry.", []),
        ("Nadia is a school nurse.\nNadia is a school nurse.", ["Nadia is a school nurse."]),
        ("Nadia is gluten free.", []),
        ("They talk about the aquarium.", []),
        ("Nadia's brother Leyla got a job at the aquarium.", ["Leyla got a job at the aquarium."]),
        ("Nadia will win the lottery.", []),
        ("Nadia burned 400 rolls at work.", []),
        ("Nadia owns a castle in Spain.", []),
        ("Is Nadia a nurse?", []),
    ],
)
def test_what_is_used_of_a_reply(reply: str, notes: list[str] | int) -> None:
    parsed = parse_plain(reply, SAID)
    assert parsed.items == notes if isinstance(notes, list) else len(parsed.items) == notes


def test_lines_that_copy_or_repeat_are_unused() -> None:
    parsed = parse_plain("Nadia is a school nurse.\nNadia is a school nurse.\nPell runs a ferry.", SAID)
    assert parsed.unused == ["Nadia is a school nurse.", "Pell runs a ferry."]


def test_notes_in_other_scripts() -> None:
    said = Said([("小雨", "我在上海工作，是护士。对花生过敏。")])
    assert parse_plain("小雨在上海工作。\n小雨对花生过敏。\n小雨住在北京的大房子里。", said).items == [
        "小雨在上海工作。",
        "小雨对花生过敏。",
    ]


@pytest.mark.parametrize(
    ("reply", "enough"),
    [
        ("Nadia is a school nurse.\nLeyla lives in Ber", False),
        ("Nadia is a school nurse.\nNadia is a school nurse.\nNad", True),
        (f"{SAID.messages[0][1]}\n{SAID.messages[1][1]}\n", True),
        ("and so on " * 60, True),
    ],
)
def test_a_reply_that_loops_or_copies_is_ended(reply: str, enough: bool) -> None:
    assert is_enough(reply, SAID) == enough
