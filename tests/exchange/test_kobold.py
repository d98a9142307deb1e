"""KoboldAI Lite's saves."""

from hypothesis import given
from hypothesis import strategies as st

from tests.exchange.chat_files import only_chat, reason_for, said

SAVE = {
    "gamestarted": True,
    "prompt": "The gate stands shut.",
    "memory": "A monastery in the hills.",
    "actions": ["\n{{[INPUT]}}\nIs anybody in?\n{{[OUTPUT]}}\n", "Nobody you would know.", "{{[INPUT]}}Open up!"],
    "savedsettings": {"chatname": "Wanda", "chatopponent": "Anselm||$||Ilse", "opmode": "4"},
}
words = st.text("abc é{}[]:", min_size=1).map(str.strip).filter(bool)


def test_marks_say_who_speaks() -> None:
    chat, messages = only_chat(SAVE)
    assert said(messages) == [
        ("Anselm", False, "The gate stands shut."),
        ("Wanda", True, "Is anybody in?"),
        ("Anselm", False, "Nobody you would know."),
        ("Wanda", True, "Open up!"),
    ]
    assert (chat.header.user_name, chat.header.character_name) == ("Wanda", "Anselm")
    assert chat.header.metadata["kobold"]["memory"] == "A monastery in the hills."
    assert chat.report.as_dict() == {"format": "kobold", "messages": 4, "skipped_lines": [], "warnings": []}


def test_closing_marks_and_what_the_system_says() -> None:
    text = "{{[SYSTEM]}}Be kind.{{[SYSTEM_END]}}{{[INPUT]}}Hi.{{[INPUT_END]}}{{[OUTPUT]}}Hello.{{[OUTPUT_END]}}"
    _, messages = only_chat(SAVE | {"prompt": "", "actions": [text, "And welcome."]})
    assert [(m.name, m.is_system, m.active.mes) for m in messages] == [
        ("System", True, "Be kind."),
        ("Wanda", False, "Hi."),
        ("Anselm", False, "Hello."),
        ("Anselm", False, "And welcome."),
    ]


def test_in_chat_mode_names_say_who_speaks() -> None:
    settings = {"chatname": "Wanda", "chatopponent": "Anselm||$||Ilse", "opmode": 3}
    actions = ["\nWanda: Who is there?\nAnselm:", " I am: Anselm.", "\nIlse: And I."]
    _, messages = only_chat({"savedsettings": settings, "actions": actions})
    assert said(messages) == [
        ("Wanda", True, "Who is there?"),
        ("Anselm", False, "I am: Anselm."),
        ("Ilse", False, "And I."),
    ]


def test_what_is_no_text_is_left_out_by_its_number() -> None:
    chat, messages = only_chat(SAVE | {"actions": ["One.", 7, None, "Two."]})
    assert [message.active.mes for message in messages] == ["The gate stands shut.", "One.", "Two."]
    assert [skip["line"] for skip in chat.report.skipped_lines] == [3, 4]


def test_settings_of_any_type() -> None:
    for settings in (None, [], {"chatname": 7, "chatopponent": {}, "opmode": [3]}):
        _, messages = only_chat({"savedsettings": settings, "actions": ["Words."]})
        assert [message.active.mes for message in messages] == ["Words."]


def test_without_a_text() -> None:
    assert reason_for({"gamestarted": True, "actions": []}) == "There is no message in it."
    assert reason_for({"savedsettings": {}}) == "There is no message in it."


@given(st.lists(st.tuples(st.booleans(), words), min_size=1))
def test_every_text_is_kept_in_its_order(turns: list[tuple[bool, str]]) -> None:
    actions = [f"\n{{{{[INPUT]}}}}\n{text}\n{{{{[OUTPUT]}}}}\n" if is_user else text for is_user, text in turns]
    _, messages = only_chat(SAVE | {"prompt": "", "actions": actions})
    assert [(message.is_user, message.active.mes) for message in messages] == turns
