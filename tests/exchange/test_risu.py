"""RisuAI's chats."""

import datetime as dt
from typing import Any

from tests.exchange.chat_files import chats_in, only_chat, reason_for, said

MESSAGES: list[Any] = [
    {"role": "user", "data": "Is it open?", "time": 1700000000000, "chatId": "m1"},
    {"role": "char", "data": "It is.", "saying": "c2", "generationInfo": {"model": "some-model"}},
    {"role": "char", "name": "Ilse", "data": "It was.", "disabled": True},
]
ONE = {"type": "risuChat", "ver": 2, "data": {"name": "The gate", "note": "Be brief.", "message": MESSAGES}}


def test_one_chat() -> None:
    chat, messages = only_chat(ONE)
    assert said(messages) == [("You", True, "Is it open?"), ("", False, "It is."), ("Ilse", False, "It was.")]
    assert messages[0].sent_at == dt.datetime(2023, 11, 14, 22, 13, 20, tzinfo=dt.UTC)
    assert messages[0].active.extra == {"risu": {"chatId": "m1"}}
    assert messages[1].active.extra["model"] == "some-model"
    assert [message.is_system for message in messages] == [False, False, True]
    assert (chat.title, chat.report.format) == ("The gate", "risu")
    assert chat.header.metadata == {"note_prompt": "Be brief."}


def test_the_order_of_keys_means_nothing() -> None:
    _, messages = only_chat({"data": ONE["data"], "ver": 1, "type": "risuChat"})
    assert len(messages) == 3


def test_all_chats_of_a_character() -> None:
    data = [ONE["data"], {"name": "Empty", "message": []}, 7, {"name": "Another", "message": MESSAGES[:1]}]
    found = chats_in({"type": "risuAllChats", "ver": 2, "data": data})
    assert [(chat.title, len(messages)) for chat, messages in found] == [("The gate", 3), ("Another", 1)]


def test_what_is_no_message_is_left_out_by_its_number() -> None:
    for broken in (7, None, {"role": "char"}):
        chat, messages = only_chat({"type": "risuChat", "data": {"message": [broken, *MESSAGES]}})
        assert len(messages) == 3
        assert [skip["line"] for skip in chat.report.skipped_lines] == [1]


def test_without_a_message() -> None:
    for data in (None, [], {}, {"message": {}}, {"message": []}):
        assert reason_for({"type": "risuChat", "data": data}).startswith("There is no message in it.")
