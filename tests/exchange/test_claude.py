"""Claude's exports."""

import datetime as dt
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.exchange.chat_files import only_chat, opened, reason_for, said

ROOT = "00000000-0000-4000-8000-000000000000"


def says(sender: Any, text: str, **more: Any) -> dict[str, Any]:
    return {"sender": sender, "text": text, "created_at": "2025-01-02T03:04:05.678901Z", **more}


def talk(*messages: Any, **more: Any) -> dict[str, Any]:
    return {
        "uuid": "t1",
        "name": "On bees",
        "created_at": "2025-01-02T03:00:00Z",
        "chat_messages": list(messages),
        **more,
    }


def test_a_conversation() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Let me see."},
        {"type": "text", "text": "They do."},
        {"type": "tool_use", "name": "search"},
        {"type": "text", "text": "At night."},
    ]
    chat, messages = only_chat(
        [talk(says("human", "Do bees sleep?", uuid="m1"), says("assistant", "They do.", content=blocks))]
    )
    assert said(messages) == [("You", True, "Do bees sleep?"), ("Claude", False, "They do.\n\nAt night.")]
    assert messages[0].sent_at == dt.datetime(2025, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC)
    assert messages[0].active.extra == {"claude": {"uuid": "m1"}}
    assert messages[1].active.extra["reasoning"] == "Let me see."
    assert (chat.title, chat.header.character_name) == ("On bees", "Claude")
    assert chat.header.metadata["claude"]["uuid"] == "t1"
    assert chat.header.created_at == dt.datetime(2025, 1, 2, 3, tzinfo=dt.UTC)
    assert chat.report.warnings == ["Tool calls in a message were left out. (message 2)"]


def test_the_text_of_attachments_is_part_of_their_message() -> None:
    attachments = [{"file_name": "bees.txt", "file_size": 4, "extracted_content": "Bzz."}, {"file_name": "bee.png"}]
    chat, messages = only_chat([talk(says("human", "", attachments=attachments), says("assistant", "", files=[]))])
    assert [message.active.mes for message in messages] == ["bees.txt:\nBzz."]
    kept = [{"file_name": "bees.txt", "file_size": 4}, {"file_name": "bee.png"}]
    assert messages[0].active.extra["claude"]["attachments"] == kept
    assert chat.report.warnings == ["A message was left out: it has no text. (message 2)"]


def test_a_conversation_that_branches() -> None:
    messages = [
        says("human", "Why?", uuid="u", parent_message_uuid=ROOT),
        says("assistant", "Because.", uuid="a1", parent_message_uuid="u"),
        says("assistant", "No idea.", uuid="a2", parent_message_uuid="u"),
        says("human", "Thanks.", uuid="u2", parent_message_uuid="a1"),
    ]
    _, read = only_chat([talk(*messages)])
    assert [message.active.mes for message in read] == ["Why?", "Because.", "Thanks."]
    assert [swipe.mes for swipe in read[1].swipes] == ["Because.", "No idea."]
    _, read = only_chat([talk(*messages, current_leaf_message_uuid="a2")])
    assert [message.active.mes for message in read] == ["Why?", "No idea."]


def test_the_same_id_twice_loses_nothing() -> None:
    _, read = only_chat([talk(says("human", "One.", uuid="x"), says("assistant", "Two.", uuid="x"))])
    assert [message.active.mes for message in read] == ["One.", "Two."]


def test_what_is_no_message_or_conversation() -> None:
    file = opened([talk(), talk(7, says("human", "Hi."), {"text": "?"}, says(["x"], "Ho.")), 7, {"chat_messages": 7}])
    [(chat, messages)] = [(chat, list(chat.messages)) for chat in file]
    assert [(message.is_user, message.active.mes) for message in messages] == [(True, "Hi."), (False, "Ho.")]
    assert [skip["line"] for skip in chat.report.skipped_lines] == [1, 3]
    assert "neither human nor assistant" in chat.report.warnings[0]
    assert [skip["line"] for skip in file.report.skipped_lines] == [1, 3, 4]
    assert reason_for([talk()]).startswith("There is no chat in the file.")


@given(st.lists(st.tuples(st.booleans(), st.text("abc é\n", min_size=1)), min_size=1))
def test_every_text_is_kept_in_its_order(turns: list[tuple[bool, str]]) -> None:
    _, read = only_chat([talk(*(says("human" if is_user else "assistant", text) for is_user, text in turns))])
    assert [(message.is_user, message.active.mes) for message in read] == turns
