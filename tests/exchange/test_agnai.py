"""Agnai's exports."""

import datetime as dt

from tests.exchange.chat_files import only_chat, reason_for, said

EXPORT = {
    "name": "At the gate",
    "greeting": "Halt!",
    "scenario": "Night.",
    "messages": [
        {"_id": "a", "handle": "Anselm", "characterId": "c1", "msg": "Halt!", "createdAt": "2023-05-01T20:00:00.000Z"},
        {"_id": "b", "handle": "Wanda", "userId": "anon", "msg": "A friend."},
        {"_id": "c", "characterId": "c1", "msg": "Enter.", "retries": ["Go away.", 7]},
    ],
}


def test_an_export() -> None:
    chat, messages = only_chat(EXPORT)
    assert said(messages) == [("Anselm", False, "Halt!"), ("Wanda", True, "A friend."), ("", False, "Enter.")]
    assert messages[0].sent_at == dt.datetime(2023, 5, 1, 20, tzinfo=dt.UTC)
    assert messages[0].active.extra == {"agnai": {"_id": "a", "characterId": "c1"}}
    assert [swipe.mes for swipe in messages[2].swipes] == ["Enter.", "Go away."]
    assert (chat.title, chat.report.format) == ("At the gate", "agnai")
    assert chat.header.metadata == {"agnai": {"greeting": "Halt!", "scenario": "Night."}}


def test_the_name_may_stand_behind_the_messages() -> None:
    chat, _ = only_chat({"messages": EXPORT["messages"], "name": "Behind"})
    assert chat.title == "Behind"


def test_what_is_no_message_is_left_out_by_its_number() -> None:
    chat, messages = only_chat({"messages": [7, {"msg": "One."}, {"role": "user"}, {"msg": None}]})
    assert [message.active.mes for message in messages] == ["One.", ""]
    assert [skip["reason"] for skip in chat.report.skipped_lines] == [
        "Message 1: Not a JSON object.",
        "Message 3: It has no msg.",
    ]
    assert chat.report.warnings == ["A text was missing or not a string. (message 4)"]


def test_a_list_of_other_messages_is_no_chat() -> None:
    for other in ([{"words": "Hi."}], []):
        assert "not in a supported chat format. Supported are chats of" in reason_for({"messages": other})
