"""Marinara's exports: SillyTavern's lines with meanings of their own."""

import json
from typing import Any

from apps.exchange.formats.sillytavern_lines import render_message
from tests.exchange.chat_files import only_chat

HEADER = {
    "user_name": "Wanda",
    "character_name": "Anselm",
    "chat_metadata": {"marinara_metadata": {"mode": "roleplay"}},
}
SYSTEM = {
    "name": "System",
    "is_user": False,
    "is_system": True,
    "role": "system",
    "mes": "Dusk.",
    "extra": {"marinara_role": "system"},
}
ASIDE = {"name": "Wanda", "role": "user", "mes": "Hm.", "extra": {"hiddenFromAI": True, "marinara_role": "user"}}
ANSWER = {
    "name": "Anselm",
    "role": "assistant",
    "mes": "Enter.",
    "reasoning_content": "Be kind.",
    "swipes": ["Halt!", "Enter.", "Who?"],
    "swipe_id": 4,
    "extra": {
        "marinara_role": "assistant",
        "marinara_swipes": [
            {"index": 0, "extra": {"a": 1}, "created_at": "2026-01-05T10:00:00.000Z"},
            {"index": 4, "extra": {}},
            {"index": 5, "extra": {"b": 2}},
        ],
    },
}


def lines(*values: Any) -> bytes:
    return "\n".join(json.dumps(value) for value in values).encode()


def test_the_role_and_what_is_hidden() -> None:
    chat, messages = only_chat(lines(HEADER, SYSTEM, ASIDE, ANSWER))
    assert chat.report.format == "marinara"
    assert [(m.is_user, m.is_system) for m in messages] == [(False, False), (True, True), (False, False)]


def test_the_number_of_a_swipe_is_not_its_place() -> None:
    _, [message] = only_chat(lines(HEADER, ANSWER))
    assert (message.swipe_id, message.active.mes) == (1, "Enter.")
    assert message.active.extra["reasoning"] == "Be kind."
    assert [swipe.mes for swipe in message.swipes] == ["Halt!", "Enter.", "Who?"]
    assert message.swipes[0].extra == {"a": 1}
    assert message.swipes[0].info == {"send_date": "2026-01-05T10:00:00.000Z"}
    assert message.swipes[2].extra == {"b": 2}


def test_lines_go_out_as_they_came() -> None:
    _, messages = only_chat(lines(HEADER, SYSTEM, ASIDE, ANSWER))
    assert [json.loads(render_message(message)) for message in messages] == [SYSTEM, ASIDE, ANSWER]


def test_odd_lists_of_swipes() -> None:
    for odd in (None, [], {}, "x", [7], [{"index": "?"}], [{}] * 9):
        _, [message] = only_chat(lines(HEADER, ANSWER | {"extra": {"marinara_swipes": odd}}))
        assert message.active.mes == "Enter."
