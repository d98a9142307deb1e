"""ChatGPT's exports."""

import datetime as dt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exchange.chat_files import chats_in, only_chat, opened, reason_for, said

START = 1_700_000_000.5


def says(role: str, *parts: Any, **more: Any) -> dict[str, Any]:
    content = {"content_type": "text" if all(isinstance(p, str) for p in parts) else "multimodal_text", "parts": parts}
    return {"author": {"role": role}, "content": content, "create_time": START, "metadata": {}} | more


def conversation(messages: dict[str, Any], parents: dict[str, str], current: Any = None, **more: Any) -> dict[str, Any]:
    """A tree of named messages; those without a parent hang on the root."""
    keys = ["root", *messages]
    above = {key: parents.get(key, "root") for key in messages}
    mapping = {
        key: {
            "id": key,
            "message": messages.get(key),
            "parent": above.get(key),
            "children": [child for child in messages if above[child] == key],
        }
        for key in keys
    }
    return {"title": "On bees", "create_time": START, "mapping": mapping, "current_node": current, **more}


def line(*messages: dict[str, Any]) -> dict[str, Any]:
    """A conversation that doesn't branch."""
    named = {f"m{number}": message for number, message in enumerate(messages)}
    parents = {f"m{number}": f"m{number - 1}" for number in range(1, len(messages))}
    return conversation(named, parents, f"m{len(messages) - 1}")


def test_a_conversation() -> None:
    answer = says("assistant", "They do.", id="x1", metadata={"model_slug": "gpt-4o", "finish": "stop"})
    chat, messages = only_chat([line(says("user", "Do bees sleep?"), answer) | {"id": "c1", "gizmo_id": None}])
    assert said(messages) == [("You", True, "Do bees sleep?"), ("ChatGPT", False, "They do.")]
    assert messages[0].sent_at == dt.datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=dt.UTC)
    assert messages[0].send_date == "2023-11-14T22:13:20.500000Z"
    assert messages[1].active.extra["model"] == "gpt-4o"
    assert messages[1].active.extra["chatgpt"]["id"] == "x1"
    assert messages[1].active.extra["chatgpt"]["metadata"]["finish"] == "stop"
    assert (chat.title, chat.header.character_name) == ("On bees", "ChatGPT")
    assert chat.header.created_at == messages[0].sent_at
    assert chat.header.metadata["chatgpt"]["id"] == "c1"
    assert chat.report.as_dict() == {"format": "chatgpt", "messages": 2, "skipped_lines": [], "warnings": []}


def test_another_answer_is_a_swipe() -> None:
    messages = {
        "u": says("user", "Why?"),
        "a1": says("assistant", "Because."),
        "a2": says("assistant", "I don't know."),
        "a3": says("assistant", "Ask a bee."),
        "u2": says("user", "Thanks."),
    }
    _, read = only_chat([conversation(messages, {"a1": "u", "a2": "u", "a3": "u", "u2": "a2"}, "u2")])
    assert [message.active.mes for message in read] == ["Why?", "I don't know.", "Thanks."]
    assert [swipe.mes for swipe in read[1].swipes] == ["Because.", "I don't know.", "Ask a bee."]
    assert read[1].swipe_id == 1


def test_an_edited_question_and_its_answer_are_a_branch() -> None:
    messages = {
        "u1": says("user", "Wy?"),
        "a1": says("assistant", "Pardon?"),
        "u2": says("user", "Why?"),
        "a2": says("assistant", "Because."),
    }
    chat, read = only_chat([conversation(messages, {"a1": "u1", "a2": "u2"}, "a2")])
    assert [message.active.mes for message in read] == ["Why?", "Because."]
    assert [len(message.swipes) for message in read] == [1, 1]
    [branch] = chat.branches
    assert (branch.parent, branch.kept) == (None, 0)
    assert [message.active.mes for message in branch.messages] == ["Wy?", "Pardon?"]
    assert chat.report.warnings == []


def test_what_is_thought_is_reasoning_and_tools_are_left_out() -> None:
    thoughts = {"content_type": "thoughts", "thoughts": [{"summary": "Bees", "content": "Let me see."}]}
    _, read = only_chat(
        [
            line(
                says("system", "You are helpful."),
                says("user", "Do bees sleep?"),
                says("assistant", content=thoughts),
                says("assistant", "search('bees')", recipient="browser"),
                says("tool", "A page."),
                says("assistant", "They do."),
                says("assistant", "", metadata={"is_visually_hidden_from_conversation": True}),
            )
        ]
    )
    assert said(read) == [("You", True, "Do bees sleep?"), ("ChatGPT", False, "They do.")]
    assert read[1].active.extra["reasoning"] == "Let me see."


