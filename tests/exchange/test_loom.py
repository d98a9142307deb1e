"""loom-standard."""

import datetime as dt
from typing import Any

from tests.exchange.chat_files import chats_in, only_chat, opened, reason_for, said


def export(*conversations: Any) -> dict[str, Any]:
    return {
        "format": "loom-standard",
        "version": 1,
        "originPlatform": "claude",
        "conversations": list(conversations),
    }


TALK = {
    "id": "t1",
    "title": "On bees",
    "createdAt": "2025-01-02T03:04:05Z",
    "messages": [
        {"id": "m0", "role": "system", "content": "Be brief."},
        {"id": "m1", "role": "user", "content": "Do bees sleep?", "createdAt": "2025-01-02T03:04:06Z"},
        {"id": "m2", "role": "assistant", "content": "They do.", "model": "a-model", "reasoning": "Surely."},
    ],
}


def test_a_conversation() -> None:
    chat, messages = only_chat(export(TALK))
    assert said(messages) == [
        ("System", False, "Be brief."),
        ("You", True, "Do bees sleep?"),
        ("Claude", False, "They do."),
    ]
    assert [message.is_system for message in messages] == [True, False, False]
    assert messages[1].sent_at == dt.datetime(2025, 1, 2, 3, 4, 6, tzinfo=dt.UTC)
    assert messages[1].send_date == "2025-01-02T03:04:06Z"
    assert messages[2].active.extra == {"model": "a-model", "reasoning": "Surely.", "loom": {"id": "m2"}}
    assert (chat.title, chat.header.character_name) == ("On bees", "Claude")
    assert chat.header.metadata["loom"]["originPlatform"] == "claude"
    assert chat.header.metadata["loom"]["id"] == "t1"


def test_several_and_broken_conversations() -> None:
    file = opened(export(TALK, 7, {"messages": "none"}, TALK | {"messages": [5, {"role": 1, "content": "x"}]}))
    found = [(chat, list(chat.messages)) for chat in file]
    assert [len(messages) for _, messages in found] == [3, 1]
    assert [skip["line"] for skip in file.report.skipped_lines] == [2, 3]


def test_without_a_conversation() -> None:
    assert reason_for(export()) == "There is no chat in the file."
    assert chats_in(export(TALK))
