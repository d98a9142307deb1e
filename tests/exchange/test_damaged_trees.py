"""Trees of messages whose marks and links are damaged or out of date: nothing that was said is lost or cut off."""

import io
import json
from typing import Any

import pytest

from apps.exchange.formats.files import parse_file
from tests.durations import takes_at_most


def texts_in(document: Any) -> list[list[str]]:
    """Return the texts of the one chat in a document, then those of each branch after what it shares with the chat."""
    [chat] = [
        [
            [message.active.mes for message in chat.messages],
            *([m.active.mes for m in b.messages] for b in chat.branches),
        ]
        for chat in parse_file(io.BytesIO(json.dumps(document).encode()))
    ]
    return chat


def said(key: str, parent: str | None, text: str | None, *children: str, **fields: Any) -> dict[str, Any]:
    role = "user" if key in "ace" else "assistant"
    return {"id": key, "parentId": parent, "childrenIds": children, "role": role, "content": text, **fields}


def open_webui(current: str | None, *messages: dict[str, Any]) -> Any:
    history = {"messages": {message["id"]: message for message in messages}, "currentId": current}
    return [{"title": "The oven", "chat": {"title": "The oven", "history": history}}]


TALK = (said("a", None, "Is it hot?", "b"), said("b", "a", "Not yet.", "c"), said("c", "b", "And now?"))


def test_a_mark_at_a_message_without_parent_and_text_hides_no_chat() -> None:
    assert texts_in(open_webui("x", *TALK, {"id": "x", "content": "", "done": True})) == [
        ["Is it hot?", "Not yet.", "And now?"]
    ]


def test_messages_that_name_no_parent_stand_below_those_that_list_them() -> None:
    nameless = [{key: value for key, value in message.items() if key != "parentId"} for message in TALK]
    assert texts_in(open_webui("c", *nameless)) == [["Is it hot?", "Not yet.", "And now?"]]


def test_a_mark_that_was_left_behind_cuts_nothing_off() -> None:
    messages = [
        {"id": key, "parent": parent, "role": role, "content": text, "type": "text"}
        for key, parent, role, text in [
            ("m1", "m0", "user", "Is it hot?"),
            ("m2", "m1", "assistant", "Not yet."),
            ("m3", "m2", "user", "And now?"),
            ("m4", "m3", "assistant", "Yes."),
        ]
    ]
    root = {"id": "m0", "parent": "-1", "role": "system", "content": "", "type": "root"}
    conversation = {"conv": {"name": "Oven", "currNode": "m2"}, "messages": [root, *messages]}
    assert texts_in([conversation]) == [["Is it hot?", "Not yet.", "And now?", "Yes."]]


def test_replies_that_stand_before_what_they_answer_follow_it() -> None:
    lines = [
        {"messageId": key, "parentMessageId": parent, "isCreatedByUser": is_user, "sender": "GPT", "text": text}
        for key, parent, is_user, text in [("2", "1", False, "Not yet."), ("1", "0", True, "Is it hot?")]
    ]
    assert texts_in({"conversationId": "c", "title": "Oven", "messages": lines}) == [["Is it hot?", "Not yet."]]


def test_the_leaf_of_agnai_is_where_somebody_goes_on() -> None:
    messages = [
        {"_id": "1", "msg": "Is it hot?", "userId": "u", "handle": "Wanda"},
        {"_id": "2", "msg": "Not yet.", "characterId": "c", "handle": "Ilse", "parent": "1"},
        {"_id": "3", "msg": "And now?", "userId": "u", "handle": "Wanda", "parent": "2"},
    ]
    fields = {"name": "Oven", "greeting": "", "sampleChat": "", "scenario": "", "treeLeafId": "2"}
    assert texts_in(fields | {"messages": messages})[0] == ["Is it hot?", "Not yet."]


@pytest.mark.parametrize(
    "document",
    [
        open_webui("b", said("a", None, "Hm.", "b"), said("b", "a", '<details type="reasoning">' * 16_000)),
        open_webui("b", said("a", None, "Hm.", "b"), said("b", "a", '<details type="x" ' * 20_000)),
        {"type": "risuChat", "ver": 1, "data": {"message": [{"role": "char", "data": "<Thoughts>" * 40_000}]}},
    ],
)
def test_marks_that_are_never_closed_take_no_time(document: Any) -> None:
    with takes_at_most(3):  # seconds; it was a minute and more
        assert len(texts_in(document)[0][-1]) >= 300_000


def test_reasoning_is_folded_out_of_the_text_before_other_marks() -> None:
    reasoning = '<details type="reasoning" done="true">\n<summary>Thought</summary>\n&gt; Hot?\n</details>\n'
    document = open_webui("b", said("a", None, "Hm.", "b"), said("b", "a", f'{reasoning}Yes. <details type="x">'))
    [chat] = list(parse_file(io.BytesIO(json.dumps(document).encode())))
    reply = list(chat.messages)[-1].active
    assert (reply.mes, reply.extra["reasoning"]) == ('Yes. <details type="x">', "Hot?")