def test_left_out_messages_are_counted() -> None:
    chat, _ = only_chat([line(says("user", "Hi."), says("tool", "One."), says("tool", "Two."), says("system", "Be."))])
    tools, system = chat.report.warnings
    assert "a tool result" in tools
    assert "2 times" in tools
    assert "a system message" in system


def test_parts_that_are_no_text_are_kept_as_references() -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://f1"}
    spoken = {"content_type": "audio_transcription", "text": "Look."}
    chat, read = only_chat([line(says("user", image, "What is it?", spoken), says("user", image))])
    assert [message.active.mes for message in read] == ["What is it?\n\nLook.", ""]
    assert read[0].active.extra["chatgpt"]["parts"] == [image]
    assert "2 times" in chat.report.warnings[0]


@pytest.mark.parametrize("current", [None, 7, "nowhere"])
def test_without_a_current_node_the_newest_branch_is_followed(current: Any) -> None:
    messages = {"u": says("user", "Why?"), "a1": says("assistant", "Because."), "a2": says("assistant", "No idea.")}
    _, read = only_chat([conversation(messages, {"a1": "u", "a2": "u"}, current)])
    assert [message.active.mes for message in read] == ["Why?", "No idea."]


def test_nodes_in_a_circle_and_of_any_type() -> None:
    circle = {"a": {"parent": "b", "message": says("user", "A")}, "b": {"parent": "a", "message": says("user", "B")}}
    _, read = only_chat([{"mapping": circle, "current_node": "a"}])
    assert [message.active.mes for message in read] == ["B", "A"]
    circle = {"x": {"parent": "p", "message": says("user", "X")}, "p": {"parent": "s", "message": says("user", "P")}}
    beside = {"s": {"parent": "p", "message": says("user", "S")}}
    for order in (circle | beside, beside | circle):
        _, read = only_chat([{"mapping": order, "current_node": "x"}])
        assert read[-1].active.mes.endswith("X")
    odd = {"a": None, "b": [], "c": {"message": 7, "children": {}}, "d": {"parent": 5, "message": says("user", "D")}}
    _, read = only_chat([{"mapping": odd, "current_node": "d"}])
    assert [message.active.mes for message in read] == ["D"]


def test_broken_conversations_cost_only_themselves() -> None:
    good = line(says("user", "Hi."))
    file = opened([good, 7, {"mapping": {}}, {"mapping": None}, line(says("system", "Be.")), good])
    assert len([list(chat.messages) for chat in file]) == 2
    assert [skip["line"] for skip in file.report.skipped_lines] == [2, 3, 4, 5]
    assert reason_for([{"mapping": {}}]).startswith("There is no chat in the file. Conversation 1:")


def test_a_file_that_was_cut_off_keeps_what_came_before() -> None:
    import json

    content = json.dumps([line(says("user", "One.")), line(says("user", "Two."))]).encode()
    file = opened(content[:-40])
    assert [message.active.mes for chat in file for message in chat.messages] == ["One."]
    [skip] = file.report.skipped_lines
    assert "ends too early" in skip["reason"]


def test_what_postgres_cannot_hold_is_replaced_and_said() -> None:
    chat, [message] = only_chat([line(says("user", "a\0b\ud800"))])
    assert message.active.mes == "a\ufffdb\ufffd"
    assert chat.title == "On bees"


def test_many_branches_do_not_grow_without_end() -> None:
    messages = {f"m{n}": says("assistant", "x" * 100) for n in range(3000)}
    parents = {f"m{n}": f"m{(n - 1) // 2 * 2}" for n in range(1, 3000)}
    chat, read = only_chat([conversation(messages, parents, "m2998")])
    assert sum(len(swipe.mes) for message in read for swipe in message.swipes) < 10_000_000
    assert "has too many branches. (" in chat.report.warnings[0]


@given(st.lists(st.tuples(st.booleans(), st.text("abc é\n", min_size=1)), min_size=1))
def test_every_text_is_kept_in_its_order(turns: list[tuple[bool, str]]) -> None:
    messages = [says("user" if is_user else "assistant", text) for is_user, text in turns]
    [(chat, read)] = chats_in([line(*messages)])
    assert [(message.is_user, message.active.mes) for message in read] == turns
    assert chat.report.messages == len(turns)
